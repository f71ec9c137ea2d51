//! Sorting, minimum and maximum. Items must be all strings or all numbers.

use kubewright_value::{Budget, Value, ValueKind};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};
use kubewright_value::CompactSort as _;

const PLAIN: &[ArgumentTypes] = &[ArgumentTypes::NUMBERS.or(ArgumentTypes::STRINGS)];
const BY: &[ArgumentTypes] = &[ArgumentTypes::ARRAY, ArgumentTypes::REFERENCE];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin("sort", PLAIN, "array", "the numbers or strings in order", call_sort),
    define_builtin("max", PLAIN, "number|string", "the greatest item; null for none", |arguments, budget| {
        find_extreme(arguments, budget, |new, old| new > old)
    }),
    define_builtin("min", PLAIN, "number|string", "the least item; null for none", |arguments, budget| {
        find_extreme(arguments, budget, |new, old| new < old)
    }),
    define_builtin("sort_by", BY, "array", "the items sorted by the result of the expression", call_sort_by),
    define_builtin(
        "max_by",
        BY,
        "any",
        "the item with the greatest result of the expression",
        |arguments, budget| find_extreme_by(arguments, budget, |new, old| new > old),
    ),
    define_builtin(
        "min_by",
        BY,
        "any",
        "the item with the least result of the expression",
        |arguments, budget| find_extreme_by(arguments, budget, |new, old| new < old),
    ),
];

fn call_sort(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let mut items = arguments.first().map(JmesPathArgument::items).unwrap_or_default().to_vec();
    charge_sort(budget, items.iter())?;
    items.sort();
    Ok(Value::array(items))
}

/// Returns the first of the greatest or least items.
fn find_extreme(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
    is_better: fn(&Value, &Value) -> bool,
) -> Result<Value, JmesPathFailure> {
    let mut best: Option<&Value> = None;
    for item in arguments.first().map(JmesPathArgument::items).unwrap_or_default() {
        budget.step(1 + sort_key_bytes(item) / 64)?;
        if best.is_none_or(|best| is_better(item, best)) {
            best = Some(item);
        }
    }
    Ok(best.cloned().unwrap_or_default())
}

/// Sorts by key. Items with equal keys keep their order.
fn call_sort_by(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    if let Some(few) = short_array_argument(arguments) {
        return Ok(Value::array(few.to_vec()));
    }
    let mut keyed = evaluate_sort_keys(arguments, budget)?;
    charge_sort(budget, keyed.iter().map(|(key, _)| key))?;
    keyed.compact_sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Value::array(keyed.into_iter().map(|(_, item)| item.clone()).collect()))
}

fn find_extreme_by(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
    is_better: fn(&Value, &Value) -> bool,
) -> Result<Value, JmesPathFailure> {
    if let Some(few) = short_array_argument(arguments) {
        return Ok(few.first().cloned().unwrap_or_default());
    }
    let mut best: Option<(Value, &Value)> = None;
    for (key, item) in evaluate_sort_keys(arguments, budget)? {
        budget.step(1 + sort_key_bytes(&key) / 64)?;
        if best.as_ref().is_none_or(|(best, _)| is_better(&key, best)) {
            best = Some((key, item));
        }
    }
    Ok(best.map(|(_, item)| item.clone()).unwrap_or_default())
}

/// Returns the items if there is at most one: its key is not evaluated and may have any type.
fn short_array_argument<'a>(arguments: &'a [JmesPathArgument<'_>]) -> Option<&'a [Value]> {
    arguments.first().map(JmesPathArgument::items).filter(|items| items.len() < 2)
}

/// Returns the items with their keys, which are all strings or all numbers.
fn evaluate_sort_keys<'a>(
    arguments: &'a [JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Vec<(Value, &'a Value)>, JmesPathFailure> {
    let [items, key_of] = arguments else { return Ok(Vec::new()) };
    budget.produce(items.items().len().saturating_mul(size_of::<(Value, &Value)>()))?;
    let mut keyed: Vec<(Value, &Value)> = Vec::with_capacity(items.items().len());
    for item in items.items() {
        budget.step(1)?;
        let key = key_of.apply(item, budget)?;
        let kind = key.kind();
        if !matches!(kind, ValueKind::String | ValueKind::Number) {
            return Err(JmesPathFailure::wrong_type(format!(
                "cannot order by {kind}, only by string or number"
            ))
            .about(1));
        }
        if let Some((first, _)) = keyed.first().filter(|(first, _)| first.kind() != kind) {
            let message = format!("cannot order by {} and {kind} together", first.kind());
            return Err(JmesPathFailure::wrong_type(message).about(1));
        }
        keyed.push((key, item));
    }
    Ok(keyed)
}

fn charge_sort<'v>(
    budget: &mut Budget,
    keys: impl ExactSizeIterator<Item = &'v Value>,
) -> Result<(), JmesPathFailure> {
    let count = keys.len();
    budget.produce(count.saturating_mul(size_of::<Value>()))?;
    let rounds = u64::from(usize::BITS - count.leading_zeros());
    let once = keys.fold(0_u64, |sum, key| sum.saturating_add(1 + sort_key_bytes(key) / 64));
    Ok(budget.step(once.saturating_mul(rounds))?)
}

fn sort_key_bytes(value: &Value) -> u64 {
    value.as_str().map_or(0, str::len) as u64
}
