//! minijinja, set up as transformers sets up jinja2, and bounded.

use crate::specials::{cut, unmarked, Piece, Specials, MARK};
use crate::{clock, context, python_json, python_like};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind};
use std::fmt;
use std::io;

const SOURCE_BYTES_MAX: usize = 1 << 20;
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// About one unit an instruction, and some for the bytes of strings: a chat of thirty thousand
/// short turns is within it, and an endless loop ends within a second. What minijinja does inside
/// one operation on lists joined by + is not counted; only a hostile template does that.
const FUEL: u64 = 4_000_000;
/// Nested macro calls and blocks.
const DEPTH_MAX: usize = 100;

const NAME: &str = "chat template";

pub struct Template {
    environment: Environment<'static>,
    specials: Specials,
}

pub enum Failure {
    /// The template's own raise_exception.
    Raised(String),
    Failed(String),
    Context(String),
}

/// What raise_exception was given, carried through minijinja as an error's source.
#[derive(Debug)]
struct Raised(String);

impl fmt::Display for Raised {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

fn raise_exception(message: String) -> Result<String, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, "raised by the template")
        .with_source(Raised(message)))
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(syntax);
    environment.set_debug(false);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(DEPTH_MAX);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_filter("tojson", python_json::tojson);
    environment.add_filter("indent", python_like::indent);
    environment.add_test("iterable", python_like::is_iterable);
    environment.add_test("sequence", python_like::is_sequence);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", clock::strftime_now);
    Ok(environment)
}

/// Makes `{% generation %}`, which only tells trainers what an assistant wrote, a block that
/// changes nothing. Lengths are kept, so that columns in messages stay right.
fn without_generation(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let Some(size) = rest[start + 2..].find("%}").map(|at| at + 2) else { break };
        let (before, tag) = (&rest[..start], &rest[start..start + size]);
        out.push_str(before);
        let word = tag[2..].trim_matches(|char: char| char.is_whitespace() || "+-".contains(char));
        match word {
            "generation" => out.push_str(&tag.replace(word, "if true   ")),
            "endgeneration" => out.push_str(&tag.replace(word, "endif        ")),
            _ => out.push_str(tag),
        }
        rest = &rest[start + size..];
    }
    out.push_str(rest);
    out
}

impl Template {
    pub fn compile(source: &str, specials: Specials) -> Result<Template, String> {
        if source.len() > SOURCE_BYTES_MAX {
            return Err(format!(
                "the chat template has {} bytes; at most {SOURCE_BYTES_MAX} can be used",
                source.len()
            ));
        }
        if source.contains(MARK) {
            return Err("the chat template holds the noncharacter U+FDD0".into());
        }
        let source = without_generation(source);
        let compiled = environment().and_then(|mut environment| {
            environment.add_template_owned(NAME, source.clone())?;
            Ok(environment)
        });
        match compiled {
            Ok(environment) => Ok(Template { environment, specials }),
            Err(error) => Err(compile_message(&error, &source)),
        }
    }

    pub fn render(&self, context_json: &[u8], now_unix_s: i64) -> Result<Vec<Piece>, Failure> {
        let context = context::context_of(context_json, &self.specials).ok_or_else(|| {
            Failure::Context("the chat template's variables are not a JSON object".into())
        })?;
        clock::set_now(now_unix_s);
        let mut output = Output(Vec::new());
        self.environment
            .get_template(NAME)
            .and_then(|template| template.render_captured_to(context, &mut output).map(|_| ()))
            .map_err(|error| failure_of(&error))?;
        let rendered = String::from_utf8(output.0)
            .map_err(|_| Failure::Failed("the chat template made invalid UTF-8".into()))?;
        Ok(cut(&rendered))
    }
}

/// A writer that refuses more than a prompt may have.
struct Output(Vec<u8>);

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > OUTPUT_BYTES_MAX - self.0.len() {
            return Err(io::Error::other("too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn compile_message(error: &Error, source: &str) -> String {
    let line = error.line().unwrap_or(0);
    let column = error.range().map_or(0, |range| {
        let before = source.get(..range.start).unwrap_or_default();
        before.chars().rev().take_while(|char| *char != '\n').count() + 1
    });
    format!("the chat template cannot be used: line {line}, column {column}: {}", what(error))
}

/// An error's kind and detail, without the template's name.
fn what(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

fn failure_of(error: &Error) -> Failure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut innermost = error;
    while let Some(current) = cause {
        if let Some(raised) = current.downcast_ref::<Raised>() {
            return Failure::Raised(unmarked(&raised.0));
        }
        if let Some(inner) = current.downcast_ref::<Error>() {
            innermost = inner;
        }
        cause = current.source();
    }
    let text = match innermost.kind() {
        ErrorKind::OutOfFuel => "it takes too long with these messages".into(),
        ErrorKind::WriteFailure => {
            format!("the prompt is longer than {OUTPUT_BYTES_MAX} bytes")
        }
        _ => unmarked(&what(innermost)),
    };
    let line = innermost.line().or(error.line()).unwrap_or(0);
    Failure::Failed(format!("the chat template failed at its line {line}: {text}"))
}
