//! Python's `json.dumps`, as transformers gives it to templates as the filter `tojson`.

use crate::specials::MARK;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

/// Deeper values are refused: each level takes stack.
const DEPTH_MAX: usize = 128;
/// Bytes of a string that cost as much as a value.
const BYTES_A_FUEL: u64 = 64;

struct Writer<'a> {
    /// Pays for what is written: minijinja's own filters do.
    state: &'a State<'a, 'a>,
    out: String,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    ascii: bool,
    sorted: bool,
}

/// tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False)
pub fn tojson(state: &State, value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent = match options.get::<Option<Value>>("indent")? {
        None => None,
        Some(value) if value.is_none() => None,
        Some(value) => Some(match value.as_str() {
            Some(text) => text.to_string(),
            None => " ".repeat(usize::try_from(value)?.min(DEPTH_MAX)),
        }),
    };
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    let (item_separator, key_separator) = match separators.as_deref() {
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => return Err(invalid("tojson: separators are two strings")),
        None if indent.is_some() => (",".into(), ": ".into()),
        None => (", ".into(), ": ".into()),
    };
    let mut writer = Writer {
        state,
        out: String::new(),
        indent,
        item_separator,
        key_separator,
        ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    writer.value(value, 0)?;
    Ok(Value::from(writer.out))
}

fn invalid(detail: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail)
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > DEPTH_MAX {
            return Err(invalid("tojson: the value is nested too deeply"));
        }
        self.state.consume_fuel(1)?;
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value)?,
            ValueKind::String => self.string(value.as_str().unwrap_or_default())?,
            ValueKind::Seq | ValueKind::Iterable => self.list(value, depth)?,
            ValueKind::Map => self.dict(value, depth)?,
            ValueKind::Undefined => {
                return Err(invalid("Object of type Undefined is not JSON serializable"))
            }
            _ => return Err(invalid("tojson: the value is not JSON serializable")),
        }
        Ok(())
    }

    fn number(&mut self, value: &Value) -> Result<(), Error> {
        if value.is_integer() {
            self.out.push_str(&value.to_string());
        } else {
            self.out.push_str(&float_text(f64::try_from(value.clone())?));
        }
        Ok(())
    }

    fn list(&mut self, list: &Value, depth: usize) -> Result<(), Error> {
        self.out.push('[');
        let mut empty = true;
        for item in list.try_iter()? {
            self.begin_item(empty, depth + 1);
            empty = false;
            self.value(&item, depth + 1)?;
        }
        self.end(empty, depth, ']');
        Ok(())
    }

    fn dict(&mut self, dict: &Value, depth: usize) -> Result<(), Error> {
        let mut keys: Vec<Value> = dict.try_iter()?.collect();
        if self.sorted {
            keys.sort();
        }
        self.out.push('{');
        for (index, key) in keys.iter().enumerate() {
            self.begin_item(index == 0, depth + 1);
            match key.as_str() {
                Some(text) => self.string(text)?,
                None => self.key(key, depth + 1)?,
            }
            let separator = self.key_separator.clone();
            self.out.push_str(&separator);
            self.value(&dict.get_item(key)?, depth + 1)?;
        }
        self.end(keys.is_empty(), depth, '}');
        Ok(())
    }

    /// Python writes keys that are numbers, booleans or None as strings of their JSON.
    fn key(&mut self, key: &Value, depth: usize) -> Result<(), Error> {
        self.out.push('"');
        self.value(key, depth)?;
        self.out.push('"');
        Ok(())
    }

    fn begin_item(&mut self, first: bool, depth: usize) {
        if !first {
            let separator = self.item_separator.clone();
            self.out.push_str(&separator);
        }
        self.break_line(depth);
    }

    fn end(&mut self, empty: bool, depth: usize, bracket: char) {
        if !empty {
            self.break_line(depth);
        }
        self.out.push(bracket);
    }

    fn break_line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.out.push('\n');
            self.out.push_str(&indent.repeat(depth));
        }
    }

    fn string(&mut self, text: &str) -> Result<(), Error> {
        self.state.consume_fuel(text.len() as u64 / BYTES_A_FUEL)?;
        self.out.push('"');
        for char in text.chars() {
            match char {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{C}' => self.out.push_str("\\f"),
                char if char < ' ' || (self.ascii && !char.is_ascii() && char != MARK) => {
                    for unit in char.encode_utf16(&mut [0; 2]) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                char => self.out.push(char),
            }
        }
        self.out.push('"');
        Ok(())
    }
}

/// Python's repr of a float: the shortest digits that read back as it, with an exponent
/// below 1e-4 and from 1e16 on.
fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..16).contains(&power) {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", power.abs());
    }
    let plain = number.to_string();
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}
