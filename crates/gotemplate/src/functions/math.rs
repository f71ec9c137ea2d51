//! Sprig's arithmetic. Integers wrap around, as in Go.

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::TemplateItem;
use super::super::literal::parse_integer;
use super::arguments::{argument_or_nil, arguments_from, int_argument, item_to_float, item_to_int};
use super::{ParameterType, TemplateFunction, fixed_function, variadic_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("int", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::int(item_to_int(argument_or_nil(a, 0))))
    }),
    fixed_function("int64", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::int64(item_to_int(argument_or_nil(a, 0))))
    }),
    fixed_function("float64", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::Float(item_to_float(argument_or_nil(a, 0))))
    }),
    fixed_function("toDecimal", &[ParameterType::Any], |call, a| {
        let text = call.text_of(argument_or_nil(a, 0))?;
        Ok(TemplateItem::int64(parse_integer(&text, 8).unwrap_or(0)))
    }),
    fixed_function("add1", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::int64(item_to_int(argument_or_nil(a, 0)).wrapping_add(1)))
    }),
    variadic_function("add", &[], ParameterType::Any, |_, a| {
        Ok(TemplateItem::int64(fold_integers(0, a, i64::wrapping_add)))
    }),
    fixed_function("sub", &[ParameterType::Any, ParameterType::Any], |_, a| {
        Ok(TemplateItem::int64(
            item_to_int(argument_or_nil(a, 0)).wrapping_sub(item_to_int(argument_or_nil(a, 1))),
        ))
    }),
    variadic_function("mul", &[ParameterType::Any], ParameterType::Any, |_, a| {
        Ok(TemplateItem::int64(fold_integers(
            item_to_int(argument_or_nil(a, 0)),
            arguments_from(a, 1),
            i64::wrapping_mul,
        )))
    }),
    fixed_function("div", &[ParameterType::Any, ParameterType::Any], |_, a| {
        divide_integers(a, i64::wrapping_div)
    }),
    fixed_function("mod", &[ParameterType::Any, ParameterType::Any], |_, a| {
        divide_integers(a, i64::wrapping_rem)
    }),
    variadic_function("max", &[ParameterType::Any], ParameterType::Any, maximum),
    variadic_function("biggest", &[ParameterType::Any], ParameterType::Any, maximum),
    variadic_function("min", &[ParameterType::Any], ParameterType::Any, |_, a| {
        Ok(TemplateItem::int64(fold_integers(
            item_to_int(argument_or_nil(a, 0)),
            arguments_from(a, 1),
            i64::min,
        )))
    }),
    variadic_function("maxf", &[ParameterType::Any], ParameterType::Any, |_, a| {
        Ok(TemplateItem::Float(fold_float(
            a,
            |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) },
        )))
    }),
    variadic_function("minf", &[ParameterType::Any], ParameterType::Any, |_, a| {
        Ok(TemplateItem::Float(fold_float(
            a,
            |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) },
        )))
    }),
    fixed_function("ceil", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::Float(item_to_float(argument_or_nil(a, 0)).ceil()))
    }),
    fixed_function("floor", &[ParameterType::Any], |_, a| {
        Ok(TemplateItem::Float(item_to_float(argument_or_nil(a, 0)).floor()))
    }),
    variadic_function("round", &[ParameterType::Any, ParameterType::Int], ParameterType::Float, sprig_round),
    fixed_function("add1f", &[ParameterType::Any], |_, a| {
        fold_decimals(item_to_float(argument_or_nil(a, 0)), &[TemplateItem::int(1)], ExactDecimal::add)
    }),
    variadic_function("addf", &[], ParameterType::Any, |_, a| fold_decimals(0.0, a, ExactDecimal::add)),
    variadic_function("subf", &[ParameterType::Any], ParameterType::Any, |_, a| {
        fold_decimals(item_to_float(argument_or_nil(a, 0)), arguments_from(a, 1), ExactDecimal::sub)
    }),
    variadic_function("mulf", &[ParameterType::Any], ParameterType::Any, |_, a| {
        fold_decimals(item_to_float(argument_or_nil(a, 0)), arguments_from(a, 1), ExactDecimal::mul)
    }),
    variadic_function("divf", &[ParameterType::Any], ParameterType::Any, |_, a| {
        fold_decimals(item_to_float(argument_or_nil(a, 0)), arguments_from(a, 1), ExactDecimal::div)
    }),
];

fn fold_integers(start: i64, items: &[TemplateItem], combine: fn(i64, i64) -> i64) -> i64 {
    items.iter().map(item_to_int).fold(start, combine)
}

fn fold_float(items: &[TemplateItem], combine: fn(f64, f64) -> f64) -> f64 {
    items.iter().map(item_to_float).reduce(combine).unwrap_or(0.0)
}

fn maximum(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    Ok(TemplateItem::int64(fold_integers(
        item_to_int(argument_or_nil(arguments, 0)),
        arguments_from(arguments, 1),
        i64::max,
    )))
}

fn divide_integers(arguments: &[TemplateItem], divide: fn(i64, i64) -> i64) -> CallResult {
    match item_to_int(argument_or_nil(arguments, 1)) {
        0 => Err("runtime error: integer divide by zero".into()),
        divisor => Ok(TemplateItem::int64(divide(item_to_int(argument_or_nil(arguments, 0)), divisor))),
    }
}

fn sprig_round(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let from_here_up = arguments.get(2).map_or(0.5, item_to_float);
    let power = 10_f64.powf(int_argument(arguments, 1) as f64);
    let scaled = power * item_to_float(argument_or_nil(arguments, 0));
    let rounded = if scaled.fract() >= from_here_up { scaled.ceil() } else { scaled.floor() };
    Ok(TemplateItem::Float(rounded / power))
}

fn fold_decimals(
    start: f64,
    items: &[TemplateItem],
    combine: fn(ExactDecimal, ExactDecimal) -> Result<ExactDecimal, CallFailure>,
) -> CallResult {
    let mut sum = ExactDecimal::new(start)?;
    for item in items {
        sum = combine(sum, ExactDecimal::new(item_to_float(item))?)?;
    }
    Ok(TemplateItem::Float(sum.value()))
}

/// A decimal number: `digits` times ten to the power of `exponent`.
///
/// Doubles are taken as the shortest decimal that names them, so that 0.1 + 0.2 is 0.3.
#[derive(Clone, Copy)]
struct ExactDecimal {
    digits: i128,
    exponent: i32,
    // Used where `digits` cannot hold the exact result.
    rough: Option<f64>,
}

/// As many places as Go's decimal library gives a quotient.
const DIVISION_DIGITS: i32 = 16;

impl ExactDecimal {
    fn new(value: f64) -> Result<Self, CallFailure> {
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

    fn add(self, other: Self) -> Result<Self, CallFailure> {
        let exponent = self.exponent.min(other.exponent);
        let exact =
            self.rough.or(other.rough).is_none().then(|| self.at(exponent)?.checked_add(other.at(exponent)?));
        Ok(match exact.flatten() {
            Some(digits) => Self { digits, exponent, rough: None },
            None => Self::rough(self.value() + other.value()),
        })
    }

    fn sub(self, other: Self) -> Result<Self, CallFailure> {
        let negative = Self { digits: -other.digits, rough: other.rough.map(|r| -r), ..other };
        self.add(negative)
    }

    fn mul(self, other: Self) -> Result<Self, CallFailure> {
        let exact = self.rough.or(other.rough).is_none().then(|| self.digits.checked_mul(other.digits));
        Ok(match exact.flatten() {
            Some(digits) => Self { digits, exponent: self.exponent + other.exponent, rough: None },
            None => Self::rough(self.value() * other.value()),
        })
    }

    fn div(self, other: Self) -> Result<Self, CallFailure> {
        if other.value() == 0.0 {
            return Err("decimal division by 0".into());
        }
        Ok(self.divided(other).unwrap_or_else(|| Self::rough(self.value() / other.value())))
    }

    /// Rounds half away from zero at [`DIVISION_DIGITS`] places.
    fn divided(self, other: Self) -> Option<Self> {
        if self.rough.or(other.rough).is_some() {
            return None;
        }
        let shift = self.exponent - other.exponent + DIVISION_DIGITS;
        let (top, bottom) = if shift >= 0 {
            (self.digits.checked_mul(10_i128.checked_pow(shift.unsigned_abs())?)?, other.digits)
        } else {
            (self.digits, other.digits.checked_mul(10_i128.checked_pow(shift.unsigned_abs())?)?)
        };
        let (quotient, remainder) = (top.checked_div(bottom)?, top.checked_rem(bottom)?);
        let up = remainder.checked_mul(2)?.unsigned_abs() >= bottom.unsigned_abs();
        let away = if (top < 0) == (bottom < 0) { 1 } else { -1 };
        Some(Self { digits: quotient + if up { away } else { 0 }, exponent: -DIVISION_DIGITS, rough: None })
    }
}
