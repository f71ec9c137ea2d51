//! Values to YAML text, in block style as `kubectl` prints it, keys in their own order.
//!
//! A string is quoted exactly when a reader of YAML 1.1 would otherwise take it for something else.

use super::scalar::{ResolvedScalar, resolve_scalar};
use crate::Value;
use crate::display::is_hidden;

/// The maximum length of a key before it needs `?`; readers stop looking for its `:` after 1024 characters.
const MAX_PLAIN_KEY_CHARS: usize = 1000;

/// Returns `value` as one YAML document with a final line break. Reading it gives an equal value.
#[must_use]
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_yaml_block(&mut out, value, 0),
        Value::Array(items) if !items.is_empty() => write_yaml_block(&mut out, value, 0),
        _ => write_yaml_scalar(&mut out, value, 0),
    }
    out
}

/// Writes a collection that is not empty, its first line where the cursor is, the others at `column`.
fn write_yaml_block(out: &mut String, value: &Value, column: usize) {
    let mut is_first = true;
    let mut start_line = |out: &mut String| {
        if !std::mem::take(&mut is_first) {
            write_spaces(out, column);
        }
    };
    match value {
        Value::Array(items) => {
            for item in items.iter() {
                start_line(out);
                out.push_str("- ");
                if is_block(item) {
                    write_yaml_block(out, item, column + 2);
                } else {
                    write_yaml_scalar(out, item, column);
                }
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter() {
                start_line(out);
                self::write_mapping_key(out, key, column);
                write_below_key(out, item, column);
            }
        }
        _ => {}
    }
}

/// Writes the value of a key: on its line if it is a scalar, under it if not.
fn write_below_key(out: &mut String, value: &Value, column: usize) {
    if !is_block(value) {
        out.push(' ');
        return write_yaml_scalar(out, value, column);
    }
    out.push('\n');
    // The dashes of a list are in the column of the key.
    let column = if matches!(value, Value::Array(_)) { column } else { column + 2 };
    write_spaces(out, column);
    write_yaml_block(out, value, column);
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    }
}

fn write_mapping_key(out: &mut String, key: &str, column: usize) {
    let start = out.len();
    write_yaml_string(out, key);
    if out.len() - start > MAX_PLAIN_KEY_CHARS {
        out.insert_str(start, "? ");
        out.push('\n');
        write_spaces(out, column);
    }
    out.push(':');
}

/// Writes a scalar or an empty collection and ends the line; the lines of a block are deeper than `column`.
fn write_yaml_scalar(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
        Value::String(text) if fits_block(text) => return write_literal_scalar(out, text, column + 2),
        Value::String(text) => write_yaml_string(out, text),
        other => crate::json::write(out, other),
    }
    out.push('\n');
}

/// Writes `text` on this line, quoted if it must be.
fn write_yaml_string(out: &mut String, text: &str) {
    if !text.chars().all(is_unescaped_in_yaml) {
        double_quoted(out, text);
    } else if resolve_scalar(text) != ResolvedScalar::Text || has_meaning_elsewhere(text) {
        // Printable, but without quotes a number, a time or a word with a meaning.
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else if is_plain_scalar(text) {
        out.push_str(text);
    } else {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    }
}

/// Returns whether `text` is text for Kubernetes, and something else for other readers of YAML 1.1.
fn has_meaning_elsewhere(text: &str) -> bool {
    matches!(text, "<<" | "=") || is_sexagesimal(text) || looks_like_timestamp(text)
}

/// Returns whether `text` is a number in base 60, such as `1:30` and `-12:30:45.5`.
fn is_sexagesimal(text: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let is_below_60 = |part: &str| match part.as_bytes() {
        [b'0'..=b'9'] => true,
        [tens, ones] => (b'0'..=b'5').contains(tens) && ones.is_ascii_digit(),
        _ => false,
    };
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some((first, rest)) = unsigned.split_once(':') else { return false };
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    first.starts_with(|first: char| first.is_ascii_digit())
        && is_number(first)
        && is_number(fraction)
        && whole.split(':').all(is_below_60)
}

/// Returns whether `text` is a date such as `2001-12-14`, with a time behind it or not.
fn looks_like_timestamp(text: &str) -> bool {
    let is_number = |part: &str, lengths: &[usize]| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (date, time) = text.split_once(['T', 't', ' ', '\t']).unwrap_or((text, ""));
    let mut parts = date.splitn(3, '-');
    let mut next = |lengths: &[usize]| parts.next().is_some_and(|part| is_number(part, lengths));
    next(&[4])
        && next(&[1, 2])
        && next(&[1, 2])
        && time.bytes().all(|byte| byte.is_ascii_digit() || b":.+-Z \t".contains(&byte))
}

/// Returns whether `text`, which is printable and resolves to itself, needs no quotes.
fn is_plain_scalar(text: &str) -> bool {
    let mut start = text.bytes();
    let starts_well = match start.next() {
        None => false,
        Some(b'-' | b'?' | b':') => start.next().is_some_and(|byte| byte != b' '),
        Some(byte) => !b" ,[]{}#&*!|>'\"%@`".contains(&byte),
    };
    starts_well
        && !text.ends_with([' ', ':'])
        && !text.bytes().zip(text.bytes().skip(1)).any(|pair| matches!(pair, (b':', b' ') | (b' ', b'#')))
        && !text.starts_with("---")
        && !text.starts_with("...")
}

/// Returns whether `character` shows as what it is.
fn is_unescaped_in_yaml(character: char) -> bool {
    !is_hidden(character)
}

/// Returns whether `text` has several lines that a `|` block can hold as they are.
fn fits_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.chars().all(|character| is_unescaped_in_yaml(character) || matches!(character, '\n' | '\t'))
}

fn write_literal_scalar(out: &mut String, text: &str, column: usize) {
    let body = text.strip_suffix('\n');
    out.push_str(match body {
        None => "|-",
        Some(body) if body.ends_with('\n') => "|+",
        Some(_) => "|",
    });
    for line in body.unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            write_spaces(out, column);
            out.push_str(line);
        }
    }
    out.push('\n');
}

fn double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            plain if is_unescaped_in_yaml(plain) => out.push(plain),
            other if u32::from(other) > 0xffff => out.push_str(&format!("\\U{:08x}", u32::from(other))),
            other => out.push_str(&format!("\\u{:04x}", u32::from(other))),
        }
    }
    out.push('"');
}

fn write_spaces(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}
