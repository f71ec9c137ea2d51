//! Values to JSON text.
//!
//! One walk writes to any [`TextSink`]: to a string, which takes everything, or to one that stops when it is full.

use std::convert::Infallible;

use crate::Value;
use crate::display::escape_json;
use crate::eight_bytes::{EightBytes, first_json_special};

/// The destination of text as it is written.
pub(crate) trait TextSink {
    /// The reason why no more can be written.
    type Full;

    /// Appends `part`.
    fn push(&mut self, part: &str) -> Result<(), Self::Full>;

    /// Called before each list and each object.
    fn enter(&mut self) -> Result<(), Self::Full> {
        Ok(())
    }

    /// Called after each list and each object.
    fn leave(&mut self) {}
}

impl TextSink for String {
    type Full = Infallible;

    #[inline]
    fn push(&mut self, part: &str) -> Result<(), Infallible> {
        self.push_str(part);
        Ok(())
    }
}

/// Returns `value` as compact JSON, keys in their own order.
#[must_use]
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

/// Returns `value` as JSON indented by two spaces, without a final line break.
#[must_use]
pub fn to_pretty(value: &Value) -> String {
    let mut out = String::new();
    let Ok(()) = pretty_to(&mut out, value, 0);
    out
}

/// Returns `value` as compact JSON for people and terminals: hidden characters are escaped, the value is the same.
#[must_use]
pub fn to_shown_string(value: &Value) -> String {
    escape_json(&to_string(value)).into_owned()
}

/// Returns `value` as indented JSON for people and terminals: hidden characters are escaped, the value is the same.
#[must_use]
pub fn to_shown_pretty(value: &Value) -> String {
    escape_json(&to_pretty(value)).into_owned()
}

/// Returns `text` as a JSON string.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_text(&mut out, text);
    out
}

/// Appends `text` to `out` as a JSON string.
pub fn write_text(out: &mut String, text: &str) {
    let Ok(()) = string_to(out, text);
}

/// Appends `value` to `out` as compact JSON.
pub fn write(out: &mut String, value: &Value) {
    let Ok(()) = write_to(out, value);
}

/// Appends `value` to `out` as compact JSON, until it is full.
pub(crate) fn write_to<S: TextSink>(out: &mut S, value: &Value) -> Result<(), S::Full> {
    match value {
        Value::Array(items) => {
            out.enter()?;
            out.push("[")?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(",")?;
                }
                write_to(out, item)?;
            }
            out.leave();
            out.push("]")
        }
        Value::Object(map) => {
            out.enter()?;
            out.push("{")?;
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(",")?;
                }
                string_to(out, key)?;
                out.push(":")?;
                write_to(out, item)?;
            }
            out.leave();
            out.push("}")
        }
        Value::Bool(true) => out.push("true"),
        Value::Bool(false) => out.push("false"),
        Value::Number(number) => out.push(&number.to_string()),
        Value::String(text) => string_to(out, text),
        Value::Null => out.push("null"),
    }
}

/// Appends `value` to `out` as JSON indented by two spaces, until it is full.
pub(crate) fn pretty_to<S: TextSink>(out: &mut S, value: &Value, level: usize) -> Result<(), S::Full> {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.enter()?;
            out.push("[")?;
            for (i, item) in items.iter().enumerate() {
                new_line(out, i > 0, level + 1)?;
                pretty_to(out, item, level + 1)?;
            }
            out.leave();
            new_line(out, false, level)?;
            out.push("]")
        }
        Value::Object(map) if !map.is_empty() => {
            out.enter()?;
            out.push("{")?;
            for (i, (key, item)) in map.iter().enumerate() {
                new_line(out, i > 0, level + 1)?;
                string_to(out, key)?;
                out.push(": ")?;
                pretty_to(out, item, level + 1)?;
            }
            out.leave();
            new_line(out, false, level)?;
            out.push("}")
        }
        other => write_to(out, other),
    }
}

fn new_line<S: TextSink>(out: &mut S, comma: bool, level: usize) -> Result<(), S::Full> {
    if comma {
        out.push(",")?;
    }
    out.push("\n")?;
    (0..level).try_for_each(|_| out.push("  "))
}

/// Appends `text` to `out` as a JSON string, until it is full.
pub(crate) fn string_to<S: TextSink>(out: &mut S, text: &str) -> Result<(), S::Full> {
    out.push("\"")?;
    escaped_to(out, text)?;
    out.push("\"")
}

/// Returns the place of the first byte that is escaped in a JSON string.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        if let Some(special) = first_json_special(EightBytes::new(*word)) {
            return Some(index * 8 + special);
        }
    }
    let is_escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    rest.iter().position(is_escaped).map(|at| words.len() * 8 + at)
}

/// Appends `text` to `out` escaped for use between the quotes of a JSON string, until it is full.
pub(crate) fn escaped_to<S: TextSink>(out: &mut S, text: &str) -> Result<(), S::Full> {
    let mut rest = text;
    while let Some(at) = first_escaped(rest.as_bytes()) {
        let (plain, tail) = rest.split_at(at);
        out.push(plain)?;
        let mut characters = tail.chars();
        match characters.next() {
            Some('"') => out.push("\\\"")?,
            Some('\\') => out.push("\\\\")?,
            Some('\n') => out.push("\\n")?,
            Some('\r') => out.push("\\r")?,
            Some('\t') => out.push("\\t")?,
            Some(control) => out.push(&format!("\\u{:04x}", u32::from(control)))?,
            None => {}
        }
        rest = characters.as_str();
    }
    out.push(rest)
}
