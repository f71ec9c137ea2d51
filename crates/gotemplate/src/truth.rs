//! When an item counts as true, and when two items are equal.

use std::cmp::Ordering;

use kubewright_value::{Budget, Exhausted};

use super::item::TemplateItem;

/// Returns whether `if` takes the item for true: not zero, not empty, not nil.
pub(super) fn is_item_true(item: &TemplateItem) -> bool {
    match item {
        TemplateItem::Missing | TemplateItem::Nil => false,
        TemplateItem::Bool(value) => *value,
        TemplateItem::Int(_, value) => *value != 0,
        TemplateItem::Float(value) => *value != 0.0,
        TemplateItem::Number(number) => number.as_f64() != 0.0,
        TemplateItem::Text(text) => !text.is_empty(),
        TemplateItem::Bytes(bytes) => !bytes.is_empty(),
        TemplateItem::Array(_) | TemplateItem::List(_) => item.list_len() != Some(0),
        TemplateItem::Object(_) | TemplateItem::Dict(_) => item.map_len() != Some(0),
        TemplateItem::Time(_) | TemplateItem::Version(_) | TemplateItem::Root => true,
    }
}

/// As Go's `reflect.DeepEqual`: the types must be the same too.
pub(super) fn deep_equal(a: &TemplateItem, b: &TemplateItem, budget: &mut Budget) -> Result<bool, Exhausted> {
    budget.step(1)?;
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    if a.type_name() != b.type_name() {
        return Ok(false);
    }
    match (a, b) {
        (TemplateItem::Bool(a), TemplateItem::Bool(b)) => return Ok(a == b),
        (TemplateItem::Int(_, a), TemplateItem::Int(_, b)) => return Ok(a == b),
        (TemplateItem::Text(a), TemplateItem::Text(b)) => return Ok(a == b),
        (TemplateItem::Bytes(_), _) | (_, TemplateItem::Bytes(_)) => return Ok(a.as_bytes() == b.as_bytes()),
        (TemplateItem::Number(a), TemplateItem::Number(b)) => return Ok(a == b),
        (TemplateItem::Float(_) | TemplateItem::Number(_), _) => return Ok(item_float(a) == item_float(b)),
        (TemplateItem::Time(a), TemplateItem::Time(b)) => return Ok(a == b),
        (TemplateItem::Version(a), TemplateItem::Version(b)) => return Ok(a == b),
        (TemplateItem::Root, TemplateItem::Root) => return Ok(true),
        _ => {}
    }
    budget.enter()?;
    let equal = containers_equal(a, b, budget);
    budget.leave();
    equal
}

fn containers_equal(a: &TemplateItem, b: &TemplateItem, budget: &mut Budget) -> Result<bool, Exhausted> {
    if a.is_nil_list() != b.is_nil_list() || a.list_len() != b.list_len() || a.map_len() != b.map_len() {
        return Ok(false);
    }
    for index in 0..a.list_len().unwrap_or(0) {
        let (a, b) =
            (a.element(index).unwrap_or(TemplateItem::Nil), b.element(index).unwrap_or(TemplateItem::Nil));
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

/// The error of `eq` for lists and maps.
pub(super) const NOT_COMPARABLE: &str = "non-comparable type";

/// As the template function `eq`: nil equals nil, other types must fit.
pub(super) fn items_equal(a: &TemplateItem, b: &TemplateItem) -> Result<bool, String> {
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    match (a, b) {
        (TemplateItem::Bool(a), TemplateItem::Bool(b)) => Ok(a == b),
        (TemplateItem::Text(a), TemplateItem::Text(b)) => Ok(a == b),
        (TemplateItem::Text(_) | TemplateItem::Bytes(_), TemplateItem::Text(_) | TemplateItem::Bytes(_)) => {
            Ok(a.as_bytes() == b.as_bytes())
        }
        (TemplateItem::Int(..), TemplateItem::Int(..))
        | (
            TemplateItem::Float(_) | TemplateItem::Number(_),
            TemplateItem::Float(_) | TemplateItem::Number(_),
        ) => Ok(numeric_order(a, b) == Some(Ordering::Equal)),
        _ if is_basic(a) || is_basic(b) => Err(incompatible_types(a, b)),
        _ if a.kind_name() == b.kind_name() && (a.is_nil_list() || b.is_nil_list()) => {
            Ok(a.is_nil_list() && b.is_nil_list())
        }
        (TemplateItem::Time(a), TemplateItem::Time(b)) => Ok(a == b),
        (TemplateItem::Version(a), TemplateItem::Version(b)) => Ok(std::rc::Rc::ptr_eq(a, b)),
        _ => Err(NOT_COMPARABLE.to_owned()),
    }
}

/// As the template function `lt`.
pub(super) fn item_less(a: &TemplateItem, b: &TemplateItem) -> Result<bool, String> {
    const BAD: &str = "invalid type for comparison";
    if !is_basic(a) || !is_basic(b) {
        return Err(BAD.to_owned());
    }
    match (a, b) {
        (TemplateItem::Bool(_), TemplateItem::Bool(_)) => Err(BAD.to_owned()),
        (TemplateItem::Text(a), TemplateItem::Text(b)) => Ok(a < b),
        (TemplateItem::Text(_) | TemplateItem::Bytes(_), TemplateItem::Text(_) | TemplateItem::Bytes(_)) => {
            Ok(a.as_bytes() < b.as_bytes())
        }
        (TemplateItem::Int(..), TemplateItem::Int(..))
        | (
            TemplateItem::Float(_) | TemplateItem::Number(_),
            TemplateItem::Float(_) | TemplateItem::Number(_),
        ) => Ok(numeric_order(a, b) == Some(Ordering::Less)),
        _ => Err(incompatible_types(a, b)),
    }
}

fn incompatible_types(a: &TemplateItem, b: &TemplateItem) -> String {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name())
}

fn numeric_order(a: &TemplateItem, b: &TemplateItem) -> Option<Ordering> {
    match (a, b) {
        (TemplateItem::Int(_, a), TemplateItem::Int(_, b)) => Some(a.cmp(b)),
        (TemplateItem::Number(a), TemplateItem::Number(b)) => Some(a.cmp(b)),
        _ => item_float(a).partial_cmp(&item_float(b)),
    }
}

fn item_float(item: &TemplateItem) -> f64 {
    match item {
        TemplateItem::Float(value) => *value,
        TemplateItem::Number(number) => number.as_f64(),
        _ => 0.0,
    }
}

fn is_basic(item: &TemplateItem) -> bool {
    matches!(
        item,
        TemplateItem::Bool(_)
            | TemplateItem::Int(..)
            | TemplateItem::Float(_)
            | TemplateItem::Number(_)
            | TemplateItem::Text(_)
            | TemplateItem::Bytes(_)
    )
}
