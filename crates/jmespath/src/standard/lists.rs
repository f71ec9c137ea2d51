//! Strings, arrays and objects as collections.

use kubewright_value::{Budget, Map, Value};

use super::super::eval;
use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const TEXTS: &[Accepts] = &[Accepts::STRING, Accepts::STRING];

pub(super) const TABLE: &[Builtin] = &[
    builtin(
        "contains",
        &[Accepts::ARRAY.or(Accepts::STRING), Accepts::ANY],
        "boolean",
        "whether the array has the item, or the string the part",
        contains,
    ),
    builtin("starts_with", TEXTS, "boolean", "whether the string starts with the prefix", |arguments, _| {
        pair(arguments, |text, part| text.starts_with(part))
    }),
    builtin("ends_with", TEXTS, "boolean", "whether the string ends with the suffix", |arguments, _| {
        pair(arguments, |text, part| text.ends_with(part))
    }),
    builtin(
        "join",
        &[Accepts::STRING, Accepts::STRINGS],
        "string",
        "the strings of the array with the first argument between them",
        join,
    ),
    builtin("keys", &[Accepts::OBJECT], "array[string]", "the keys of the object, in its order", keys),
    builtin("values", &[Accepts::OBJECT], "array", "the values of the object, in its order", values),
    builtin(
        "length",
        &[Accepts::STRING.or(Accepts::ARRAY).or(Accepts::OBJECT)],
        "number",
        "how many characters, items or keys there are",
        length,
    ),
    builtin(
        "map",
        &[Accepts::REFERENCE, Accepts::ARRAY],
        "array",
        "what the expression makes of each item, nulls included",
        map,
    ),
    builtin(
        "merge",
        &[Accepts::OBJECT],
        "object",
        "the keys of all objects; of the same ones the last",
        merge,
    )
    .variadic(),
    builtin(
        "reverse",
        &[Accepts::STRING.or(Accepts::ARRAY)],
        "string|array",
        "the characters or items from last to first",
        reverse,
    ),
];

fn contains(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [whole, part] = arguments else { return Ok(Value::Null) };
    if let Value::String(text) = whole.value() {
        budget.step(text.len() as u64 / 16)?;
        return Ok(Value::Bool(part.value().as_str().is_some_and(|part| text.contains(part))));
    }
    for item in whole.items() {
        if eval::equal(budget, item, part.value())? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn pair(arguments: &[Argument<'_>], holds: impl Fn(&str, &str) -> bool) -> Result<Value, Failure> {
    let [text, part] = arguments else { return Ok(Value::Null) };
    Ok(Value::Bool(holds(text.text(), part.text())))
}

fn join(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
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

fn keys(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let Some(map) = object(arguments) else { return Ok(Value::Null) };
    charge_items(budget, map.len())?;
    Ok(Value::array(map.keys().map(|key| Value::from(key.clone())).collect()))
}

fn values(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let Some(map) = object(arguments) else { return Ok(Value::Null) };
    charge_items(budget, map.len())?;
    Ok(Value::array(map.values().cloned().collect()))
}

fn length(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    Ok(match arguments.first().map(Argument::value) {
        Some(Value::String(text)) => {
            budget.step(text.len() as u64 / 64)?;
            Value::from(text.chars().count())
        }
        Some(Value::Array(items)) => Value::from(items.len()),
        Some(Value::Object(map)) => Value::from(map.len()),
        _ => Value::Null,
    })
}

fn map(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [each, items] = arguments else { return Ok(Value::Null) };
    charge_items(budget, items.items().len())?;
    let made = items.items().iter().map(|item| each.apply(item, budget));
    Ok(Value::array(made.collect::<Result<_, _>>()?))
}

fn merge(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let mut merged = Map::new();
    for map in arguments.iter().filter_map(|argument| argument.value().as_object()) {
        // An entry has room for twice as many behind it, and perhaps an index.
        charge_items(budget, map.len().saturating_mul(6))?;
        for (key, value) in map.iter() {
            merged.insert(key.clone(), value.clone());
        }
    }
    Ok(Value::object(merged))
}

fn reverse(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    Ok(match arguments.first().map(Argument::value) {
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
fn charge_items(budget: &mut Budget, count: usize) -> Result<(), Failure> {
    budget.step(count as u64)?;
    Ok(budget.produce(count.saturating_mul(size_of::<Value>()))?)
}

fn object<'a>(arguments: &'a [Argument<'_>]) -> Option<&'a Map> {
    arguments.first().and_then(|argument| argument.value().as_object())
}
