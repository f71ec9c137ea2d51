//! JSON as Go writes it.

use std::fmt::Write as _;

use kubewright_value::bounded::BoundedText;
use kubewright_value::{Exhausted, Value};

/// Appends `value` to `out`: keys sorted, and nothing that a browser could take for HTML.
///
/// # Errors
/// When the budget of `out` is used up.
pub fn write_go_json(out: &mut BoundedText<'_>, value: &Value) -> Result<(), Exhausted> {
    match value {
        Value::Array(items) => {
            out.enter()?;
            out.push_str("[")?;
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" })?;
                write_go_json(out, item)?;
            }
            out.leave();
            out.push_str("]")
        }
        Value::Object(map) => {
            out.enter()?;
            // Sorting takes its time.
            out.budget().step(map.len() as u64 * 4)?;
            out.push_str("{")?;
            for (i, (key, item)) in map.sorted().into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" })?;
                write_go_json_string(out, key)?;
                out.push_str(":")?;
                write_go_json(out, item)?;
            }
            out.leave();
            out.push_str("}")
        }
        Value::String(text) => write_go_json_string(out, text),
        scalar => out.push_json(scalar),
    }
}

/// Appends `text` with quotes around it and the escapes of JSON, in which `<`, `>` and `&` have one too.
fn write_go_json_string(out: &mut BoundedText<'_>, text: &str) -> Result<(), Exhausted> {
    const HTML: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
    // 0xE2 begins both separators, and looking at bytes is much faster.
    if !text.bytes().any(|byte| matches!(byte, b'<' | b'>' | b'&' | 0xE2)) {
        return out.push_quoted(text);
    }
    out.push_str("\"")?;
    for part in text.split_inclusive(HTML) {
        let plain = part.trim_end_matches(HTML);
        out.push_escaped(plain)?;
        for character in part.chars().rev().take_while(|c| HTML.contains(c)) {
            out.push_str(&format!("\\u{:04x}", u32::from(character)))?;
        }
    }
    out.push_str("\"")
}

/// Adds `text` to `out` with quotes around it; `escapes_html` is for what means something in HTML.
pub fn quote_go_json(out: &mut String, text: &str, escapes_html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' if !escapes_html => out.push(c),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
