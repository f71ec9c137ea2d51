//! Lists seen as sets.

use super::Library;
use crate::cost::Exceeded;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, List, Val};

/// The library of sets.
pub const SETS: Library = Library { name: "sets", functions: add, macros: Macros::NONE, types: &[] };

const TWO: &[Kind] = &[Kind::List, Kind::List];

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("sets.contains", TWO, Kind::Bool, |arguments, call| {
            let (a, b) = lists(arguments)?;
            Ok(Val::Bool(has_all(a, b, call)?))
        })
        .cost(|arguments, _| pairs(arguments).saturating_add(1))
        .help("whether the first list has every item of the second"),
    );
    functions.add(
        Overload::function("sets.equivalent", TWO, Kind::Bool, |arguments, call| {
            let (a, b) = lists(arguments)?;
            Ok(Val::Bool(has_all(a, b, call)? && has_all(b, a, call)?))
        })
        .cost(|arguments, _| pairs(arguments).saturating_mul(2).saturating_add(1))
        .help("whether each list has every item of the other"),
    );
    functions.add(
        Overload::function("sets.intersects", TWO, Kind::Bool, |arguments, call| {
            let (a, b) = lists(arguments)?;
            for item in b.iter() {
                if has(a, &item, call)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        })
        .cost(|arguments, _| pairs(arguments).saturating_add(1))
        .help("whether the lists have an item in common"),
    );
}

fn lists<'v, 'a>(arguments: &'v [Val<'a>]) -> Result<(&'v List<'a>, &'v List<'a>), Failure> {
    match arguments {
        [Val::List(a), Val::List(b)] => Ok((a, b)),
        _ => Err(Failure::mismatch()),
    }
}

fn pairs(arguments: &[Val<'_>]) -> u64 {
    arguments.iter().fold(1, |product: u64, list| product.saturating_mul(list.size()))
}

fn has_all(list: &List<'_>, wanted: &List<'_>, call: &mut Call<'_, '_>) -> Result<bool, Exceeded> {
    for item in wanted.iter() {
        if !has(list, &item, call)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has(list: &List<'_>, wanted: &Val<'_>, call: &mut Call<'_, '_>) -> Result<bool, Exceeded> {
    for item in list.iter() {
        call.work(1)?;
        if item.equals(wanted, call.cost)? {
            return Ok(true);
        }
    }
    Ok(false)
}
