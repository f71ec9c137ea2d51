//! What a value is, and making it something else.

use kubewright_value::{Budget, Value, json};

use super::super::eval;
use super::super::function::{Accepts, Argument, Failure, Functions, Signature};

pub(super) fn add_to(functions: Functions) -> Functions {
    let any = || Signature::of([Accepts::ANY]);
    functions
        .with("type", any(), |arguments, _| Ok(Value::from(first(arguments).kind().name())))
        .with("not_null", any().variadic(), not_null)
        .with("to_array", any(), to_array)
        .with("to_number", any(), |arguments, _| Ok(to_number(first(arguments))))
        .with("to_string", any(), to_string)
}

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
    eval::weigh(budget, value)?;
    Ok(Value::from(json::to_string(value)))
}

fn first<'a>(arguments: &'a [Argument<'_>]) -> &'a Value {
    static NULL: Value = Value::Null;
    arguments.first().map_or(&NULL, Argument::value)
}
