//! Bytes to text: byte order marks, UTF-16, control characters, and `!!binary`.

use std::sync::Arc;

use super::token::YamlMark;
use super::{YamlError, YamlFailure};
use crate::{Location, ParseProblem, ParseProblemKind, Position, Source};

/// Makes a source of `bytes`: UTF-8 with or without a byte order mark, or UTF-16 with one.
///
/// # Errors
/// When the bytes are in another encoding, or hold a NUL.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<Arc<Source>, ParseProblem> {
    let text = match bytes.get(..2) {
        Some(b"\xff\xfe") => from_utf16(&bytes, u16::from_le_bytes),
        Some(b"\xfe\xff") => from_utf16(&bytes, u16::from_be_bytes),
        _ => from_utf8(bytes),
    };
    let failed = |text: String, at: usize, kind, message: &str| {
        let position = position_at_byte(&text, at);
        let location = Location { source: Source::new(name, text), position, length: 1 };
        ParseProblem { kind, message: message.to_owned(), location }
    };
    let text = text.map_err(|wrong| {
        let at = wrong.good.len();
        failed(wrong.good, at, ParseProblemKind::Encoding, wrong.message)
    })?;
    match text.find('\0') {
        Some(at) => Err(failed(text, at, ParseProblemKind::ControlCharacter, "found a NUL character")),
        None => Ok(Source::new(name, text)),
    }
}

/// The text up to what could not be decoded, and what that was.
struct EncodingError {
    good: String,
    message: &'static str,
}

fn from_utf8(mut bytes: Vec<u8>) -> Result<String, EncodingError> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        EncodingError {
            good: String::from_utf8_lossy(good).into_owned(),
            message: "found bytes that are not UTF-8",
        }
    })
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, EncodingError> {
    let (pairs, rest) = bytes.get(2..).unwrap_or_default().as_chunks::<2>();
    let mut text = String::with_capacity(pairs.len());
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match decoded {
            Ok(character) => text.push(character),
            Err(_) => {
                return Err(EncodingError { good: text, message: "found half a surrogate pair in UTF-16" });
            }
        }
    }
    if rest.is_empty() {
        Ok(text)
    } else {
        Err(EncodingError { good: text, message: "found half a character at the end of UTF-16" })
    }
}

/// The facts that one pass over a text finds.
#[derive(Debug, Clone, Copy)]
pub(super) struct EncodingSurvey {
    /// All characters are of one byte.
    pub(super) is_ascii: bool,
    /// Lines end with `\n` and nothing else.
    pub(super) has_plain_breaks: bool,
}

/// Refuses the control characters that no YAML may hold; `line` is the first one's number, counted from 0.
pub(super) fn survey_encoding(text: &str, line: u32) -> Result<EncodingSurvey, YamlFailure> {
    let mut survey = EncodingSurvey { is_ascii: true, has_plain_breaks: true };
    let mut from = 0;
    for block in text.as_bytes().chunks(4096) {
        // One pass without branches finds that ordinary text has nothing special.
        let is_special = |byte: u8| ((byte < 0x20) & (byte != b'\n')) | (byte > 0x7e);
        if block.iter().fold(false, |found, byte| found | is_special(*byte)) {
            let (start, end) = (boundary(text, from), boundary(text, from + block.len()));
            for (at, character) in text.get(start..end).unwrap_or_default().char_indices() {
                survey.is_ascii &= character.is_ascii();
                survey.has_plain_breaks &= !matches!(character, '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
                if is_control(character) {
                    return Err(control_character(text, start + at, line));
                }
            }
        }
        from += block.len();
    }
    Ok(survey)
}

fn control_character(text: &str, at: usize, line: u32) -> YamlFailure {
    let character = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\0');
    let mut position = position_at_byte(text, at);
    position.line = position.line.saturating_add(line);
    let message = format!("control character 0x{:02x}", u32::from(character));
    Box::new(YamlError { kind: ParseProblemKind::ControlCharacter, message, position })
}

/// Returns where the character that `at` is in starts.
fn boundary(text: &str, at: usize) -> usize {
    (0..4).filter_map(|back| at.checked_sub(back)).find(|at| text.is_char_boundary(*at)).unwrap_or(at)
}

fn is_control(character: char) -> bool {
    matches!(character,
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}'
        | '\u{fffe}' | '\u{ffff}')
}

/// Decodes base 64; what is not UTF-8 in it becomes replacement characters, as in Go's JSON.
pub(super) fn decode_yaml_binary(text: &str, mark: YamlMark) -> Result<String, YamlFailure> {
    match decode_base64(text) {
        Some(bytes) => Ok(replace_invalid_utf8(&bytes)),
        None => Err(Box::new(YamlError {
            kind: ParseProblemKind::Tag,
            message: "`!!binary` needs base 64".to_owned(),
            position: mark.position(),
        })),
    }
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let (groups, rest) = digits.as_chunks::<4>();
    let last = groups.len().checked_sub(1);
    for (place, group) in groups.iter().enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || (padding > 0 && Some(place) != last) {
            return None;
        }
        let mut bits: u32 = 0;
        for byte in group.iter().take(4 - padding) {
            bits = bits << 6 | base64_digit(*byte)?;
        }
        bits <<= 6 * padding;
        let [_, decoded @ ..] = bits.to_be_bytes();
        bytes.extend(decoded.iter().take(3 - padding));
    }
    rest.is_empty().then_some(bytes)
}

fn base64_digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

/// Returns `bytes` as text, with one replacement character for each invalid byte.
fn replace_invalid_utf8(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
    }
    text
}

fn position_at_byte(text: &str, at: usize) -> Position {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position { line: narrow(line), column: narrow(column) }
}
