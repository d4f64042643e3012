//! Chat templates for ropeway. The contract is ropeway_template.h; this file is its border:
//! it turns C's pointers into slices, and panics into errors. What happens in between is
//! safe code in the other modules.

mod clock;
mod context;
mod engine;
mod python_json;
mod python_like;
mod specials;

use engine::{Failure, Template};
use specials::{Piece, Specials};
use std::ffi::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

#[repr(C)]
pub struct Text {
    text: *const c_char,
    size: usize,
}

#[repr(C)]
pub struct CPiece {
    text: *const c_char,
    size: usize,
    from_template: bool,
}

#[repr(C)]
pub struct CResult {
    pieces: *mut CPiece,
    pieces_count: usize,
    owner: *mut c_void,
}

impl CResult {
    const EMPTY: CResult =
        CResult { pieces: ptr::null_mut(), pieces_count: 0, owner: ptr::null_mut() };
}

/// What a result's pieces point into.
struct Owner {
    c_pieces: Vec<CPiece>,
    _pieces: Vec<Piece>,
}

const OK: i32 = 0;
const RAISED: i32 = 1;
const FAILED: i32 = 2;
const CONTEXT: i32 = 3;

const PANICKED: &str = "the chat template's engine failed inside";

/// # Safety
/// `size` bytes can be read at `data`, or `size` is 0.
unsafe fn slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    if size == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, size)
    }
}

/// Writes `text` on one line, cut between characters, with a NUL.
///
/// # Safety
/// `size` bytes can be written at `message`.
unsafe fn write_message(message: *mut c_char, size: usize, text: &str) {
    if size == 0 {
        return;
    }
    let line: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let mut end = line.len().min(size - 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    ptr::copy_nonoverlapping(line.as_ptr().cast(), message, end);
    *message.add(end) = 0;
}

unsafe fn compile(source: &[u8], specials: &[Text]) -> Result<Template, String> {
    let source = std::str::from_utf8(source)
        .map_err(|_| String::from("the chat template is not valid UTF-8"))?;
    let texts = specials.iter().map(|special| {
        String::from_utf8_lossy(slice(special.text.cast(), special.size)).into_owned()
    });
    Template::compile(source, Specials::new(texts))
}

/// # Safety
/// As ropeway_template.h says.
#[no_mangle]
pub unsafe extern "C" fn ropeway_template_compile(
    source: *const c_char,
    size: usize,
    specials: *const Text,
    specials_count: usize,
    message: *mut c_char,
    message_bytes: usize,
) -> *mut Template {
    let source = slice(source.cast::<u8>(), size);
    let specials = slice(specials, specials_count);
    let compiled = catch_unwind(AssertUnwindSafe(|| compile(source, specials)))
        .unwrap_or_else(|_| Err(PANICKED.into()));
    match compiled {
        Ok(template) => Box::into_raw(Box::new(template)),
        Err(text) => {
            write_message(message, message_bytes, &text);
            ptr::null_mut()
        }
    }
}

/// # Safety
/// `compiled` came from ropeway_template_compile, or is null.
#[no_mangle]
pub unsafe extern "C" fn ropeway_template_free(compiled: *mut Template) {
    if !compiled.is_null() {
        // A destructor that panicked would have nothing left to report.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(compiled))));
    }
}

fn result_of(pieces: Vec<Piece>) -> CResult {
    let c_pieces = pieces
        .iter()
        .map(|piece| CPiece {
            text: piece.text.as_ptr().cast(),
            size: piece.text.len(),
            from_template: piece.from_template,
        })
        .collect();
    let mut owner = Box::new(Owner { c_pieces, _pieces: pieces });
    CResult {
        pieces: owner.c_pieces.as_mut_ptr(),
        pieces_count: owner.c_pieces.len(),
        owner: Box::into_raw(owner).cast(),
    }
}

/// # Safety
/// As ropeway_template.h says.
#[no_mangle]
pub unsafe extern "C" fn ropeway_template_render(
    compiled: *const Template,
    context_json: *const c_char,
    size: usize,
    now_unix_s: i64,
    result: *mut CResult,
    message: *mut c_char,
    message_bytes: usize,
) -> i32 {
    *result = CResult::EMPTY;
    let context_json = slice(context_json.cast::<u8>(), size);
    let rendered = catch_unwind(AssertUnwindSafe(|| (*compiled).render(context_json, now_unix_s)))
        .unwrap_or_else(|_| Err(Failure::Failed(PANICKED.into())));
    let (error, text) = match rendered {
        Ok(pieces) => {
            *result = result_of(pieces);
            return OK;
        }
        Err(Failure::Raised(text)) => (RAISED, text),
        Err(Failure::Failed(text)) => (FAILED, text),
        Err(Failure::Context(text)) => (CONTEXT, text),
    };
    write_message(message, message_bytes, &text);
    error
}

/// # Safety
/// `result` was filled by ropeway_template_render.
#[no_mangle]
pub unsafe extern "C" fn ropeway_template_result_free(result: *mut CResult) {
    let owner = (*result).owner.cast::<Owner>();
    if !owner.is_null() {
        drop(Box::from_raw(owner));
    }
    *result = CResult::EMPTY;
}
