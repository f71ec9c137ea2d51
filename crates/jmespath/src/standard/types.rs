//! Types of values and conversions.

use kubewright_value::{Budget, Value, bounded, json};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

const ANY: &[ArgumentTypes] = &[ArgumentTypes::ANY];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin(
        "type",
        ANY,
        "string",
        "null, boolean, number, string, array or object",
        |arguments, _| Ok(Value::from(value_argument(arguments).kind().name())),
    ),
    define_builtin("not_null", ANY, "any", "the first argument that is not null", call_not_null).variadic(),
    define_builtin("to_array", ANY, "array", "the array itself, or an array of the value", call_to_array),
    define_builtin(
        "to_number",
        ANY,
        "number",
        "the number in a string; null if it is not a number",
        |arguments, _| Ok(convert_json_number(value_argument(arguments))),
    ),
    define_builtin("to_string", ANY, "string", "the string itself, or the value as JSON", call_to_string),
];

fn call_not_null(arguments: &[JmesPathArgument<'_>], _: &mut Budget) -> Result<Value, JmesPathFailure> {
    let found = arguments.iter().map(JmesPathArgument::value).find(|value| !value.is_null());
    Ok(found.cloned().unwrap_or_default())
}

fn call_to_array(arguments: &[JmesPathArgument<'_>], _: &mut Budget) -> Result<Value, JmesPathFailure> {
    Ok(match value_argument(arguments) {
        array @ Value::Array(_) => array.clone(),
        value => Value::array(vec![value.clone()]),
    })
}

/// Converts a string as a JSON number; null if it is not a number.
fn convert_json_number(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::String(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            let is_bare = !text.ends_with(|c: char| c.is_ascii_whitespace());
            json::parse(text).ok().filter(|read| is_bare && read.as_number().is_some()).unwrap_or_default()
        }
        _ => Value::Null,
    }
}

fn call_to_string(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let value = value_argument(arguments);
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    Ok(Value::from(bounded::to_json(value, budget)?))
}

fn value_argument<'a>(arguments: &'a [JmesPathArgument<'_>]) -> &'a Value {
    static NULL: Value = Value::Null;
    arguments.first().map_or(&NULL, JmesPathArgument::value)
}
