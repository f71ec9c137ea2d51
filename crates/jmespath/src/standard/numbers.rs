//! Arithmetic. Integers stay exact as long as they fit.

use kubewright_value::{Budget, Number, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

const ONE_NUMBER: &[ArgumentTypes] = &[ArgumentTypes::NUMBER];
const NUMBER_ARRAY: &[ArgumentTypes] = &[ArgumentTypes::NUMBERS];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin("abs", ONE_NUMBER, "number", "the number without its sign", call_abs),
    define_builtin("ceil", ONE_NUMBER, "number", "the next integer up", |arguments, _| {
        Ok(round_argument(arguments, f64::ceil))
    }),
    define_builtin("floor", ONE_NUMBER, "number", "the next integer down", |arguments, _| {
        Ok(round_argument(arguments, f64::floor))
    }),
    define_builtin(
        "sum",
        NUMBER_ARRAY,
        "number",
        "the sum of the numbers; 0 for none",
        |arguments, budget| sum_numbers(arguments, budget).map(Value::from),
    ),
    define_builtin("avg", NUMBER_ARRAY, "number", "the average of the numbers; null for none", call_avg),
];

fn call_abs(arguments: &[JmesPathArgument<'_>], _: &mut Budget) -> Result<Value, JmesPathFailure> {
    Ok(match number_argument(arguments) {
        Number::Int(int) => Value::from(int.unsigned_abs()),
        Number::UInt(int) => Value::from(int),
        Number::Float(float) => Value::from(float.abs()),
    })
}

fn call_avg(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let count = arguments.first().map_or(0, |numbers| numbers.items().len());
    if count == 0 {
        return Ok(Value::Null);
    }
    #[expect(clippy::cast_precision_loss, reason = "no list is that long")]
    let average = sum_numbers(arguments, budget)?.as_f64() / count as f64;
    Ok(Value::from(Number::Float(average).normalized()))
}

fn round_argument(arguments: &[JmesPathArgument<'_>], round: fn(f64) -> f64) -> Value {
    match number_argument(arguments) {
        Number::Float(float) => Value::from(Number::Float(round(float)).normalized()),
        whole => Value::from(whole),
    }
}

/// Sums integers separately from doubles, so that they stay exact.
fn sum_numbers(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Number, JmesPathFailure> {
    let (mut whole, mut rest) = (0_i128, None);
    for number in arguments.iter().flat_map(JmesPathArgument::items).filter_map(Value::as_number) {
        budget.step(1)?;
        match number {
            Number::Int(int) => whole = whole.saturating_add(i128::from(int)),
            Number::UInt(int) => whole = whole.saturating_add(i128::from(int)),
            Number::Float(float) => rest = Some(rest.unwrap_or(0.0) + float),
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
    let sum = match (rest, i64::try_from(whole), u64::try_from(whole)) {
        (None, Ok(int), _) => Number::from(int),
        (None, _, Ok(int)) => Number::from(int),
        (rest, ..) => Number::Float(whole as f64 + rest.unwrap_or(0.0)),
    };
    finite_number(sum)
}

fn finite_number(number: Number) -> Result<Number, JmesPathFailure> {
    match number {
        Number::Float(float) if !float.is_finite() => {
            Err(JmesPathFailure::wrong_value("the sum is too large"))
        }
        number => Ok(number),
    }
}

fn number_argument(arguments: &[JmesPathArgument<'_>]) -> Number {
    arguments.first().map_or(Number::Int(0), JmesPathArgument::number)
}
