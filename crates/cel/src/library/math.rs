//! The `math` functions.

use std::cmp::Ordering;

use super::CelLibrary;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, Val};

/// The library of `math` functions.
pub const MATH: CelLibrary =
    CelLibrary { name: "math", functions: add_math_functions, macros: MacroSet::NONE, types: &[] };

/// Adds a function of one double.
macro_rules! double {
    ($functions:ident: $($name:literal $result:ident $help:literal = $body:expr;)*) => {$(
        $functions.add(
            CelOverload::function($name, &[CelKind::Double], CelKind::$result, |arguments, _| match arguments {
                [Val::Double(value)] => {
                    let compute: fn(f64) -> _ = $body;
                    Ok(Val::$result(compute(*value)))
                }
                _ => Err(CelFailure::mismatch()),
            })
            .help($help),
        );
    )*};
}

fn add_math_functions(functions: &mut CelFunctions) {
    for (name, body, help) in [
        (
            "math.greatest",
            math_greatest as crate::CelFunctionBody,
            "the largest of some numbers, or of a list",
        ),
        ("math.least", math_least, "the smallest of some numbers, or of a list"),
    ] {
        functions.add(
            CelOverload::function(name, &[CelKind::List], CelKind::Any, body)
                .cost(|arguments, _| size_of(arguments, 0).saturating_add(1))
                .help(help),
        );
        for one in [&[CelKind::Int][..], &[CelKind::UInt], &[CelKind::Double]] {
            functions.add(CelOverload::function(name, one, CelKind::Any, body).help(help));
        }
        functions.add(
            CelOverload::function(name, &[CelKind::Any, CelKind::Any], CelKind::Any, body)
                .variadic()
                .help(help),
        );
    }
    double! { functions:
        "math.ceil" Double "the next whole number above" = f64::ceil;
        "math.floor" Double "the next whole number below" = f64::floor;
        "math.round" Double "the nearest whole number, away from zero in the middle" = f64::round;
        "math.trunc" Double "the whole part" = f64::trunc;
        "math.isInf" Bool "whether a number is infinite" = f64::is_infinite;
        "math.isNaN" Bool "whether a number is NaN" = f64::is_nan;
        "math.isFinite" Bool "whether a number is neither infinite nor NaN" = f64::is_finite;
    }
    for one in [&[CelKind::Int], &[CelKind::UInt], &[CelKind::Double]] {
        let kind = one.first().copied().unwrap_or(CelKind::Any);
        functions.add(CelOverload::function("math.abs", one, kind, math_abs).help("the size of a number"));
        functions.add(CelOverload::function("math.sign", one, kind, math_sign).help("-1, 0 or 1"));
        functions
            .add(CelOverload::function("math.sqrt", one, CelKind::Double, math_sqrt).help("the square root"));
    }
    add_bit_functions(functions);
}

fn add_bit_functions(functions: &mut CelFunctions) {
    for two in [&[CelKind::Int, CelKind::Int], &[CelKind::UInt, CelKind::UInt]] {
        let kind = two.first().copied().unwrap_or(CelKind::Any);
        functions.add(
            CelOverload::function("math.bitAnd", two, kind, |arguments, _| {
                compute_bits(arguments, |a, b| a & b)
            })
            .help("the bits that both have"),
        );
        functions.add(
            CelOverload::function("math.bitOr", two, kind, |arguments, _| {
                compute_bits(arguments, |a, b| a | b)
            })
            .help("the bits that one of both has"),
        );
        functions.add(
            CelOverload::function("math.bitXor", two, kind, |arguments, _| {
                compute_bits(arguments, |a, b| a ^ b)
            })
            .help("the bits that only one of both has"),
        );
    }
    for one in [&[CelKind::Int], &[CelKind::UInt]] {
        let kind = one.first().copied().unwrap_or(CelKind::Any);
        functions.add(
            CelOverload::function("math.bitNot", one, kind, |arguments, _| match arguments {
                [Val::Int(value)] => Ok(Val::Int(!value)),
                [Val::UInt(value)] => Ok(Val::UInt(!value)),
                _ => Err(CelFailure::mismatch()),
            })
            .help("all bits turned around"),
        );
    }
    for two in [&[CelKind::Int, CelKind::Int], &[CelKind::UInt, CelKind::Int]] {
        let kind = two.first().copied().unwrap_or(CelKind::Any);
        functions.add(
            CelOverload::function("math.bitShiftLeft", two, kind, |arguments, _| shift_bits(arguments, true))
                .help("the bits moved to the left"),
        );
        functions.add(
            CelOverload::function("math.bitShiftRight", two, kind, |arguments, _| {
                shift_bits(arguments, false)
            })
            .help("the bits moved to the right, zeros coming in"),
        );
    }
}

fn math_greatest<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    find_extreme_number(arguments, Ordering::Greater)
}

fn math_least<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    find_extreme_number(arguments, Ordering::Less)
}

fn find_extreme_number<'a>(arguments: &[Val<'a>], wanted: Ordering) -> Result<Val<'a>, CelFailure> {
    let items: Vec<Val<'a>> = match arguments {
        [Val::List(list)] => list.iter().collect(),
        all => all.to_vec(),
    };
    let mut items = items.into_iter();
    let is_number = |value: &Val<'_>| matches!(value, Val::Int(_) | Val::UInt(_) | Val::Double(_));
    let mut best = items.next().ok_or_else(|| CelFailure::value("the list is empty"))?;
    if !is_number(&best) {
        return Err(CelFailure::mismatch());
    }
    for item in items {
        if !is_number(&item) {
            return Err(CelFailure::mismatch());
        }
        if item.order(&best) == Some(wanted) {
            best = item;
        }
    }
    Ok(best)
}

fn math_abs<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Int(value)] => {
            value.checked_abs().map(Val::Int).ok_or_else(|| CelFailure::value("integer overflow"))
        }
        [Val::UInt(value)] => Ok(Val::UInt(*value)),
        [Val::Double(value)] => Ok(Val::Double(value.abs())),
        _ => Err(CelFailure::mismatch()),
    }
}

fn math_sign<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Int(value)] => Ok(Val::Int(value.signum())),
        [Val::UInt(value)] => Ok(Val::UInt((*value).min(1))),
        [Val::Double(value)] if value.is_nan() || *value == 0.0 => Ok(Val::Double(*value)),
        [Val::Double(value)] => Ok(Val::Double(value.signum())),
        _ => Err(CelFailure::mismatch()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the root of the nearest double is wanted")]
fn math_sqrt<'a>(arguments: &[Val<'a>], _: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Int(value)] => Ok(Val::Double((*value as f64).sqrt())),
        [Val::UInt(value)] => Ok(Val::Double((*value as f64).sqrt())),
        [Val::Double(value)] => Ok(Val::Double(value.sqrt())),
        _ => Err(CelFailure::mismatch()),
    }
}

fn compute_bits<'a>(arguments: &[Val<'a>], compute: fn(u64, u64) -> u64) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::Int(a), Val::Int(b)] => {
            Ok(Val::Int(compute(a.cast_unsigned(), b.cast_unsigned()).cast_signed()))
        }
        [Val::UInt(a), Val::UInt(b)] => Ok(Val::UInt(compute(*a, *b))),
        _ => Err(CelFailure::mismatch()),
    }
}

/// Shifts bits. The sign bit is shifted like the others.
fn shift_bits<'a>(arguments: &[Val<'a>], is_left: bool) -> Result<Val<'a>, CelFailure> {
    let (bits, by) = match arguments {
        [Val::Int(value), Val::Int(by)] => (value.cast_unsigned(), *by),
        [Val::UInt(value), Val::Int(by)] => (*value, *by),
        _ => return Err(CelFailure::mismatch()),
    };
    if by < 0 {
        return Err(CelFailure::value("bits cannot be moved by a negative number"));
    }
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    let moved = if is_left { bits.checked_shl(by) } else { bits.checked_shr(by) }.unwrap_or(0);
    Ok(match arguments {
        [Val::Int(_), _] => Val::Int(moved.cast_signed()),
        _ => Val::UInt(moved),
    })
}
