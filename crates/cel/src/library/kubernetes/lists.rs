//! Order, sums and places of items.

use std::cmp::Ordering;

use super::Library;
use super::costs::tree;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, List, Val};

/// The library of lists.
pub const LISTS: Library =
    Library { name: "kubernetes lists", functions: add, macros: Macros::NONE, types: &[] };

const LIST: &[Kind] = &[Kind::List];
const SUMMABLE: &[Kind] = &[Kind::Int, Kind::UInt, Kind::Double, Kind::Duration];
const ORDERED: &[Kind] = &[
    Kind::Int,
    Kind::UInt,
    Kind::Double,
    Kind::Bool,
    Kind::Duration,
    Kind::Timestamp,
    Kind::String,
    Kind::Bytes,
];

fn add(functions: &mut Functions) {
    let mut method = |name, items, result, body, help| {
        functions.add(Overload::method(name, LIST, result, body).items(items).cost(tree).help(help));
    };
    method("isSorted", ORDERED, Kind::Bool, is_sorted, "whether no item is larger than the next");
    method("sum", SUMMABLE, Kind::Any, sum, "the sum of numbers or durations");
    method("min", ORDERED, Kind::Any, least, "the smallest item");
    method("max", ORDERED, Kind::Any, greatest, "the largest item");
    let mut place = |name, body, help| {
        functions
            .add(Overload::method(name, &[Kind::List, Kind::Any], Kind::Int, body).cost(tree).help(help));
    };
    place("indexOf", index_of, "where an item is first; -1 for nowhere");
    place("lastIndexOf", last_index_of, "where an item is last; -1 for nowhere");
}

fn list<'v, 'a>(arguments: &'v [Val<'a>], call: &mut Call<'_, 'a>) -> Result<&'v List<'a>, Failure> {
    let Some(Val::List(list)) = arguments.first() else { return Err(Failure::mismatch()) };
    call.work(list.len())?;
    Ok(list)
}

/// Returns the order of two items; none with a NaN.
fn order(a: &Val<'_>, b: &Val<'_>) -> Result<Option<Ordering>, Failure> {
    let is_nan = |value: &Val<'_>| matches!(value, Val::Double(value) if value.is_nan());
    match a.order(b) {
        None if !is_nan(a) && !is_nan(b) => Err(Failure::type_error(format!(
            "no such overload: `{}` and `{}` have no order",
            a.type_name(),
            b.type_name()
        ))),
        order => Ok(order),
    }
}

fn is_sorted<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let mut last: Option<Val<'_>> = None;
    for item in list(arguments, call)?.iter() {
        if order(last.as_ref().unwrap_or(&item), &item)? == Some(Ordering::Greater) {
            return Ok(Val::Bool(false));
        }
        last = Some(item);
    }
    Ok(Val::Bool(true))
}

fn least<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    extreme(list(arguments, call)?, "min", Ordering::Greater)
}

fn greatest<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    extreme(list(arguments, call)?, "max", Ordering::Less)
}

/// Returns the item to which no other is in the order `replaced`.
fn extreme<'a>(list: &List<'a>, name: &str, replaced: Ordering) -> Result<Val<'a>, Failure> {
    let mut items = list.iter();
    let mut found = items.next().ok_or_else(|| Failure::value(format!("{name} called on empty list")))?;
    // An item without an order is none even alone.
    order(&found, &found)?;
    for item in items {
        if order(&found, &item)? == Some(replaced) {
            found = item;
        }
    }
    Ok(found)
}

fn sum<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let mut items = list(arguments, call)?.iter();
    let Some(mut sum) = items.next() else { return Ok(Val::Int(0)) };
    if !matches!(sum, Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::Duration(_)) {
        return Err(Failure::mismatch());
    }
    for item in items {
        sum = match (&sum, &item) {
            (Val::Int(a), Val::Int(b)) => {
                Val::Int(a.checked_add(*b).ok_or_else(|| Failure::value("integer overflow"))?)
            }
            (Val::UInt(a), Val::UInt(b)) => {
                Val::UInt(a.checked_add(*b).ok_or_else(|| Failure::value("unsigned integer overflow"))?)
            }
            (Val::Double(a), Val::Double(b)) => Val::Double(a + b),
            (Val::Duration(a), Val::Duration(b)) => {
                Val::Duration(a.checked_add(*b).ok_or_else(|| Failure::value("duration overflow"))?)
            }
            _ => return Err(Failure::mismatch()),
        };
    }
    Ok(sum)
}

fn index_of<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let list = list(arguments, call)?;
    position(list, arguments.get(1), 0..list.len(), call)
}

fn last_index_of<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let list = list(arguments, call)?;
    position(list, arguments.get(1), (0..list.len()).rev(), call)
}

fn position<'a>(
    list: &List<'a>,
    wanted: Option<&Val<'a>>,
    places: impl Iterator<Item = usize>,
    call: &mut Call<'_, 'a>,
) -> Result<Val<'a>, Failure> {
    let wanted = wanted.ok_or_else(Failure::mismatch)?;
    for place in places {
        if let Some(item) = list.get(place)
            && item.equals(wanted, call.cost)?
        {
            return Ok(Val::Int(i64::try_from(place).unwrap_or(i64::MAX)));
        }
    }
    Ok(Val::Int(-1))
}
