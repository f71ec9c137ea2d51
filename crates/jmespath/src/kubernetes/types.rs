//! Numbers and texts of each other as Go reads and writes them, where the specification has it otherwise.

use kubewright_golib::json as gojson;
use kubewright_value::bounded::BoundedText;
use kubewright_value::{Budget, Number, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const ANY: &[Accepts] = &[Accepts::ANY];

pub(super) const TABLE: &[Builtin] = &[
    builtin("to_number", ANY, "number", "the number a string says; null if it is none", |arguments, _| {
        Ok(arguments.first().map(|argument| to_number(argument.value())).unwrap_or_default())
    }),
    builtin("to_string", ANY, "string", "the string itself, or the value as JSON", to_string),
];

fn to_number(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::String(text) => number(text).map(Value::from).unwrap_or_default(),
        _ => Value::Null,
    }
}

/// More forms than JSON has are numbers: `+5`, `.5`, `5.`, `007` and `1_000`.
fn number(text: &str) -> Option<Number> {
    // What is left are `inf` and `nan`, which no JSON can hold.
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
        return None;
    }
    let is_digit = |part: &str, at: usize| part.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let parts: Vec<&str> = text.split('_').collect();
    let is_separated = parts.windows(2).all(|pair| match pair {
        [left, right] => {
            left.len().checked_sub(1).is_some_and(|last| is_digit(left, last)) && is_digit(right, 0)
        }
        _ => false,
    });
    let plain = is_separated.then(|| parts.concat())?;
    let double = || plain.parse().ok().filter(|double: &f64| double.is_finite());
    plain
        .parse()
        .ok()
        .map(|int: i64| Number::from(int))
        .or_else(|| double().map(|double| Number::Float(double).normalized()))
}

fn to_string(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let Some(value) = arguments.first().map(Argument::value) else { return Ok(Value::Null) };
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    let mut out = BoundedText::new(budget);
    gojson::write_go_json(&mut out, value)?;
    Ok(Value::from(out.into_string()))
}
