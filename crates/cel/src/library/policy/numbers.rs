//! `math.round` to a number of decimals.

use super::{CelLibrary, MacroSet};
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of `math.round`.
pub const NUMBERS: CelLibrary =
    CelLibrary { name: "numbers", functions: add_number_functions, macros: MacroSet::NONE, types: &[] };

fn add_number_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function(
            "math.round",
            &[CelKind::Double, CelKind::Int],
            CelKind::Double,
            |arguments, _| {
                let [Val::Double(value), Val::Int(decimals)] = arguments else {
                    return Err(CelFailure::mismatch());
                };
                Ok(Val::Double(round_decimals(*value, *decimals)))
            },
        )
        .help("a number rounded to so many decimals; halves round away from zero"),
    );
}

/// Rounds to `decimals`. Too many give NaN, since the power of ten overflows.
fn round_decimals(value: f64, decimals: i64) -> f64 {
    let decimals = i32::try_from(decimals).unwrap_or(if decimals < 0 { i32::MIN } else { i32::MAX });
    // The power of ten is parsed from its digits, which gives the nearest double; repeated multiplying would drift.
    let shift: f64 = match decimals {
        ..=-324 => 0.0,
        309.. => f64::INFINITY,
        _ => format!("1e{decimals}").parse().unwrap_or(f64::NAN),
    };
    (value * shift).round() / shift
}
