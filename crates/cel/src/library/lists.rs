//! More of lists. `sortBy` is a macro.

use std::cmp::Ordering;

use super::Library;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, List, Val};

/// The library of lists.
pub const LISTS: Library =
    Library { name: "lists", functions: add, macros: Macros { sorting: true, ..Macros::NONE }, types: &[] };

/// How deep lists are flattened at most.
const MAX_DEPTH: i64 = 128;

fn add(functions: &mut Functions) {
    functions.add(
        Overload::method("slice", &[Kind::List, Kind::Int, Kind::Int], Kind::List, slice)
            .cost(made)
            .help("the items from one index to before another"),
    );
    functions.add(
        Overload::method("flatten", &[Kind::List], Kind::List, |arguments, call| match arguments {
            [Val::List(list)] => flatten(list, 1, call),
            _ => Err(Failure::mismatch()),
        })
        .cost(made)
        .help("the items, and in place of each list its items"),
    );
    functions.add(
        Overload::method(
            "flatten",
            &[Kind::List, Kind::Int],
            Kind::List,
            |arguments, call| match arguments {
                [Val::List(_), Val::Int(depth)] if *depth < 0 => {
                    Err(Failure::value("level must be non-negative"))
                }
                [Val::List(list), Val::Int(depth)] => flatten(list, *depth, call),
                _ => Err(Failure::mismatch()),
            },
        )
        .cost(made)
        .help("the items, and in place of each list its items, so many levels deep"),
    );
    functions.add(
        Overload::method("sort", &[Kind::List], Kind::List, |arguments, call| {
            let [Val::List(list)] = arguments else { return Err(Failure::mismatch()) };
            call.work(list.len().saturating_mul(8))?;
            let mut keyed: Vec<_> = list.iter().map(|item| (item, Val::Null)).collect();
            sort(&mut keyed)?;
            Ok(Val::list(keyed.into_iter().map(|(key, _)| key).collect()))
        })
        .cost(sorting)
        .help("the items in order"),
    );
    functions.add(
        Overload::method("distinct", &[Kind::List], Kind::List, distinct)
            .cost(|arguments, _| comparing(arguments))
            .help("the items without those that come again"),
    );
    functions.add(
        Overload::method("reverse", &[Kind::List], Kind::List, |arguments, call| {
            let [Val::List(list)] = arguments else { return Err(Failure::mismatch()) };
            call.make(list.len())?;
            let mut items: Vec<_> = list.iter().collect();
            items.reverse();
            Ok(Val::list(items))
        })
        .cost(made)
        .help("the items from the last to the first"),
    );
    functions.add(
        Overload::function("lists.range", &[Kind::Int], Kind::List, |arguments, call| {
            let [Val::Int(count)] = arguments else { return Err(Failure::mismatch()) };
            let Ok(size) = usize::try_from(*count) else {
                return Err(Failure::value("lists.range: size must be non-negative"));
            };
            call.make(size)?;
            Ok(Val::list((0..*count).map(Val::Int).collect()))
        })
        .cost(made)
        .help("the integers from 0 to before a number"),
    );
}

/// Making a list costs 10 and one for each item, and a call costs 1.
fn made(_: &[Val<'_>], result: &Val<'_>) -> u64 {
    result.size().saturating_add(11)
}

/// Comparing every item with every other, twice, and a little more for texts.
fn comparing(arguments: &[Val<'_>]) -> u64 {
    let Some(Val::List(list)) = arguments.first() else { return 1 };
    let pairs = (list.len() as u64).saturating_pow(2);
    let texts = match list.get(0) {
        Some(Val::String(_) | Val::Bytes(_)) => pairs / 10,
        _ => 0,
    };
    pairs.saturating_mul(2).saturating_add(texts).saturating_add(11)
}

/// Sorting is only charged for where the type of the items is known beforehand, which that of JSON is not.
fn sorting(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    match arguments.first() {
        Some(Val::List(List::Made(_))) => comparing(arguments),
        _ => 1,
    }
}

fn slice<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::List(list), Val::Int(start), Val::Int(end)] = arguments else {
        return Err(Failure::mismatch());
    };
    let bounds = usize::try_from(*start).ok().zip(usize::try_from(*end).ok());
    match bounds.filter(|(start, end)| start <= end && *end <= list.len()) {
        Some((start, end)) => {
            call.make(end - start)?;
            Ok(Val::list((start..end).filter_map(|index| list.get(index)).collect()))
        }
        None => Err(Failure::value(format!("cannot slice({start}, {end}), list is length {}", list.len()))),
    }
}

fn flatten<'a>(list: &List<'a>, depth: i64, call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let mut items = Vec::new();
    flatten_into(&mut items, list, depth.min(MAX_DEPTH), call)?;
    Ok(Val::list(items))
}

fn flatten_into<'a>(
    items: &mut Vec<Val<'a>>,
    list: &List<'a>,
    depth: i64,
    call: &mut Call<'_, 'a>,
) -> Result<(), Failure> {
    for item in list.iter() {
        call.make(1)?;
        match item {
            Val::List(inner) if depth > 0 => flatten_into(items, &inner, depth - 1, call)?,
            other => items.push(other),
        }
    }
    Ok(())
}

fn distinct<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::List(list)] = arguments else { return Err(Failure::mismatch()) };
    let mut kept: Vec<Val<'a>> = Vec::new();
    'items: for item in list.iter() {
        call.work(1 + kept.len())?;
        for known in &kept {
            if known.equals(&item, call.cost)? {
                continue 'items;
            }
        }
        kept.push(item);
    }
    Ok(Val::list(kept))
}

/// Sorts by the first of each pair; they must all be of one type that has an order.
pub(crate) fn sort<'a>(keyed: &mut [(Val<'a>, Val<'a>)]) -> Result<(), Failure> {
    let Some(kind) = keyed.first().map(|(key, _)| key.kind()) else { return Ok(()) };
    let orderable = [
        Kind::Bool,
        Kind::Int,
        Kind::UInt,
        Kind::Double,
        Kind::String,
        Kind::Bytes,
        Kind::Timestamp,
        Kind::Duration,
    ];
    if !orderable.contains(&kind) {
        return Err(Failure::type_error("list elements must be comparable"));
    }
    if keyed.iter().any(|(key, _)| key.kind() != kind) {
        return Err(Failure::type_error("list elements must have the same type"));
    }
    keyed.sort_by(|(a, _), (b, _)| match (a, b) {
        // A sort needs a total order, which NaN breaks.
        (Val::Double(a), Val::Double(b)) => a.total_cmp(b),
        _ => a.order(b).unwrap_or(Ordering::Equal),
    });
    Ok(())
}
