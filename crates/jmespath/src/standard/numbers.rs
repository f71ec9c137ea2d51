//! Arithmetic. Integers stay exact as long as they fit.

use kubewright_value::{Budget, Number, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const ONE: &[Accepts] = &[Accepts::NUMBER];
const MANY: &[Accepts] = &[Accepts::NUMBERS];

pub(super) const TABLE: &[Builtin] = &[
    builtin("abs", ONE, "number", "the number without its sign", abs),
    builtin("ceil", ONE, "number", "the next integer up", |arguments, _| Ok(rounded(arguments, f64::ceil))),
    builtin("floor", ONE, "number", "the next integer down", |arguments, _| {
        Ok(rounded(arguments, f64::floor))
    }),
    builtin("sum", MANY, "number", "the sum of the numbers; 0 for none", |arguments, budget| {
        total(arguments, budget).map(Value::from)
    }),
    builtin("avg", MANY, "number", "the average of the numbers; null for none", avg),
];

fn abs(arguments: &[Argument<'_>], _: &mut Budget) -> Result<Value, Failure> {
    Ok(match first(arguments) {
        Number::Int(int) => Value::from(int.unsigned_abs()),
        Number::UInt(int) => Value::from(int),
        Number::Float(float) => Value::from(float.abs()),
    })
}

fn avg(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let count = arguments.first().map_or(0, |numbers| numbers.items().len());
    if count == 0 {
        return Ok(Value::Null);
    }
    #[expect(clippy::cast_precision_loss, reason = "no list is that long")]
    let average = total(arguments, budget)?.as_f64() / count as f64;
    Ok(Value::from(Number::Float(average).normalized()))
}

fn rounded(arguments: &[Argument<'_>], round: fn(f64) -> f64) -> Value {
    match first(arguments) {
        Number::Float(float) => Value::from(Number::Float(round(float)).normalized()),
        whole => Value::from(whole),
    }
}

/// Adds integers apart from the others, so that they stay exact.
fn total(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Number, Failure> {
    let (mut whole, mut rest) = (0_i128, None);
    for number in arguments.iter().flat_map(Argument::items).filter_map(Value::as_number) {
        budget.step(1)?;
        match number {
            Number::Int(int) => whole = whole.saturating_add(i128::from(int)),
            Number::UInt(int) => whole = whole.saturating_add(i128::from(int)),
            Number::Float(float) => rest = Some(rest.unwrap_or(0.0) + float),
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "it is what a double can hold")]
    let sum = match (rest, i64::try_from(whole), u64::try_from(whole)) {
        (None, Ok(int), _) => Number::from(int),
        (None, _, Ok(int)) => Number::from(int),
        (rest, ..) => Number::Float(whole as f64 + rest.unwrap_or(0.0)),
    };
    finite(sum)
}

fn finite(number: Number) -> Result<Number, Failure> {
    match number {
        Number::Float(float) if !float.is_finite() => Err(Failure::wrong_value("the sum is too large")),
        number => Ok(number),
    }
}

fn first(arguments: &[Argument<'_>]) -> Number {
    arguments.first().map_or(Number::Int(0), Argument::number)
}
