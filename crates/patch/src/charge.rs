//! The cost of an operation.
//!
//! A copy shares what it copies, so a few copies can make a document that is small in
//! memory and without end when it is written. Its size is charged as if it were written.

use kubewright_value::{Budget, Exhausted, Value};

/// Charges for `value` below `levels` others: its size, and the levels that it reaches down to.
pub(crate) fn charge_at_depth(levels: usize, value: &Value, budget: &mut Budget) -> Result<(), Exhausted> {
    let mut entered = 0;
    let mut charged = Ok(());
    while entered < levels && charged.is_ok() {
        charged = budget.enter();
        entered += usize::from(charged.is_ok());
    }
    if charged.is_ok() {
        charged = charge_value(value, budget);
    }
    for _ in 0..entered {
        budget.leave();
    }
    charged
}

fn charge_value(value: &Value, budget: &mut Budget) -> Result<(), Exhausted> {
    match value {
        Value::String(text) => budget.produce(size_of::<Value>() + text.len()),
        Value::Array(items) => charge_parts(items.iter(), items.len(), budget),
        Value::Object(map) => charge_parts(map.values(), map.len(), budget),
        _ => budget.produce(size_of::<Value>()),
    }
}

fn charge_parts<'a>(
    parts: impl Iterator<Item = &'a Value>,
    count: usize,
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    budget.step(count as u64)?;
    budget.produce(size_of::<Value>())?;
    budget.enter()?;
    let charged = parts.into_iter().try_for_each(|part| charge_value(part, budget));
    budget.leave();
    charged
}

/// Returns the steps that moving `count` entries of an object costs, whose places are looked up by key.
pub(super) fn reindexing(count: usize) -> u64 {
    count as u64 / 2
}

/// Returns the steps that moving `count` items costs.
pub(crate) fn shifting(count: usize) -> u64 {
    count as u64 / 16
}
