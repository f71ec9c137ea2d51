//! `to_number` and `to_string` as Go converts, which differs from the specification.

use kubewright_golib::json as gojson;
use kubewright_value::bounded::BoundedText;
use kubewright_value::{Budget, Number, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

const ANY: &[ArgumentTypes] = &[ArgumentTypes::ANY];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin(
        "to_number",
        ANY,
        "number",
        "the number in a string; null if it is not a number",
        |arguments, _| {
            Ok(arguments.first().map(|argument| convert_go_number(argument.value())).unwrap_or_default())
        },
    ),
    define_builtin("to_string", ANY, "string", "the string itself, or the value as JSON", call_go_to_string),
];

fn convert_go_number(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::String(text) => parse_go_number(text).map(Value::from).unwrap_or_default(),
        _ => Value::Null,
    }
}

/// Parses a number as Go does, which accepts more than JSON: `+5`, `.5`, `5.`, `007` and `1_000`.
fn parse_go_number(text: &str) -> Option<Number> {
    // The rest are `inf` and `nan`, which JSON does not have.
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

fn call_go_to_string(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let Some(value) = arguments.first().map(JmesPathArgument::value) else { return Ok(Value::Null) };
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    let mut out = BoundedText::new(budget);
    gojson::write_go_json(&mut out, value)?;
    Ok(Value::from(out.into_string()))
}
