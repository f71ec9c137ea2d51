//! Strings, arrays and objects as collections.

use kubewright_value::{Budget, Map, Value};

use super::super::eval;
use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

const TWO_STRINGS: &[ArgumentTypes] = &[ArgumentTypes::STRING, ArgumentTypes::STRING];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin(
        "contains",
        &[ArgumentTypes::ARRAY.or(ArgumentTypes::STRING), ArgumentTypes::ANY],
        "boolean",
        "whether the array has the item, or the string the part",
        call_contains,
    ),
    define_builtin(
        "starts_with",
        TWO_STRINGS,
        "boolean",
        "whether the string starts with the prefix",
        |arguments, _| test_text_pair(arguments, |text, part| text.starts_with(part)),
    ),
    define_builtin(
        "ends_with",
        TWO_STRINGS,
        "boolean",
        "whether the string ends with the suffix",
        |arguments, _| test_text_pair(arguments, |text, part| text.ends_with(part)),
    ),
    define_builtin(
        "join",
        &[ArgumentTypes::STRING, ArgumentTypes::STRINGS],
        "string",
        "the strings of the array with the first argument between them",
        call_join,
    ),
    define_builtin(
        "keys",
        &[ArgumentTypes::OBJECT],
        "array[string]",
        "the keys of the object, in its order",
        call_keys,
    ),
    define_builtin(
        "values",
        &[ArgumentTypes::OBJECT],
        "array",
        "the values of the object, in its order",
        call_values,
    ),
    define_builtin(
        "length",
        &[ArgumentTypes::STRING.or(ArgumentTypes::ARRAY).or(ArgumentTypes::OBJECT)],
        "number",
        "how many characters, items or keys there are",
        call_length,
    ),
    define_builtin(
        "map",
        &[ArgumentTypes::REFERENCE, ArgumentTypes::ARRAY],
        "array",
        "the result of the expression for each item, nulls included",
        call_map,
    ),
    define_builtin(
        "merge",
        &[ArgumentTypes::OBJECT],
        "object",
        "the entries of all objects; of equal keys the last wins",
        call_merge,
    )
    .variadic(),
    define_builtin(
        "reverse",
        &[ArgumentTypes::STRING.or(ArgumentTypes::ARRAY)],
        "string|array",
        "the characters or items from last to first",
        call_reverse,
    ),
];

fn call_contains(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let [whole, part] = arguments else { return Ok(Value::Null) };
    if let Value::String(text) = whole.value() {
        budget.step(text.len() as u64 / 16)?;
        return Ok(Value::Bool(part.value().as_str().is_some_and(|part| text.contains(part))));
    }
    for item in whole.items() {
        if eval::equal_within_budget(budget, item, part.value())? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn test_text_pair(
    arguments: &[JmesPathArgument<'_>],
    holds: impl Fn(&str, &str) -> bool,
) -> Result<Value, JmesPathFailure> {
    let [text, part] = arguments else { return Ok(Value::Null) };
    Ok(Value::Bool(holds(text.text(), part.text())))
}

fn call_join(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let [glue, parts] = arguments else { return Ok(Value::Null) };
    let mut joined = String::new();
    for (i, part) in parts.items().iter().filter_map(Value::as_str).enumerate() {
        let glue = if i == 0 { "" } else { glue.text() };
        budget.step(1)?;
        budget.produce(glue.len() + part.len())?;
        joined.push_str(glue);
        joined.push_str(part);
    }
    Ok(Value::from(joined))
}

fn call_keys(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let Some(map) = object_argument(arguments) else { return Ok(Value::Null) };
    charge_items(budget, map.len())?;
    Ok(Value::array(map.keys().map(|key| Value::from(key.clone())).collect()))
}

fn call_values(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let Some(map) = object_argument(arguments) else { return Ok(Value::Null) };
    charge_items(budget, map.len())?;
    Ok(Value::array(map.values().cloned().collect()))
}

fn call_length(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    Ok(match arguments.first().map(JmesPathArgument::value) {
        Some(Value::String(text)) => {
            budget.step(text.len() as u64 / 64)?;
            Value::from(text.chars().count())
        }
        Some(Value::Array(items)) => Value::from(items.len()),
        Some(Value::Object(map)) => Value::from(map.len()),
        _ => Value::Null,
    })
}

fn call_map(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let [each, items] = arguments else { return Ok(Value::Null) };
    charge_items(budget, items.items().len())?;
    let made = items.items().iter().map(|item| each.apply(item, budget));
    Ok(Value::array(made.collect::<Result<_, _>>()?))
}

fn call_merge(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let mut merged = Map::new();
    for map in arguments.iter().filter_map(|argument| argument.value().as_object()) {
        // A map may reserve twice the size of its entries and an index.
        charge_items(budget, map.len().saturating_mul(6))?;
        for (key, value) in map.iter() {
            merged.insert(key.clone(), value.clone());
        }
    }
    Ok(Value::object(merged))
}

fn call_reverse(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    Ok(match arguments.first().map(JmesPathArgument::value) {
        Some(Value::String(text)) => {
            budget.produce(text.len())?;
            budget.step(text.len() as u64 / 8)?;
            Value::from(text.chars().rev().collect::<String>())
        }
        Some(Value::Array(items)) => {
            charge_items(budget, items.len())?;
            Value::array(items.iter().rev().cloned().collect())
        }
        _ => Value::Null,
    })
}

/// Charges for a list of `count` values.
fn charge_items(budget: &mut Budget, count: usize) -> Result<(), JmesPathFailure> {
    budget.step(count as u64)?;
    Ok(budget.produce(count.saturating_mul(size_of::<Value>()))?)
}

fn object_argument<'a>(arguments: &'a [JmesPathArgument<'_>]) -> Option<&'a Map> {
    arguments.first().and_then(|argument| argument.value().as_object())
}
