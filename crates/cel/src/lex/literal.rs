//! Literals: strings, bytes and numbers.

use super::{CelTokenError, CelTokenKind};
use crate::val::Val;

/// Reads a string or bytes; nothing when none starts here.
pub(super) fn read_string_literal(rest: &str) -> Option<Result<(Val<'static>, usize), CelTokenError>> {
    let quoted = QuotedLiteral::start(rest)?;
    let Some(length) = quoted.length() else {
        return Some(Err(("a string has no end".to_owned(), 0, quoted.start)));
    };
    let content = quoted.body.get(..length)?.replace("\r\n", "\n").replace('\r', "\n");
    let total = quoted.start + length + quoted.quote.len();
    let read = match (quoted.is_raw, quoted.is_bytes) {
        (true, true) => Ok(Val::Bytes(content.into_bytes().into())),
        (true, false) => Ok(Val::text(content)),
        (false, true) => unescape_bytes(&content).map(|bytes| Val::Bytes(bytes.into())),
        (false, false) => unescape_text(&content).map(Val::text),
    };
    Some(read.map(|value| (value, total)).map_err(|(message, place)| (message, quoted.start + place, 1)))
}

/// Returns the length in bytes of the string that starts here, quotes included. The outer option is empty when
/// no string starts here, the inner one when it has no end.
pub(super) fn string_literal_length(rest: &str) -> Option<Option<usize>> {
    let quoted = QuotedLiteral::start(rest)?;
    Some(quoted.length().map(|length| quoted.start + length + quoted.quote.len()))
}

/// A string or bytes whose end is not known yet.
struct QuotedLiteral<'t> {
    is_bytes: bool,
    is_raw: bool,
    quote: &'static str,
    /// The offset of its content.
    start: usize,
    /// The content and the rest of the expression.
    body: &'t str,
}

impl<'t> QuotedLiteral<'t> {
    fn start(rest: &'t str) -> Option<Self> {
        let mut at = 0;
        let mut take = |letters: [u8; 2]| {
            let found = rest.as_bytes().get(at).is_some_and(|c| letters.contains(c));
            at += usize::from(found);
            found
        };
        let is_bytes = take(*b"bB");
        let is_raw = take(*b"rR");
        let body = rest.get(at..)?;
        let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| body.starts_with(quote))?;
        Some(Self { is_bytes, is_raw, quote, start: at + quote.len(), body: body.get(quote.len()..)? })
    }

    fn length(&self) -> Option<usize> {
        find_closing_quote(self.body, self.quote, self.is_raw)
    }
}

/// Returns the offset of the closing quote in `body`.
fn find_closing_quote(body: &str, quote: &str, is_raw: bool) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && !is_raw {
            escaped = true;
        } else if body.get(at..)?.starts_with(quote) {
            return Some(at);
        } else if quote.len() == 1 && (c == '\n' || c == '\r') {
            return None;
        }
    }
    None
}

/// One character or, in bytes, one byte.
enum StringUnit {
    Character(char),
    /// `\x41` or `\101`
    Number(u8),
}

fn unescape_text(content: &str) -> Result<String, (String, usize)> {
    let mut out = String::with_capacity(content.len());
    read_string_units(content, true, |unit| match unit {
        StringUnit::Character(c) => out.push(c),
        StringUnit::Number(byte) => out.push(char::from(byte)),
    })?;
    Ok(out)
}

fn unescape_bytes(content: &str) -> Result<Vec<u8>, (String, usize)> {
    let mut out = Vec::with_capacity(content.len());
    read_string_units(content, false, |unit| match unit {
        StringUnit::Character(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        StringUnit::Number(byte) => out.push(byte),
    })?;
    Ok(out)
}

fn read_string_units(
    content: &str,
    is_text: bool,
    mut each: impl FnMut(StringUnit),
) -> Result<(), (String, usize)> {
    let mut rest = content;
    while let Some(c) = rest.chars().next() {
        let at = content.len() - rest.len();
        if c != '\\' {
            each(StringUnit::Character(c));
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        let (unit, length) = read_escape(rest.get(1..).unwrap_or_default(), is_text)
            .ok_or_else(|| ("unknown escape sequence in a string".to_owned(), at))?;
        each(unit);
        rest = rest.get(1 + length..).unwrap_or_default();
    }
    Ok(())
}

/// Reads an escape sequence after its backslash; returns its value and length.
fn read_escape(rest: &str, is_text: bool) -> Option<(StringUnit, usize)> {
    let simple = |c: char| Some((StringUnit::Character(c), 1));
    let hex = |digits: usize| {
        let text = rest.get(1..=digits).filter(|text| text.bytes().all(|c| c.is_ascii_hexdigit()))?;
        u32::from_str_radix(text, 16).ok()
    };
    match rest.chars().next()? {
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        c @ ('\\' | '?' | '"' | '\'' | '`') => simple(c),
        'x' | 'X' => Some((StringUnit::Number(u8::try_from(hex(2)?).ok()?), 3)),
        'u' if is_text => Some((StringUnit::Character(char::from_u32(hex(4)?)?), 5)),
        'U' if is_text => Some((StringUnit::Character(char::from_u32(hex(8)?)?), 9)),
        '0'..='3' => {
            let text = rest.get(..3).filter(|text| text.bytes().all(|c| (b'0'..=b'7').contains(&c)))?;
            Some((StringUnit::Number(u8::from_str_radix(text, 8).ok()?), 3))
        }
        _ => None,
    }
}

/// Reads an integer or a double; an integer has no sign yet.
pub(super) fn read_number_literal(rest: &str) -> Result<(CelTokenKind, usize), String> {
    let length = number_literal_length(rest);
    let text = rest.get(..length).unwrap_or_default();
    let is_unsigned = rest.get(length..).unwrap_or_default().starts_with(['u', 'U']);
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if hex.is_none() && text.contains(['.', 'e', 'E']) {
        let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
        if value.is_infinite() {
            return Err(format!("`{text}` is too large for a double"));
        }
        return Ok((CelTokenKind::Literal(Val::Double(value)), length));
    }
    let value = match hex {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let value = value.map_err(|_| format!("`{text}` is not a number of 64 bits"))?;
    if is_unsigned {
        return Ok((CelTokenKind::Literal(Val::UInt(value)), length + 1));
    }
    Ok((CelTokenKind::Integer(value), length))
}

/// Returns how many bytes of `rest` are a number, without the `u` at its end.
pub(super) fn number_literal_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |from: usize, is_digit: fn(&u8) -> bool| {
        from + bytes.iter().skip(from).take_while(|c| is_digit(c)).count()
    };
    if rest.starts_with("0x") || rest.starts_with("0X") {
        return digits(2, u8::is_ascii_hexdigit);
    }
    let mut end = digits(0, u8::is_ascii_digit);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1, u8::is_ascii_digit);
    }
    if bytes.get(end).is_some_and(|c| matches!(c, b'e' | b'E')) {
        let sign = usize::from(bytes.get(end + 1).is_some_and(|c| matches!(c, b'+' | b'-')));
        let exponent = digits(end + 1 + sign, u8::is_ascii_digit);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}
