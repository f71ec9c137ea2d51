//! Walks over whole values, each node charged.

use kubewright_value::{Budget, Exhausted, Value};

/// Returns whether both are equal; the order of keys does not matter.
pub(in super::super) fn equal(budget: &mut Budget, left: &Value, right: &Value) -> Result<bool, Exhausted> {
    budget.step(1)?;
    match (left, right) {
        _ if left.is_same(right) => Ok(true),
        (Value::String(a), Value::String(b)) => {
            budget.step(a.len().min(b.len()) as u64 / 64)?;
            Ok(a == b)
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(budget, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(a), Value::Object(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (key, a) in a.iter() {
                let Some(b) = b.get(key) else { return Ok(false) };
                if !equal(budget, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(left == right),
    }
}

/// Charges what it would cost to write `value` out: a step for each node, and its text.
pub(in super::super) fn weigh(budget: &mut Budget, value: &Value) -> Result<(), Exhausted> {
    budget.step(1)?;
    match value {
        Value::Null | Value::Bool(_) => budget.produce(5),
        Value::Number(_) => budget.produce(20),
        Value::String(text) => budget.produce(text.len() + 2),
        Value::Array(items) => items.iter().try_for_each(|item| weigh(budget, item)),
        Value::Object(map) => map.iter().try_for_each(|(key, value)| {
            budget.produce(key.len() + 3)?;
            weigh(budget, value)
        }),
    }
}
