//! Values to JSON text.

use crate::Value;
use crate::display::escape_json;

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
    pretty(&mut out, value, 0);
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
    string(&mut out, text);
    out
}

/// Appends `value` to `out` as compact JSON.
pub fn write(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                string(out, key);
                out.push(':');
                write(out, item);
            }
            out.push('}');
        }
        scalar => write_scalar(out, scalar),
    }
}

fn write_scalar(out: &mut String, value: &Value) {
    match value {
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => string(out, text),
        _ => out.push_str("null"),
    }
}

fn pretty(out: &mut String, value: &Value, level: usize) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                new_line(out, i > 0, level + 1);
                pretty(out, item, level + 1);
            }
            new_line(out, false, level);
            out.push(']');
        }
        Value::Object(map) if !map.is_empty() => {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                new_line(out, i > 0, level + 1);
                string(out, key);
                out.push_str(": ");
                pretty(out, item, level + 1);
            }
            new_line(out, false, level);
            out.push('}');
        }
        other => write(out, other),
    }
}

fn new_line(out: &mut String, comma: bool, level: usize) {
    if comma {
        out.push(',');
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| b < 0x20 || b == b'"' || b == b'\\') {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = tail.chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}
