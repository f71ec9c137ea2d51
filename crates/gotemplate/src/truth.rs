//! When an item counts as true, and when two items are equal.

use std::cmp::Ordering;

use kubewright_value::{Budget, Exhausted};

use super::item::Item;

/// Returns whether `if` takes the item for true: not zero, not empty, not nil.
pub(super) fn is_true(item: &Item) -> bool {
    match item {
        Item::Missing | Item::Nil => false,
        Item::Bool(value) => *value,
        Item::Int(_, value) => *value != 0,
        Item::Float(value) => *value != 0.0,
        Item::Number(number) => number.as_f64() != 0.0,
        Item::Text(text) => !text.is_empty(),
        Item::Bytes(bytes) => !bytes.is_empty(),
        Item::Array(_) | Item::List(_) => item.list_len() != Some(0),
        Item::Object(_) | Item::Dict(_) => item.map_len() != Some(0),
        Item::Time(_) | Item::Version(_) | Item::Root => true,
    }
}

/// As Go's `reflect.DeepEqual`: the types must be the same too.
pub(super) fn deep_equal(a: &Item, b: &Item, budget: &mut Budget) -> Result<bool, Exhausted> {
    budget.step(1)?;
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    if a.type_name() != b.type_name() {
        return Ok(false);
    }
    match (a, b) {
        (Item::Bool(a), Item::Bool(b)) => return Ok(a == b),
        (Item::Int(_, a), Item::Int(_, b)) => return Ok(a == b),
        (Item::Text(a), Item::Text(b)) => return Ok(a == b),
        (Item::Bytes(_), _) | (_, Item::Bytes(_)) => return Ok(a.as_bytes() == b.as_bytes()),
        (Item::Number(a), Item::Number(b)) => return Ok(a == b),
        (Item::Float(_) | Item::Number(_), _) => return Ok(float(a) == float(b)),
        (Item::Time(a), Item::Time(b)) => return Ok(a == b),
        (Item::Version(a), Item::Version(b)) => return Ok(a == b),
        (Item::Root, Item::Root) => return Ok(true),
        _ => {}
    }
    budget.enter()?;
    let equal = containers_equal(a, b, budget);
    budget.leave();
    equal
}

fn containers_equal(a: &Item, b: &Item, budget: &mut Budget) -> Result<bool, Exhausted> {
    if a.is_nil_list() != b.is_nil_list() || a.list_len() != b.list_len() || a.map_len() != b.map_len() {
        return Ok(false);
    }
    for index in 0..a.list_len().unwrap_or(0) {
        let (a, b) = (a.element(index).unwrap_or(Item::Nil), b.element(index).unwrap_or(Item::Nil));
        if !deep_equal(&a, &b, budget)? {
            return Ok(false);
        }
    }
    if a.map_len().is_some() {
        budget.step(a.map_len().unwrap_or(0) as u64)?;
        let (a, b) = (a.sorted_entries().unwrap_or_default(), b.sorted_entries().unwrap_or_default());
        for ((key, value), (other_key, other)) in a.iter().zip(&b) {
            if key != other_key || !deep_equal(value, other, budget)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// What `eq` says of lists and maps.
pub(super) const NOT_COMPARABLE: &str = "non-comparable type";

/// As the template function `eq`: nil equals nil, other types must fit.
pub(super) fn equal(a: &Item, b: &Item) -> Result<bool, String> {
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    match (a, b) {
        (Item::Bool(a), Item::Bool(b)) => Ok(a == b),
        (Item::Text(a), Item::Text(b)) => Ok(a == b),
        (Item::Text(_) | Item::Bytes(_), Item::Text(_) | Item::Bytes(_)) => Ok(a.as_bytes() == b.as_bytes()),
        (Item::Int(..), Item::Int(..))
        | (Item::Float(_) | Item::Number(_), Item::Float(_) | Item::Number(_)) => {
            Ok(numeric_order(a, b) == Some(Ordering::Equal))
        }
        _ if is_basic(a) || is_basic(b) => Err(incompatible(a, b)),
        _ if a.kind_name() == b.kind_name() && (a.is_nil_list() || b.is_nil_list()) => {
            Ok(a.is_nil_list() && b.is_nil_list())
        }
        (Item::Time(a), Item::Time(b)) => Ok(a == b),
        (Item::Version(a), Item::Version(b)) => Ok(std::rc::Rc::ptr_eq(a, b)),
        _ => Err(NOT_COMPARABLE.to_owned()),
    }
}

/// As the template function `lt`.
pub(super) fn less(a: &Item, b: &Item) -> Result<bool, String> {
    const BAD: &str = "invalid type for comparison";
    if !is_basic(a) || !is_basic(b) {
        return Err(BAD.to_owned());
    }
    match (a, b) {
        (Item::Bool(_), Item::Bool(_)) => Err(BAD.to_owned()),
        (Item::Text(a), Item::Text(b)) => Ok(a < b),
        (Item::Text(_) | Item::Bytes(_), Item::Text(_) | Item::Bytes(_)) => Ok(a.as_bytes() < b.as_bytes()),
        (Item::Int(..), Item::Int(..))
        | (Item::Float(_) | Item::Number(_), Item::Float(_) | Item::Number(_)) => {
            Ok(numeric_order(a, b) == Some(Ordering::Less))
        }
        _ => Err(incompatible(a, b)),
    }
}

fn incompatible(a: &Item, b: &Item) -> String {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name())
}

fn numeric_order(a: &Item, b: &Item) -> Option<Ordering> {
    match (a, b) {
        (Item::Int(_, a), Item::Int(_, b)) => Some(a.cmp(b)),
        (Item::Number(a), Item::Number(b)) => Some(a.cmp(b)),
        _ => float(a).partial_cmp(&float(b)),
    }
}

fn float(item: &Item) -> f64 {
    match item {
        Item::Float(value) => *value,
        Item::Number(number) => number.as_f64(),
        _ => 0.0,
    }
}

fn is_basic(item: &Item) -> bool {
    matches!(
        item,
        Item::Bool(_) | Item::Int(..) | Item::Float(_) | Item::Number(_) | Item::Text(_) | Item::Bytes(_)
    )
}
