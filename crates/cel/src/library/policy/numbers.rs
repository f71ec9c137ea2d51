//! Rounding to decimals.

use super::{CelLibrary, MacroSet};
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of rounding.
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
        .help("a number with so many decimals; halves go away from zero"),
    );
}

/// Too many decimals leave no number, as there is none to multiply with.
fn round_decimals(value: f64, decimals: i64) -> f64 {
    let decimals = i32::try_from(decimals).unwrap_or(if decimals < 0 { i32::MIN } else { i32::MAX });
    // The nearest double of a power of ten is what its digits are read as; multiplying would drift.
    let shift: f64 = match decimals {
        ..=-324 => 0.0,
        309.. => f64::INFINITY,
        _ => format!("1e{decimals}").parse().unwrap_or(f64::NAN),
    };
    (value * shift).round() / shift
}
