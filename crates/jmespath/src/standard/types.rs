//! What a value is, and making it something else.

use kubewright_value::{Budget, Value, bounded, json};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const ANY: &[Accepts] = &[Accepts::ANY];

pub(super) const TABLE: &[Builtin] = &[
    builtin("type", ANY, "string", "null, boolean, number, string, array or object", |arguments, _| {
        Ok(Value::from(first(arguments).kind().name()))
    }),
    builtin("not_null", ANY, "any", "the first argument that is not null", not_null).variadic(),
    builtin("to_array", ANY, "array", "the array itself, or an array of the value", to_array),
    builtin("to_number", ANY, "number", "the number a string says; null if it is none", |arguments, _| {
        Ok(to_number(first(arguments)))
    }),
    builtin("to_string", ANY, "string", "the string itself, or the value as JSON", to_string),
];

fn not_null(arguments: &[Argument<'_>], _: &mut Budget) -> Result<Value, Failure> {
    let found = arguments.iter().map(Argument::value).find(|value| !value.is_null());
    Ok(found.cloned().unwrap_or_default())
}

fn to_array(arguments: &[Argument<'_>], _: &mut Budget) -> Result<Value, Failure> {
    Ok(match first(arguments) {
        array @ Value::Array(_) => array.clone(),
        value => Value::array(vec![value.clone()]),
    })
}

/// A string is read as JSON reads a number; it is null when it is none.
fn to_number(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::String(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            let is_bare = !text.ends_with(|c: char| c.is_ascii_whitespace());
            json::parse(text).ok().filter(|read| is_bare && read.as_number().is_some()).unwrap_or_default()
        }
        _ => Value::Null,
    }
}

fn to_string(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let value = first(arguments);
    if value.as_str().is_some() {
        return Ok(value.clone());
    }
    Ok(Value::from(bounded::to_json(value, budget)?))
}

fn first<'a>(arguments: &'a [Argument<'_>]) -> &'a Value {
    static NULL: Value = Value::Null;
    arguments.first().map_or(&NULL, Argument::value)
}
