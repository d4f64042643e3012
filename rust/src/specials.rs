//! Marks, in what people wrote, the characters without which no special token can arise.
//!
//! [`MARK`] before a character says that it is the user's. It is a Unicode noncharacter,
//! which no text that is exchanged holds; where a user writes it all the same, it is marked
//! itself, so that nothing is lost or forged.

use std::collections::BTreeSet;
use std::ops::Bound;

pub const MARK: char = '\u{FDD0}';

/// The special tokens' texts, in order.
pub struct Specials {
    texts: BTreeSet<String>,
    /// First bytes of the texts: most positions are ruled out by them.
    first: [bool; 256],
}

impl Specials {
    pub fn new(texts: impl Iterator<Item = String>) -> Self {
        let texts: BTreeSet<String> = texts.filter(|text| !text.is_empty()).collect();
        let mut first = [false; 256];
        for text in &texts {
            first[usize::from(text.as_bytes()[0])] = true;
        }
        Specials { texts, first }
    }

    /// Whether a special token begins `text`, or `text` is the beginning of one.
    fn begins(&self, text: &str) -> bool {
        if !self.first[usize::from(text.as_bytes()[0])] {
            return false;
        }
        // Prefixes of `text` sort before it, what it is a prefix of at or after it.
        let bounds = (Bound::Included(text), Bound::Unbounded);
        if let Some(next) = self.texts.range::<str, _>(bounds).next() {
            if next.starts_with(text) {
                return true;
            }
        }
        self.has_prefix_of(text)
    }

    /// Whether some special token is a prefix of `text`: the nearest one below is, or is
    /// longer than what it has in common with `text`, and then that common part is what a
    /// shorter one must be a prefix of.
    fn has_prefix_of(&self, text: &str) -> bool {
        let mut upper = text;
        loop {
            let bounds = (Bound::Unbounded, Bound::Included(upper));
            let Some(below) = self.texts.range::<str, _>(bounds).next_back() else {
                return false;
            };
            if text.starts_with(below.as_str()) {
                return true;
            }
            let common = common_prefix(text, below);
            if common == 0 {
                return false;
            }
            upper = &text[..common];
        }
    }

    /// `text`, of a user, with its marks.
    pub fn mark(&self, text: String) -> String {
        if !text.char_indices().any(|(at, char)| self.needs_mark(&text[at..], char)) {
            return text;
        }
        let mut marked = String::with_capacity(text.len() + MARK.len_utf8());
        for (at, char) in text.char_indices() {
            if self.needs_mark(&text[at..], char) {
                marked.push(MARK);
            }
            marked.push(char);
        }
        marked
    }

    fn needs_mark(&self, rest: &str, char: char) -> bool {
        char == MARK || self.begins(rest)
    }
}

/// How many bytes, of whole characters, both begin with.
fn common_prefix(a: &str, b: &str) -> usize {
    a.char_indices()
        .zip(b.chars())
        .find(|((_, left), right)| left != right)
        .map_or(a.len().min(b.len()), |((at, _), _)| at)
}

/// A run of output.
pub struct Piece {
    pub text: String,
    pub from_template: bool,
}

/// Takes the marks out of rendered text, and cuts it where they were.
pub fn cut(rendered: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut characters = rendered.chars();
    while let Some(char) = characters.next() {
        let from_template = char != MARK;
        // A mark at the very end has lost its character to a slice.
        let Some(char) = (if from_template { Some(char) } else { characters.next() }) else {
            break;
        };
        match pieces.last_mut() {
            Some(piece) if piece.from_template == from_template => piece.text.push(char),
            _ => pieces.push(Piece { text: String::from(char), from_template }),
        }
    }
    pieces
}

/// Rendered text without its marks, for messages.
pub fn unmarked(rendered: &str) -> String {
    cut(rendered).into_iter().map(|piece| piece.text).collect()
}
