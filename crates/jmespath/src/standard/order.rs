//! The greatest, the least, and all in order. Only strings and numbers have an order, not mixed.

use kubewright_value::{Budget, Value, ValueKind};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const PLAIN: &[Accepts] = &[Accepts::NUMBERS.or(Accepts::STRINGS)];
const BY: &[Accepts] = &[Accepts::ARRAY, Accepts::REFERENCE];

pub(super) const TABLE: &[Builtin] = &[
    builtin("sort", PLAIN, "array", "the numbers or strings in order", sort),
    builtin("max", PLAIN, "number|string", "the greatest item; null for none", |arguments, budget| {
        best(arguments, budget, |new, old| new > old)
    }),
    builtin("min", PLAIN, "number|string", "the least item; null for none", |arguments, budget| {
        best(arguments, budget, |new, old| new < old)
    }),
    builtin("sort_by", BY, "array", "the items ordered by what the expression makes of each", sort_by),
    builtin("max_by", BY, "any", "the item of which the expression makes the most", |arguments, budget| {
        best_by(arguments, budget, |new, old| new > old)
    }),
    builtin("min_by", BY, "any", "the item of which the expression makes the least", |arguments, budget| {
        best_by(arguments, budget, |new, old| new < old)
    }),
];

fn sort(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let mut items = arguments.first().map(Argument::items).unwrap_or_default().to_vec();
    charge_sort(budget, items.iter())?;
    items.sort();
    Ok(Value::array(items))
}

/// Returns the first of the best ones.
fn best(
    arguments: &[Argument<'_>],
    budget: &mut Budget,
    is_better: fn(&Value, &Value) -> bool,
) -> Result<Value, Failure> {
    let mut best: Option<&Value> = None;
    for item in arguments.first().map(Argument::items).unwrap_or_default() {
        budget.step(1 + text_size(item) / 64)?;
        if best.is_none_or(|best| is_better(item, best)) {
            best = Some(item);
        }
    }
    Ok(best.cloned().unwrap_or_default())
}

/// Items with equal keys keep their order.
fn sort_by(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    if let Some(few) = needs_no_order(arguments) {
        return Ok(Value::array(few.to_vec()));
    }
    let mut keyed = keyed(arguments, budget)?;
    charge_sort(budget, keyed.iter().map(|(key, _)| key))?;
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Value::array(keyed.into_iter().map(|(_, item)| item.clone()).collect()))
}

fn best_by(
    arguments: &[Argument<'_>],
    budget: &mut Budget,
    is_better: fn(&Value, &Value) -> bool,
) -> Result<Value, Failure> {
    if let Some(few) = needs_no_order(arguments) {
        return Ok(few.first().cloned().unwrap_or_default());
    }
    let mut best: Option<(Value, &Value)> = None;
    for (key, item) in keyed(arguments, budget)? {
        budget.step(1 + text_size(&key) / 64)?;
        if best.as_ref().is_none_or(|(best, _)| is_better(&key, best)) {
            best = Some((key, item));
        }
    }
    Ok(best.map(|(_, item)| item.clone()).unwrap_or_default())
}

/// Returns the items if there is one at most: nobody asks for its key, which may be of any type.
fn needs_no_order<'a>(arguments: &'a [Argument<'_>]) -> Option<&'a [Value]> {
    arguments.first().map(Argument::items).filter(|items| items.len() < 2)
}

/// Returns the items with their keys, which are all strings or all numbers.
fn keyed<'a>(arguments: &'a [Argument<'_>], budget: &mut Budget) -> Result<Vec<(Value, &'a Value)>, Failure> {
    let [items, key_of] = arguments else { return Ok(Vec::new()) };
    budget.produce(items.items().len().saturating_mul(size_of::<(Value, &Value)>()))?;
    let mut keyed: Vec<(Value, &Value)> = Vec::with_capacity(items.items().len());
    for item in items.items() {
        budget.step(1)?;
        let key = key_of.apply(item, budget)?;
        let kind = key.kind();
        if !matches!(kind, ValueKind::String | ValueKind::Number) {
            return Err(
                Failure::wrong_type(format!("cannot order by {kind}, only by string or number")).about(1)
            );
        }
        if let Some((first, _)) = keyed.first().filter(|(first, _)| first.kind() != kind) {
            let message = format!("cannot order by {} and {kind} together", first.kind());
            return Err(Failure::wrong_type(message).about(1));
        }
        keyed.push((key, item));
    }
    Ok(keyed)
}

fn charge_sort<'v>(
    budget: &mut Budget,
    keys: impl ExactSizeIterator<Item = &'v Value>,
) -> Result<(), Failure> {
    let count = keys.len();
    budget.produce(count.saturating_mul(size_of::<Value>()))?;
    let rounds = u64::from(usize::BITS - count.leading_zeros());
    let once = keys.fold(0_u64, |sum, key| sum.saturating_add(1 + text_size(key) / 64));
    Ok(budget.step(once.saturating_mul(rounds))?)
}

fn text_size(value: &Value) -> u64 {
    value.as_str().map_or(0, str::len) as u64
}
