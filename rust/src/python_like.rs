//! jinja2's answers where minijinja's own filters and tests give others.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, Value};

/// Wider indents are cut: an indent is repeated for every line.
const INDENT_MAX: usize = 256;

/// `is iterable`: None is not, though minijinja iterates over it as over an empty list.
pub fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// `is sequence`: what has a length and items, so strings and dicts are as well.
pub fn is_sequence(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Seq | ValueKind::String | ValueKind::Map | ValueKind::Undefined
    )
}

/// Whether Python's `str.splitlines` ends a line here.
fn ends_line(char: char) -> bool {
    matches!(
        char,
        '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{1C}'..='\u{1E}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

fn splitlines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some((at, char)) = rest.char_indices().find(|(_, char)| ends_line(*char)) {
        lines.push(&rest[..at]);
        rest = &rest[at + char.len_utf8()..];
        if char == '\r' {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        }
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// indent(text, width=4, first=False, blank=False): keeps a newline at the end, as jinja2
/// does and minijinja does not.
pub fn indent(
    text: &str,
    width: Option<Value>,
    first: Option<bool>,
    blank: Option<bool>,
    options: Kwargs,
) -> Result<String, Error> {
    let width = match width {
        Some(width) => Some(width),
        None => options.get("width")?,
    };
    let first = first.or(options.get("first")?).unwrap_or(false);
    let blank = blank.or(options.get("blank")?).unwrap_or(false);
    options.assert_all_used()?;
    let unit = match &width {
        None => " ".repeat(4),
        Some(width) => match width.as_str() {
            Some(text) => text.to_string(),
            None => " ".repeat(usize::try_from(width.clone())?.min(INDENT_MAX)),
        },
    };
    let text = format!("{text}\n");
    let mut out = String::new();
    for (index, line) in splitlines(&text).into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let indented = if index == 0 { first } else { blank || !line.is_empty() };
        if indented {
            out.push_str(&unit);
        }
        out.push_str(line);
    }
    Ok(out)
}
