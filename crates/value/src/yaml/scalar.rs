//! The meaning of a scalar without quotes: null, a boolean, a number or text.
//!
//! These are the rules of YAML 1.1 as Go's reader keeps them. A number goes through the text that Go writes
//! into JSON, so `1.0` is the integer 1 and a double of 2^53 or more has only its shortest digits.

use super::token::YamlMark;
use super::{YamlError, YamlFailure};
use crate::{Number, ParseProblemKind, Text, Value};

/// The value of a scalar, before JSON narrows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ResolvedScalar {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    /// The text itself.
    Text,
}

impl ResolvedScalar {
    /// Returns the JSON value, or nothing for an infinity or NaN.
    pub(super) fn value(self, text: &str) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(truth),
            Self::Int(integer) => Value::from(integer),
            Self::UInt(integer) => Value::from(integer),
            Self::Float(float) => Value::Number(through_json(float)?),
            Self::Text => Value::String(Text::new(text)),
        })
    }

    /// Returns the key that Go makes of it, or what sort of thing cannot be a key.
    pub(super) fn key(self, text: &str) -> Result<Text, &'static str> {
        Ok(match self {
            Self::Null => return Err("null"),
            Self::UInt(_) => return Err("an integer above 9223372036854775807"),
            Self::Bool(true) => Text::new_static("true"),
            Self::Bool(false) => Text::new_static("false"),
            Self::Int(integer) => Text::from(integer.to_string()),
            Self::Float(float) => Text::from(short_float(float)),
            Self::Text => Text::new(text),
        })
    }
}

/// Returns what the plain scalar `text` means.
#[inline]
pub(super) fn resolve_scalar(text: &str) -> ResolvedScalar {
    match text.as_bytes().first() {
        None => ResolvedScalar::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            resolve_word(text)
        }
        Some(b'0'..=b'9' | b'+' | b'-') => resolve_number(text),
        Some(b'.') => resolve_point(text),
        Some(_) => ResolvedScalar::Text,
    }
}

/// Returns what `text` means under the tag `tag`, or why it cannot carry it. `tag` is in its long form.
pub(super) fn resolve_tagged(tag: &str, text: &str, mark: YamlMark) -> Result<ResolvedScalar, YamlFailure> {
    let Some(name) = tag.strip_prefix("tag:yaml.org,2002:") else {
        return Ok(ResolvedScalar::Text);
    };
    let scalar = match name {
        "bool" | "int" | "float" | "null" => resolve_scalar(text),
        "timestamp" if is_go_timestamp(text) => return Ok(ResolvedScalar::Text),
        "timestamp" => ResolvedScalar::Null,
        _ => return Ok(ResolvedScalar::Text),
    };
    match (name, scalar) {
        ("bool", ResolvedScalar::Bool(_))
        | ("null", ResolvedScalar::Null)
        | ("int", ResolvedScalar::Int(_) | ResolvedScalar::UInt(_))
        | ("float", ResolvedScalar::Float(_)) => Ok(scalar),
        #[expect(clippy::cast_precision_loss, reason = "a double is what the tag asks for")]
        ("float", ResolvedScalar::Int(integer)) => Ok(ResolvedScalar::Float(integer as f64)),
        _ => {
            let short: String = text.chars().take(40).collect();
            Err(Box::new(YamlError {
                kind: ParseProblemKind::Tag,
                message: format!("`{}` does not fit the tag `!!{name}`", short.escape_debug()),
                position: mark.position(),
            }))
        }
    }
}

fn resolve_word(text: &str) -> ResolvedScalar {
    if text.len() > 5 {
        return ResolvedScalar::Text;
    }
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            ResolvedScalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            ResolvedScalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => ResolvedScalar::Null,
        _ => ResolvedScalar::Text,
    }
}

/// Reads what starts with a point: a special double or a double in Go's own notation.
fn resolve_point(text: &str) -> ResolvedScalar {
    match text {
        ".nan" | ".NaN" | ".NAN" => return ResolvedScalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" => return ResolvedScalar::Float(f64::INFINITY),
        _ => {}
    }
    // Go allows `_` here only between two digits.
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let fits = |(at, byte): (usize, &u8)| *byte != b'_' || (digit(at.checked_sub(1)) && digit(Some(at + 1)));
    if !bytes.iter().enumerate().all(fits) {
        return ResolvedScalar::Text;
    }
    if text.contains('_') { resolve_float(&text.replace('_', "")) } else { resolve_float(text) }
}

/// Reads what starts with a digit or a sign.
fn resolve_number(text: &str) -> ResolvedScalar {
    let bytes = text.as_bytes();
    // Most numbers are short and decimal.
    if bytes.len() < 19 && matches!(bytes.first(), Some(b'1'..=b'9')) {
        let mut whole: i64 = 0;
        let mut rest = bytes.iter();
        loop {
            match rest.next() {
                Some(digit @ b'0'..=b'9') => whole = whole * 10 + i64::from(digit - b'0'),
                Some(b'.' | b'_' | b'e' | b'E') => break,
                Some(_) => return ResolvedScalar::Text,
                None => return ResolvedScalar::Int(whole),
            }
        }
    }
    match bytes.get(1) {
        None if bytes == b"0" => return ResolvedScalar::Int(0),
        None => return ResolvedScalar::Text,
        Some(_) => {}
    }
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return ResolvedScalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return ResolvedScalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    if text.contains('_') { resolve_exact_number(&text.replace('_', "")) } else { resolve_exact_number(text) }
}

fn resolve_exact_number(text: &str) -> ResolvedScalar {
    if let Some(integer) = resolve_integer(text) {
        return integer;
    }
    match resolve_float(text) {
        ResolvedScalar::Text => {}
        found => return found,
    }
    // A quirk of the original: a sign may follow `0b`.
    match text.strip_prefix("0b") {
        Some(signed) if signed.starts_with(['+', '-']) => {
            i64::from_str_radix(signed, 2).map_or(ResolvedScalar::Text, ResolvedScalar::Int)
        }
        _ => ResolvedScalar::Text,
    }
}

/// Reads a decimal, `0x`, `0o`, `0b` or `0` (octal) integer of 64 bits.
fn resolve_integer(text: &str) -> Option<ResolvedScalar> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (Some(true), text.get(1..)?),
        b'+' => (Some(false), text.get(1..)?),
        _ => (None, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // The standard library would allow a second sign.
    if !digits.as_bytes().first()?.is_ascii_hexdigit() {
        return None;
    }
    let whole = u64::from_str_radix(digits, radix).ok()?;
    match sign {
        Some(true) => 0_i64.checked_sub_unsigned(whole).map(ResolvedScalar::Int),
        Some(false) => i64::try_from(whole).ok().map(ResolvedScalar::Int),
        None => Some(i64::try_from(whole).map_or(ResolvedScalar::UInt(whole), ResolvedScalar::Int)),
    }
}

/// Reads a decimal double; one that is out of range is text, as in Go.
fn resolve_float(text: &str) -> ResolvedScalar {
    let is_decimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    if !text.bytes().all(is_decimal) {
        return ResolvedScalar::Text;
    }
    match text.parse::<f64>() {
        Ok(float) if float.is_finite() => ResolvedScalar::Float(float),
        _ => ResolvedScalar::Text,
    }
}

/// Returns the number that reading Go's JSON for `float` gives.
fn through_json(float: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !float.is_finite() {
        return None;
    }
    let is_negative_zero = float == 0.0 && float.is_sign_negative();
    if float.fract() != 0.0 || is_negative_zero || float.abs() >= 1e21 {
        return Some(Number::Float(float));
    }
    if float.abs() <= EXACT {
        return Some(Number::Float(float).normalized());
    }
    let digits = float.to_string();
    let exact = digits.parse::<i64>().map(Number::from).or_else(|_| digits.parse::<u64>().map(Number::from));
    Some(exact.unwrap_or(Number::Float(float)))
}

/// Returns `float` as Go writes a key: six digits, single precision, then an exponent.
#[expect(clippy::cast_possible_truncation, reason = "single precision is what Go writes")]
fn short_float(float: f64) -> String {
    let single = float as f32;
    if single.is_nan() {
        return ".nan".to_owned();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{single:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(exponent @ -4..6) if single != 0.0 || exponent == 0 => single.to_string(),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        Err(_) => scientific,
    }
}

/// Returns whether `text` is a date, or a date and a time, in one of the four notations Go knows.
fn is_go_timestamp(text: &str) -> bool {
    let Some((date, time)) = cut_date(text) else {
        return false;
    };
    let Some(separator) = time.chars().next() else {
        return date;
    };
    let time = time.get(1..).unwrap_or_default();
    date && match separator {
        'T' | 't' => cut_time(time).is_some_and(is_zone),
        ' ' => cut_time(time) == Some(""),
        _ => false,
    }
}

/// Takes `2006-1-2` from the start and says whether there is such a day.
fn cut_date(text: &str) -> Option<(bool, &str)> {
    let (year, rest) = (text.get(..4)?, text.get(4..)?.strip_prefix('-')?);
    let year: u32 = if year.bytes().all(|b| b.is_ascii_digit()) { year.parse().ok()? } else { return None };
    let (month, rest) = cut_number(rest)?;
    let (day, rest) = cut_number(rest.strip_prefix('-')?)?;
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    Some(((1..=days).contains(&day), rest))
}

/// Takes `15:4:5.999` from the start.
fn cut_time(text: &str) -> Option<&str> {
    let (hour, rest) = cut_number(text)?;
    let (minute, rest) = cut_number(rest.strip_prefix(':')?)?;
    let (second, rest) = cut_number(rest.strip_prefix(':')?)?;
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let end = fraction.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(fraction.len());
            fraction.get(end..).filter(|_| end > 0)?
        }
        None => rest,
    };
    (hour < 24 && minute < 60 && second < 60).then_some(rest)
}

/// Returns whether `text` is `Z` or an offset such as `+07:00`.
fn is_zone(text: &str) -> bool {
    let digits = |range| text.get(range).and_then(|t: &str| t.parse::<u32>().ok());
    text == "Z"
        || (text.len() == 6
            && text.starts_with(['+', '-'])
            && text.as_bytes().get(3) == Some(&b':')
            && digits(1..3).is_some_and(|hours| hours <= 24)
            && digits(4..6).is_some_and(|minutes| minutes < 60))
}

/// Takes one or two digits from the start.
fn cut_number(text: &str) -> Option<(u32, &str)> {
    let end = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    Some((text.get(..end)?.parse().ok()?, text.get(end..)?))
}
