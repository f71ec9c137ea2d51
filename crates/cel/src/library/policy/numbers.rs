//! Rounding to decimals.

use super::{Library, Macros};
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::val::{Kind, Val};

/// The library of rounding.
pub const NUMBERS: Library = Library { name: "numbers", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("math.round", &[Kind::Double, Kind::Int], Kind::Double, |arguments, _| {
            let [Val::Double(value), Val::Int(decimals)] = arguments else { return Err(Failure::mismatch()) };
            Ok(Val::Double(rounded(*value, *decimals)))
        })
        .help("a number with so many decimals; halves go away from zero"),
    );
}

/// Too many decimals leave no number, as there is none to multiply with.
fn rounded(value: f64, decimals: i64) -> f64 {
    let decimals = i32::try_from(decimals).unwrap_or(if decimals < 0 { i32::MIN } else { i32::MAX });
    // The nearest double of a power of ten is what its digits are read as; multiplying would drift.
    let shift: f64 = match decimals {
        ..=-324 => 0.0,
        309.. => f64::INFINITY,
        _ => format!("1e{decimals}").parse().unwrap_or(f64::NAN),
    };
    (value * shift).round() / shift
}
