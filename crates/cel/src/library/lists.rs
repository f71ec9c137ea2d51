//! The list functions of the CEL extensions. `sortBy` is a macro.

use std::cmp::Ordering;

use super::CelLibrary;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, ListVal, Val};
use kubewright_value::CompactSort as _;

/// The library of lists.
pub const LISTS: CelLibrary = CelLibrary {
    name: "lists",
    functions: add_list_functions,
    macros: MacroSet { sorting: true, ..MacroSet::NONE },
    types: &[],
};

/// The largest depth of `flatten`.
const MAX_FLATTEN_DEPTH: i64 = 128;

fn add_list_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::method("slice", &[CelKind::List, CelKind::Int, CelKind::Int], CelKind::List, list_slice)
            .cost(made_list_cost)
            .help("the items from one index to before another"),
    );
    functions.add(
        CelOverload::method("flatten", &[CelKind::List], CelKind::List, |arguments, call| match arguments {
            [Val::List(list)] => list_flatten(list, 1, call),
            _ => Err(CelFailure::mismatch()),
        })
        .cost(made_list_cost)
        .help("the items, and in place of each list its items"),
    );
    functions.add(
        CelOverload::method("flatten", &[CelKind::List, CelKind::Int], CelKind::List, |arguments, call| {
            match arguments {
                [Val::List(_), Val::Int(depth)] if *depth < 0 => {
                    Err(CelFailure::value("level must be non-negative"))
                }
                [Val::List(list), Val::Int(depth)] => list_flatten(list, *depth, call),
                _ => Err(CelFailure::mismatch()),
            }
        })
        .cost(made_list_cost)
        .help("the items, and in place of each list its items, so many levels deep"),
    );
    functions.add(
        CelOverload::method("sort", &[CelKind::List], CelKind::List, |arguments, call| {
            let [Val::List(list)] = arguments else { return Err(CelFailure::mismatch()) };
            call.work(list.len().saturating_mul(8))?;
            let mut keyed: Vec<_> = list.iter().map(|item| (item, Val::Null)).collect();
            sort_by_keys(&mut keyed)?;
            Ok(Val::list(keyed.into_iter().map(|(key, _)| key).collect()))
        })
        .cost(list_sort_cost)
        .help("the items in order"),
    );
    functions.add(
        CelOverload::method("distinct", &[CelKind::List], CelKind::List, list_distinct)
            .cost(|arguments, _| pairwise_comparison_cost(arguments))
            .help("the items without those that come again"),
    );
    functions.add(
        CelOverload::method("reverse", &[CelKind::List], CelKind::List, |arguments, call| {
            let [Val::List(list)] = arguments else { return Err(CelFailure::mismatch()) };
            call.make(list.len())?;
            let mut items: Vec<_> = list.iter().collect();
            items.reverse();
            Ok(Val::list(items))
        })
        .cost(made_list_cost)
        .help("the items from the last to the first"),
    );
    functions.add(
        CelOverload::function("lists.range", &[CelKind::Int], CelKind::List, |arguments, call| {
            let [Val::Int(count)] = arguments else { return Err(CelFailure::mismatch()) };
            let Ok(size) = usize::try_from(*count) else {
                return Err(CelFailure::value("lists.range: size must be non-negative"));
            };
            call.make(size)?;
            Ok(Val::list((0..*count).map(Val::Int).collect()))
        })
        .cost(made_list_cost)
        .help("the integers from 0 to before a number"),
    );
}

/// Returns the cost of a call that makes a list: 1 for the call, 10 for the list and 1 for each item.
fn made_list_cost(_: &[Val<'_>], result: &Val<'_>) -> u64 {
    result.size().saturating_add(11)
}

/// Returns the cost of comparing every item with every other, twice; strings cost a little more.
fn pairwise_comparison_cost(arguments: &[Val<'_>]) -> u64 {
    let Some(Val::List(list)) = arguments.first() else { return 1 };
    let pairs = (list.len() as u64).saturating_pow(2);
    let texts = match list.get(0) {
        Some(Val::String(_) | Val::Bytes(_)) => pairs / 10,
        _ => 0,
    };
    pairs.saturating_mul(2).saturating_add(texts).saturating_add(11)
}

/// Returns the cost of sorting, which is 1 for JSON: only lists whose item type is known are charged by size.
fn list_sort_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    match arguments.first() {
        Some(Val::List(ListVal::Made(_))) => pairwise_comparison_cost(arguments),
        _ => 1,
    }
}

fn list_slice<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let [Val::List(list), Val::Int(start), Val::Int(end)] = arguments else {
        return Err(CelFailure::mismatch());
    };
    let bounds = usize::try_from(*start).ok().zip(usize::try_from(*end).ok());
    match bounds.filter(|(start, end)| start <= end && *end <= list.len()) {
        Some((start, end)) => {
            call.make(end - start)?;
            Ok(Val::list((start..end).filter_map(|index| list.get(index)).collect()))
        }
        None => {
            Err(CelFailure::value(format!("cannot slice({start}, {end}), list is length {}", list.len())))
        }
    }
}

fn list_flatten<'a>(
    list: &ListVal<'a>,
    depth: i64,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let mut items = Vec::new();
    flatten_into(&mut items, list, depth.min(MAX_FLATTEN_DEPTH), call)?;
    Ok(Val::list(items))
}

fn flatten_into<'a>(
    items: &mut Vec<Val<'a>>,
    list: &ListVal<'a>,
    depth: i64,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<(), CelFailure> {
    for item in list.iter() {
        call.make(1)?;
        match item {
            Val::List(inner) if depth > 0 => flatten_into(items, &inner, depth - 1, call)?,
            other => items.push(other),
        }
    }
    Ok(())
}

fn list_distinct<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let [Val::List(list)] = arguments else { return Err(CelFailure::mismatch()) };
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

/// Sorts pairs by their first values, which must all have one ordered type.
pub(crate) fn sort_by_keys<'a>(keyed: &mut [(Val<'a>, Val<'a>)]) -> Result<(), CelFailure> {
    let Some(kind) = keyed.first().map(|(key, _)| key.kind()) else { return Ok(()) };
    let orderable = [
        CelKind::Bool,
        CelKind::Int,
        CelKind::UInt,
        CelKind::Double,
        CelKind::String,
        CelKind::Bytes,
        CelKind::Timestamp,
        CelKind::Duration,
    ];
    if !orderable.contains(&kind) {
        return Err(CelFailure::type_error("list elements must be comparable"));
    }
    if keyed.iter().any(|(key, _)| key.kind() != kind) {
        return Err(CelFailure::type_error("list elements must have the same type"));
    }
    keyed.compact_sort_by(|(a, _), (b, _)| match (a, b) {
        // A sort needs a total order, which NaN breaks.
        (Val::Double(a), Val::Double(b)) => a.total_cmp(b),
        _ => a.order(b).unwrap_or(Ordering::Equal),
    });
    Ok(())
}
