//! Kubernetes' list functions: order, sums and positions of items.

use std::cmp::Ordering;

use super::CelLibrary;
use super::costs::whole_value_cost;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, ListVal, Val};

/// The library of Kubernetes' list functions.
pub const LISTS: CelLibrary = CelLibrary {
    name: "kubernetes lists",
    functions: add_kubernetes_list_functions,
    macros: MacroSet::NONE,
    types: &[],
};

const LIST: &[CelKind] = &[CelKind::List];
const SUMMABLE: &[CelKind] = &[CelKind::Int, CelKind::UInt, CelKind::Double, CelKind::Duration];
const ORDERED: &[CelKind] = &[
    CelKind::Int,
    CelKind::UInt,
    CelKind::Double,
    CelKind::Bool,
    CelKind::Duration,
    CelKind::Timestamp,
    CelKind::String,
    CelKind::Bytes,
];

fn add_kubernetes_list_functions(functions: &mut CelFunctions) {
    let mut method = |name, items, result, body, help| {
        functions.add(
            CelOverload::method(name, LIST, result, body).items(items).cost(whole_value_cost).help(help),
        );
    };
    method("isSorted", ORDERED, CelKind::Bool, list_is_sorted, "whether no item is larger than the next");
    method("sum", SUMMABLE, CelKind::Any, list_sum, "the sum of numbers or durations");
    method("min", ORDERED, CelKind::Any, list_min, "the smallest item");
    method("max", ORDERED, CelKind::Any, list_max, "the largest item");
    let mut place = |name, body, help| {
        functions.add(
            CelOverload::method(name, &[CelKind::List, CelKind::Any], CelKind::Int, body)
                .cost(whole_value_cost)
                .help(help),
        );
    };
    place("indexOf", list_index_of, "where an item is first; -1 for nowhere");
    place("lastIndexOf", list_last_index_of, "where an item is last; -1 for nowhere");
}

fn charged_list_argument<'v, 'a>(
    arguments: &'v [Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<&'v ListVal<'a>, CelFailure> {
    let Some(Val::List(list)) = arguments.first() else { return Err(CelFailure::mismatch()) };
    call.work(list.len())?;
    Ok(list)
}

/// Returns the order of two items; nothing for a NaN.
fn order_items(a: &Val<'_>, b: &Val<'_>) -> Result<Option<Ordering>, CelFailure> {
    let is_nan = |value: &Val<'_>| matches!(value, Val::Double(value) if value.is_nan());
    match a.order(b) {
        None if !is_nan(a) && !is_nan(b) => Err(CelFailure::type_error(format!(
            "no such overload: `{}` and `{}` have no order",
            a.type_name(),
            b.type_name()
        ))),
        order => Ok(order),
    }
}

fn list_is_sorted<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let mut last: Option<Val<'_>> = None;
    for item in charged_list_argument(arguments, call)?.iter() {
        if order_items(last.as_ref().unwrap_or(&item), &item)? == Some(Ordering::Greater) {
            return Ok(Val::Bool(false));
        }
        last = Some(item);
    }
    Ok(Val::Bool(true))
}

fn list_min<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    find_extreme_item(charged_list_argument(arguments, call)?, "min", Ordering::Greater)
}

fn list_max<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    find_extreme_item(charged_list_argument(arguments, call)?, "max", Ordering::Less)
}

/// Returns the smallest or largest item: an item replaces the one found before if it compares as `replaced`.
fn find_extreme_item<'a>(list: &ListVal<'a>, name: &str, replaced: Ordering) -> Result<Val<'a>, CelFailure> {
    let mut items = list.iter();
    let mut found = items.next().ok_or_else(|| CelFailure::value(format!("{name} called on empty list")))?;
    // An item without an order is an error even if it is the only one.
    order_items(&found, &found)?;
    for item in items {
        if order_items(&found, &item)? == Some(replaced) {
            found = item;
        }
    }
    Ok(found)
}

fn list_sum<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let mut items = charged_list_argument(arguments, call)?.iter();
    let Some(mut sum) = items.next() else { return Ok(Val::Int(0)) };
    if !matches!(sum, Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::Duration(_)) {
        return Err(CelFailure::mismatch());
    }
    for item in items {
        sum = match (&sum, &item) {
            (Val::Int(a), Val::Int(b)) => {
                Val::Int(a.checked_add(*b).ok_or_else(|| CelFailure::value("integer overflow"))?)
            }
            (Val::UInt(a), Val::UInt(b)) => {
                Val::UInt(a.checked_add(*b).ok_or_else(|| CelFailure::value("unsigned integer overflow"))?)
            }
            (Val::Double(a), Val::Double(b)) => Val::Double(a + b),
            (Val::Duration(a), Val::Duration(b)) => {
                Val::Duration(a.checked_add(*b).ok_or_else(|| CelFailure::value("duration overflow"))?)
            }
            _ => return Err(CelFailure::mismatch()),
        };
    }
    Ok(sum)
}

fn list_index_of<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let list = charged_list_argument(arguments, call)?;
    find_item_position(list, arguments.get(1), 0..list.len(), call)
}

fn list_last_index_of<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let list = charged_list_argument(arguments, call)?;
    find_item_position(list, arguments.get(1), (0..list.len()).rev(), call)
}

fn find_item_position<'a>(
    list: &ListVal<'a>,
    wanted: Option<&Val<'a>>,
    places: impl Iterator<Item = usize>,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let wanted = wanted.ok_or_else(CelFailure::mismatch)?;
    for place in places {
        if let Some(item) = list.get(place)
            && item.equals(wanted, call.cost)?
        {
            return Ok(Val::Int(i64::try_from(place).unwrap_or(i64::MAX)));
        }
    }
    Ok(Val::Int(-1))
}
