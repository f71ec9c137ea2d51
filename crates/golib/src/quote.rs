//! Go string literals, as `strconv.Quote` writes them.

use std::fmt::Write as _;

/// Returns `text` as a Go string literal.
#[must_use]
pub fn quote_go(text: &str) -> String {
    quote_with(text, is_go_printable)
}

/// Returns `text` as a Go string literal in which everything but ASCII is escaped.
#[must_use]
pub fn quote_ascii(text: &str) -> String {
    quote_with(text, |c| c.is_ascii() && is_go_printable(c))
}

fn quote_with(text: &str, is_plain: fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_plain(c) => out.push(c),
            c if u32::from(c) < 0x80 => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if u32::from(c) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// Returns bytes as a Go string literal; those that are not UTF-8 are written as `\x`.
#[must_use]
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        let valid = quote_go(chunk.valid());
        out.push_str(valid.get(1..valid.len() - 1).unwrap_or_default());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// As Go's `unicode.IsPrint`, for all characters that are assigned.
#[must_use]
pub fn is_go_printable(c: char) -> bool {
    !(c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..))
}
