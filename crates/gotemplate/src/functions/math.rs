//! Sprig's arithmetic. Integers wrap around, as in Go.

use super::super::call::{Call, Failure, Outcome};
use super::super::item::Item;
use super::super::literal::parse_integer;
use super::arguments::{any, from, int, to_float, to_int};
use super::{Function, Type, function, variadic};

pub(super) const TABLE: &[Function] = &[
    function("int", &[Type::Any], |_, a| Ok(Item::int(to_int(any(a, 0))))),
    function("int64", &[Type::Any], |_, a| Ok(Item::int64(to_int(any(a, 0))))),
    function("float64", &[Type::Any], |_, a| Ok(Item::Float(to_float(any(a, 0))))),
    function("toDecimal", &[Type::Any], |call, a| {
        let text = call.text_of(any(a, 0))?;
        Ok(Item::int64(parse_integer(&text, 8).unwrap_or(0)))
    }),
    function("add1", &[Type::Any], |_, a| Ok(Item::int64(to_int(any(a, 0)).wrapping_add(1)))),
    variadic("add", &[], Type::Any, |_, a| Ok(Item::int64(fold(0, a, i64::wrapping_add)))),
    function("sub", &[Type::Any, Type::Any], |_, a| {
        Ok(Item::int64(to_int(any(a, 0)).wrapping_sub(to_int(any(a, 1)))))
    }),
    variadic("mul", &[Type::Any], Type::Any, |_, a| {
        Ok(Item::int64(fold(to_int(any(a, 0)), from(a, 1), i64::wrapping_mul)))
    }),
    function("div", &[Type::Any, Type::Any], |_, a| divided(a, i64::wrapping_div)),
    function("mod", &[Type::Any, Type::Any], |_, a| divided(a, i64::wrapping_rem)),
    variadic("max", &[Type::Any], Type::Any, maximum),
    variadic("biggest", &[Type::Any], Type::Any, maximum),
    variadic("min", &[Type::Any], Type::Any, |_, a| {
        Ok(Item::int64(fold(to_int(any(a, 0)), from(a, 1), i64::min)))
    }),
    variadic("maxf", &[Type::Any], Type::Any, |_, a| {
        Ok(Item::Float(fold_float(a, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })))
    }),
    variadic("minf", &[Type::Any], Type::Any, |_, a| {
        Ok(Item::Float(fold_float(a, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) })))
    }),
    function("ceil", &[Type::Any], |_, a| Ok(Item::Float(to_float(any(a, 0)).ceil()))),
    function("floor", &[Type::Any], |_, a| Ok(Item::Float(to_float(any(a, 0)).floor()))),
    variadic("round", &[Type::Any, Type::Int], Type::Float, round),
    function("add1f", &[Type::Any], |_, a| exact(to_float(any(a, 0)), &[Item::int(1)], Decimal::add)),
    variadic("addf", &[], Type::Any, |_, a| exact(0.0, a, Decimal::add)),
    variadic("subf", &[Type::Any], Type::Any, |_, a| exact(to_float(any(a, 0)), from(a, 1), Decimal::sub)),
    variadic("mulf", &[Type::Any], Type::Any, |_, a| exact(to_float(any(a, 0)), from(a, 1), Decimal::mul)),
    variadic("divf", &[Type::Any], Type::Any, |_, a| exact(to_float(any(a, 0)), from(a, 1), Decimal::div)),
];

fn fold(start: i64, items: &[Item], combine: fn(i64, i64) -> i64) -> i64 {
    items.iter().map(to_int).fold(start, combine)
}

fn fold_float(items: &[Item], combine: fn(f64, f64) -> f64) -> f64 {
    items.iter().map(to_float).reduce(combine).unwrap_or(0.0)
}

fn maximum(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    Ok(Item::int64(fold(to_int(any(arguments, 0)), from(arguments, 1), i64::max)))
}

fn divided(arguments: &[Item], divide: fn(i64, i64) -> i64) -> Outcome {
    match to_int(any(arguments, 1)) {
        0 => Err("runtime error: integer divide by zero".into()),
        divisor => Ok(Item::int64(divide(to_int(any(arguments, 0)), divisor))),
    }
}

fn round(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let from_here_up = arguments.get(2).map_or(0.5, to_float);
    let power = 10_f64.powf(int(arguments, 1) as f64);
    let scaled = power * to_float(any(arguments, 0));
    let rounded = if scaled.fract() >= from_here_up { scaled.ceil() } else { scaled.floor() };
    Ok(Item::Float(rounded / power))
}

fn exact(start: f64, items: &[Item], combine: fn(Decimal, Decimal) -> Result<Decimal, Failure>) -> Outcome {
    let mut sum = Decimal::new(start)?;
    for item in items {
        sum = combine(sum, Decimal::new(to_float(item))?)?;
    }
    Ok(Item::Float(sum.value()))
}

/// A decimal number: `digits` times ten to the power of `exponent`.
///
/// Doubles are taken as the shortest decimal that names them, so that 0.1 + 0.2 is 0.3.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
    // Used where `digits` cannot hold the exact result.
    rough: Option<f64>,
}

/// As many places as Go's decimal library gives a quotient.
const PLACES: i32 = 16;

impl Decimal {
    fn new(value: f64) -> Result<Self, Failure> {
        if !value.is_finite() {
            return Err(format!("Cannot create a Decimal from {value}").into());
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits = mantissa.replace('.', "").parse().unwrap_or(0);
        let exponent: i32 = exponent.parse().unwrap_or(0);
        Ok(Self { digits, exponent: exponent - i32::try_from(places).unwrap_or(0), rough: None })
    }

    fn value(self) -> f64 {
        self.rough.unwrap_or_else(|| format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(0.0))
    }

    fn rough(value: f64) -> Self {
        Self { digits: 0, exponent: 0, rough: Some(value) }
    }

    fn at(self, exponent: i32) -> Option<i128> {
        let shift = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(shift)?)
    }

    fn add(self, other: Self) -> Result<Self, Failure> {
        let exponent = self.exponent.min(other.exponent);
        let exact =
            self.rough.or(other.rough).is_none().then(|| self.at(exponent)?.checked_add(other.at(exponent)?));
        Ok(match exact.flatten() {
            Some(digits) => Self { digits, exponent, rough: None },
            None => Self::rough(self.value() + other.value()),
        })
    }

    fn sub(self, other: Self) -> Result<Self, Failure> {
        let negative = Self { digits: -other.digits, rough: other.rough.map(|r| -r), ..other };
        self.add(negative)
    }

    fn mul(self, other: Self) -> Result<Self, Failure> {
        let exact = self.rough.or(other.rough).is_none().then(|| self.digits.checked_mul(other.digits));
        Ok(match exact.flatten() {
            Some(digits) => Self { digits, exponent: self.exponent + other.exponent, rough: None },
            None => Self::rough(self.value() * other.value()),
        })
    }

    fn div(self, other: Self) -> Result<Self, Failure> {
        if other.value() == 0.0 {
            return Err("decimal division by 0".into());
        }
        Ok(self.divided(other).unwrap_or_else(|| Self::rough(self.value() / other.value())))
    }

    /// Rounds half away from zero at [`PLACES`] places.
    fn divided(self, other: Self) -> Option<Self> {
        if self.rough.or(other.rough).is_some() {
            return None;
        }
        let shift = self.exponent - other.exponent + PLACES;
        let (top, bottom) = if shift >= 0 {
            (self.digits.checked_mul(10_i128.checked_pow(shift.unsigned_abs())?)?, other.digits)
        } else {
            (self.digits, other.digits.checked_mul(10_i128.checked_pow(shift.unsigned_abs())?)?)
        };
        let (quotient, remainder) = (top.checked_div(bottom)?, top.checked_rem(bottom)?);
        let up = remainder.checked_mul(2)?.unsigned_abs() >= bottom.unsigned_abs();
        let away = if (top < 0) == (bottom < 0) { 1 } else { -1 };
        Some(Self { digits: quotient + if up { away } else { 0 }, exponent: -PLACES, rough: None })
    }
}
