//! Conversions between numbers, booleans and text, as the language's operators do them.

use kubewright_value::{Number, Value};

/// Returns the number that `text` spells, by the rules of Go's `ParseFloat`.
///
/// Integers of 64 bits stay exact. `1_000`, `Inf` and `NaN` are numbers; `0x10`, ` 1` and
/// what is too large for a double are not.
pub(super) fn number_from_text(text: &str) -> Option<Number> {
    let first = *text.as_bytes().first()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.' | b'i' | b'I' | b'n' | b'N')) {
        return None;
    }
    let plain;
    let digits = if text.contains('_') {
        plain = without_underscores(text)?;
        plain.as_str()
    } else {
        text
    };
    if let Ok(integer) = digits.parse::<i64>() {
        return Some(Number::Int(integer));
    }
    if let Ok(integer) = digits.parse::<u64>() {
        return Some(Number::from(integer));
    }
    let float = digits.parse::<f64>().ok()?;
    let is_word = text.bytes().any(|c| matches!(c, b'n' | b'N'));
    let signed_nan = float.is_nan() && matches!(first, b'+' | b'-');
    // Too large is an error to Go, and to us no number.
    ((float.is_finite() || is_word) && !signed_nan).then_some(Number::Float(float))
}

/// Removes the underscores of `text`, each of which must be between two digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(u8::is_ascii_digit);
    let placed = |(i, c): (usize, &u8)| *c != b'_' || (digit(i.checked_sub(1)) && digit(Some(i + 1)));
    bytes.iter().enumerate().all(placed).then(|| text.replace('_', ""))
}

/// Returns the number that `value` is or spells.
pub(super) fn number_of_value(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(*number),
        Value::String(text) => number_from_text(text),
        _ => None,
    }
}

/// Returns what `value` means to a filter; `None` when it means nothing.
pub(super) fn truth_of_value(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Null => Some(false),
        Value::String(text) => match text.as_str() {
            "true" | "TRUE" => Some(true),
            "false" | "FALSE" => Some(false),
            text => number_from_text(text).map(is_not_zero),
        },
        Value::Number(number) => Some(is_not_zero(*number)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_not_zero(number: Number) -> bool {
    number.as_f64() != 0.0
}

/// Returns the 64-bit integer nearest to zero from `number`, as Go's conversion does it:
/// what does not fit is the smallest integer.
pub(super) fn go_integer(number: Number) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    match number {
        Number::Int(integer) => integer,
        Number::UInt(_) => i64::MIN,
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        Number::Float(float) if (-LIMIT..LIMIT).contains(&float) => float as i64,
        Number::Float(_) => i64::MIN,
    }
}
