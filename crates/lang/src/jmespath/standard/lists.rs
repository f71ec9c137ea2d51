//! Strings, arrays and objects as collections.

use kubewright_value::{Budget, Map, Value};

use super::super::eval;
use super::super::function::{Accepts, Argument, Failure, Functions, Signature};

pub(super) fn add_to(functions: Functions) -> Functions {
    let texts = || Signature::of([Accepts::STRING, Accepts::STRING]);
    let object = || Signature::of([Accepts::OBJECT]);
    functions
        .with("contains", Signature::of([Accepts::ARRAY | Accepts::STRING, Accepts::ANY]), contains)
        .with("starts_with", texts(), |arguments, _| pair(arguments, |text, part| text.starts_with(part)))
        .with("ends_with", texts(), |arguments, _| pair(arguments, |text, part| text.ends_with(part)))
        .with("join", Signature::of([Accepts::STRING, Accepts::STRINGS]), join)
        .with("keys", object(), keys)
        .with("values", object(), values)
        .with("length", Signature::of([Accepts::STRING | Accepts::ARRAY | Accepts::OBJECT]), length)
        .with("map", Signature::of([Accepts::REFERENCE, Accepts::ARRAY]), map)
        .with("merge", Signature::of([Accepts::OBJECT]).variadic(), merge)
        .with("reverse", Signature::of([Accepts::STRING | Accepts::ARRAY]), reverse)
}

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
        charge_items(budget, map.len().saturating_mul(2))?;
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
