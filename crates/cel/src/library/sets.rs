//! Set operations on lists.

use super::CelLibrary;
use crate::cost::CostExceeded;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, ListVal, Val};

/// The library of sets.
pub const SETS: CelLibrary =
    CelLibrary { name: "sets", functions: add_set_functions, macros: MacroSet::NONE, types: &[] };

const TWO: &[CelKind] = &[CelKind::List, CelKind::List];

fn add_set_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("sets.contains", TWO, CelKind::Bool, |arguments, call| {
            let (a, b) = two_list_arguments(arguments)?;
            Ok(Val::Bool(list_contains_all(a, b, call)?))
        })
        .cost(|arguments, _| set_comparison_cost(arguments).saturating_add(1))
        .help("whether the first list has every item of the second"),
    );
    functions.add(
        CelOverload::function("sets.equivalent", TWO, CelKind::Bool, |arguments, call| {
            let (a, b) = two_list_arguments(arguments)?;
            Ok(Val::Bool(list_contains_all(a, b, call)? && list_contains_all(b, a, call)?))
        })
        .cost(|arguments, _| set_comparison_cost(arguments).saturating_mul(2).saturating_add(1))
        .help("whether each list has every item of the other"),
    );
    functions.add(
        CelOverload::function("sets.intersects", TWO, CelKind::Bool, |arguments, call| {
            let (a, b) = two_list_arguments(arguments)?;
            for item in b.iter() {
                if list_contains(a, &item, call)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        })
        .cost(|arguments, _| set_comparison_cost(arguments).saturating_add(1))
        .help("whether the lists have an item in common"),
    );
}

fn two_list_arguments<'v, 'a>(
    arguments: &'v [Val<'a>],
) -> Result<(&'v ListVal<'a>, &'v ListVal<'a>), CelFailure> {
    match arguments {
        [Val::List(a), Val::List(b)] => Ok((a, b)),
        _ => Err(CelFailure::mismatch()),
    }
}

fn set_comparison_cost(arguments: &[Val<'_>]) -> u64 {
    arguments.iter().fold(1, |product: u64, list| product.saturating_mul(list.size()))
}

fn list_contains_all(
    list: &ListVal<'_>,
    wanted: &ListVal<'_>,
    call: &mut CelCallContext<'_, '_>,
) -> Result<bool, CostExceeded> {
    for item in wanted.iter() {
        if !list_contains(list, &item, call)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn list_contains(
    list: &ListVal<'_>,
    wanted: &Val<'_>,
    call: &mut CelCallContext<'_, '_>,
) -> Result<bool, CostExceeded> {
    for item in list.iter() {
        call.work(1)?;
        if item.equals(wanted, call.cost)? {
            return Ok(true);
        }
    }
    Ok(false)
}
