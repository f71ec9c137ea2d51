//! Costs that the API server counts differently from the CEL libraries, and functions it does not have.

use super::CelLibrary;
use crate::environment::MacroSet;
use crate::function::CelFunctions;
use crate::standard::size_of;
use crate::val::{CelKind, Val};

/// The changes, as a library that is added last because it changes the others' functions.
pub(super) const COSTS: CelLibrary = CelLibrary {
    name: "kubernetes costs",
    functions: set_kubernetes_costs,
    macros: MacroSet::NONE,
    types: &[],
};

/// The values of a tree that are counted. A larger tree exceeds every cost limit anyway.
const MAX_COUNTED_VALUES: u64 = 1_000_000;

fn set_kubernetes_costs(functions: &mut CelFunctions) {
    functions.remove("isMask", &[CelKind::Opaque("net.CIDR")]);
    for name in ["indexOf", "lastIndexOf"] {
        functions.set_cost(name, whole_value_cost);
    }
    functions.set_cost("flatten", list_flatten_cost);
}

/// Returns the cost of `flatten`: 11, plus the size of the outer list for each level.
fn list_flatten_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    let levels = arguments.get(1).and_then(Val::as_int).map_or(1, i64::unsigned_abs);
    size_of(arguments, 0).saturating_mul(levels).saturating_add(11)
}

/// Returns the cost of visiting the first argument with all nested values.
pub(super) fn whole_value_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    let mut left = MAX_COUNTED_VALUES;
    arguments.first().map_or(0, |value| count_values(value, &mut left))
}

fn count_values(value: &Val<'_>, left: &mut u64) -> u64 {
    let Some(fewer) = left.checked_sub(1) else { return u64::MAX };
    *left = fewer;
    match value {
        Val::String(text) => text.len() as u64 / 10,
        Val::Bytes(bytes) => bytes.len() as u64 / 10,
        Val::List(list) => {
            let mut sum = 0_u64;
            for item in list.iter() {
                sum = sum.saturating_add(count_values(&item, left));
                if sum == u64::MAX {
                    break;
                }
            }
            sum
        }
        Val::Map(map) => {
            let mut sum = 0_u64;
            for (key, value) in map.iter() {
                sum = sum.saturating_add(count_values(&key, left)).saturating_add(count_values(&value, left));
                if sum == u64::MAX {
                    break;
                }
            }
            sum
        }
        _ => 1,
    }
}
