//! Where the API server counts otherwise than the language, and what it leaves out.

use super::Library;
use crate::environment::Macros;
use crate::function::Functions;
use crate::standard::size_of;
use crate::val::{Kind, Val};

/// Added last, since it changes what the others added.
pub(super) const COSTS: Library =
    Library { name: "kubernetes costs", functions: change, macros: Macros::NONE, types: &[] };

/// How many values of a tree are looked at; a larger one costs more than anything may.
const MOST_VALUES: u64 = 1_000_000;

fn change(functions: &mut Functions) {
    functions.remove("isMask", &[Kind::Opaque("net.CIDR")]);
    for name in ["indexOf", "lastIndexOf"] {
        functions.set_cost(name, tree);
    }
    functions.set_cost("flatten", flatten);
}

/// Returns 11 and the size of the list for each level, however large the lists in it are.
fn flatten(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    let levels = arguments.get(1).and_then(Val::as_int).map_or(1, i64::unsigned_abs);
    size_of(arguments, 0).saturating_mul(levels).saturating_add(11)
}

/// Returns what going through the first argument with everything in it costs.
pub(super) fn tree(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    let mut left = MOST_VALUES;
    arguments.first().map_or(0, |value| through(value, &mut left))
}

fn through(value: &Val<'_>, left: &mut u64) -> u64 {
    let Some(fewer) = left.checked_sub(1) else { return u64::MAX };
    *left = fewer;
    match value {
        Val::String(text) => text.len() as u64 / 10,
        Val::Bytes(bytes) => bytes.len() as u64 / 10,
        Val::List(list) => {
            let mut sum = 0_u64;
            for item in list.iter() {
                sum = sum.saturating_add(through(&item, left));
                if sum == u64::MAX {
                    break;
                }
            }
            sum
        }
        Val::Map(map) => {
            let mut sum = 0_u64;
            for (key, value) in map.iter() {
                sum = sum.saturating_add(through(&key, left)).saturating_add(through(&value, left));
                if sum == u64::MAX {
                    break;
                }
            }
            sum
        }
        _ => 1,
    }
}
