//! Numbers.

use std::cmp::Ordering;

use super::Library;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, Val};

/// The library of numbers.
pub const MATH: Library = Library { name: "math", functions: add, macros: Macros::NONE, types: &[] };

/// Adds a function of one double.
macro_rules! double {
    ($functions:ident: $($name:literal $result:ident $help:literal = $body:expr;)*) => {$(
        $functions.add(
            Overload::function($name, &[Kind::Double], Kind::$result, |arguments, _| match arguments {
                [Val::Double(value)] => {
                    let compute: fn(f64) -> _ = $body;
                    Ok(Val::$result(compute(*value)))
                }
                _ => Err(Failure::mismatch()),
            })
            .help($help),
        );
    )*};
}

fn add(functions: &mut Functions) {
    for (name, body, help) in [
        ("math.greatest", greatest as crate::Body, "the largest of some numbers, or of a list"),
        ("math.least", least, "the smallest of some numbers, or of a list"),
    ] {
        functions.add(
            Overload::function(name, &[Kind::List], Kind::Any, body)
                .cost(|arguments, _| size_of(arguments, 0).saturating_add(1))
                .help(help),
        );
        for one in [&[Kind::Int][..], &[Kind::UInt], &[Kind::Double]] {
            functions.add(Overload::function(name, one, Kind::Any, body).help(help));
        }
        functions
            .add(Overload::function(name, &[Kind::Any, Kind::Any], Kind::Any, body).variadic().help(help));
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
    for one in [&[Kind::Int], &[Kind::UInt], &[Kind::Double]] {
        let kind = one.first().copied().unwrap_or(Kind::Any);
        functions.add(Overload::function("math.abs", one, kind, abs).help("the size of a number"));
        functions.add(Overload::function("math.sign", one, kind, sign).help("-1, 0 or 1"));
        functions.add(Overload::function("math.sqrt", one, Kind::Double, sqrt).help("the square root"));
    }
    bits(functions);
}

fn bits(functions: &mut Functions) {
    for two in [&[Kind::Int, Kind::Int], &[Kind::UInt, Kind::UInt]] {
        let kind = two.first().copied().unwrap_or(Kind::Any);
        functions.add(
            Overload::function("math.bitAnd", two, kind, |arguments, _| bitwise(arguments, |a, b| a & b))
                .help("the bits that both have"),
        );
        functions.add(
            Overload::function("math.bitOr", two, kind, |arguments, _| bitwise(arguments, |a, b| a | b))
                .help("the bits that one of both has"),
        );
        functions.add(
            Overload::function("math.bitXor", two, kind, |arguments, _| bitwise(arguments, |a, b| a ^ b))
                .help("the bits that only one of both has"),
        );
    }
    for one in [&[Kind::Int], &[Kind::UInt]] {
        let kind = one.first().copied().unwrap_or(Kind::Any);
        functions.add(
            Overload::function("math.bitNot", one, kind, |arguments, _| match arguments {
                [Val::Int(value)] => Ok(Val::Int(!value)),
                [Val::UInt(value)] => Ok(Val::UInt(!value)),
                _ => Err(Failure::mismatch()),
            })
            .help("all bits turned around"),
        );
    }
    for two in [&[Kind::Int, Kind::Int], &[Kind::UInt, Kind::Int]] {
        let kind = two.first().copied().unwrap_or(Kind::Any);
        functions.add(
            Overload::function("math.bitShiftLeft", two, kind, |arguments, _| shift(arguments, true))
                .help("the bits moved to the left"),
        );
        functions.add(
            Overload::function("math.bitShiftRight", two, kind, |arguments, _| shift(arguments, false))
                .help("the bits moved to the right, zeros coming in"),
        );
    }
}

fn greatest<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    extreme(arguments, Ordering::Greater)
}

fn least<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    extreme(arguments, Ordering::Less)
}

fn extreme<'a>(arguments: &[Val<'a>], wanted: Ordering) -> Result<Val<'a>, Failure> {
    let items: Vec<Val<'a>> = match arguments {
        [Val::List(list)] => list.iter().collect(),
        all => all.to_vec(),
    };
    let mut items = items.into_iter();
    let is_number = |value: &Val<'_>| matches!(value, Val::Int(_) | Val::UInt(_) | Val::Double(_));
    let mut best = items.next().ok_or_else(|| Failure::value("the list is empty"))?;
    if !is_number(&best) {
        return Err(Failure::mismatch());
    }
    for item in items {
        if !is_number(&item) {
            return Err(Failure::mismatch());
        }
        if item.order(&best) == Some(wanted) {
            best = item;
        }
    }
    Ok(best)
}

fn abs<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Int(value)] => {
            value.checked_abs().map(Val::Int).ok_or_else(|| Failure::value("integer overflow"))
        }
        [Val::UInt(value)] => Ok(Val::UInt(*value)),
        [Val::Double(value)] => Ok(Val::Double(value.abs())),
        _ => Err(Failure::mismatch()),
    }
}

fn sign<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Int(value)] => Ok(Val::Int(value.signum())),
        [Val::UInt(value)] => Ok(Val::UInt((*value).min(1))),
        [Val::Double(value)] if value.is_nan() || *value == 0.0 => Ok(Val::Double(*value)),
        [Val::Double(value)] => Ok(Val::Double(value.signum())),
        _ => Err(Failure::mismatch()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the root of the nearest double is what is asked for")]
fn sqrt<'a>(arguments: &[Val<'a>], _: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Int(value)] => Ok(Val::Double((*value as f64).sqrt())),
        [Val::UInt(value)] => Ok(Val::Double((*value as f64).sqrt())),
        [Val::Double(value)] => Ok(Val::Double(value.sqrt())),
        _ => Err(Failure::mismatch()),
    }
}

fn bitwise<'a>(arguments: &[Val<'a>], compute: fn(u64, u64) -> u64) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::Int(a), Val::Int(b)] => {
            Ok(Val::Int(compute(a.cast_unsigned(), b.cast_unsigned()).cast_signed()))
        }
        [Val::UInt(a), Val::UInt(b)] => Ok(Val::UInt(compute(*a, *b))),
        _ => Err(Failure::mismatch()),
    }
}

/// Moves bits; a sign is a bit like others.
fn shift<'a>(arguments: &[Val<'a>], is_left: bool) -> Result<Val<'a>, Failure> {
    let (bits, by) = match arguments {
        [Val::Int(value), Val::Int(by)] => (value.cast_unsigned(), *by),
        [Val::UInt(value), Val::Int(by)] => (*value, *by),
        _ => return Err(Failure::mismatch()),
    };
    if by < 0 {
        return Err(Failure::value("bits cannot be moved by a negative number"));
    }
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    let moved = if is_left { bits.checked_shl(by) } else { bits.checked_shr(by) }.unwrap_or(0);
    Ok(match arguments {
        [Val::Int(_), _] => Val::Int(moved.cast_signed()),
        _ => Val::UInt(moved),
    })
}
