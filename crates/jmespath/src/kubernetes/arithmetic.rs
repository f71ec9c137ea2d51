//! Arithmetic with numbers, quantities and durations. Integers stay exact as long as they fit.

use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;
use kubewright_value::{Budget, Number, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};
use super::integer;
use super::operand::Operand;

const TWO: &[Accepts] = &[Accepts::ANY, Accepts::ANY];

pub(super) const TABLE: &[Builtin] = &[
    builtin(
        "add",
        TWO,
        "number|string",
        "the sum of two numbers, quantities or durations",
        |arguments, budget| operate(arguments, budget, add),
    ),
    builtin(
        "subtract",
        TWO,
        "number|string",
        "the difference of two numbers, quantities or durations",
        |arguments, budget| operate(arguments, budget, subtract),
    ),
    builtin(
        "multiply",
        TWO,
        "number|string",
        "the product of two numbers, or of a number and a quantity or duration",
        |arguments, budget| operate(arguments, budget, multiply),
    ),
    builtin(
        "divide",
        TWO,
        "number|string",
        "the quotient of two of a kind, or of a quantity or duration and a number",
        |arguments, budget| operate(arguments, budget, divide),
    ),
    builtin(
        "modulo",
        TWO,
        "number|string",
        "the rest of dividing two integers, whole quantities or durations",
        |arguments, budget| operate(arguments, budget, modulo),
    ),
    builtin(
        "sum",
        &[Accepts::ARRAY],
        "number|string",
        "the sum of numbers, quantities or durations; one at least",
        sum,
    ),
    builtin(
        "round",
        &[Accepts::NUMBER, Accepts::NUMBER],
        "number",
        "the number rounded to so many decimal places",
        round,
    ),
];

fn operate(
    arguments: &[Argument<'_>],
    budget: &mut Budget,
    operation: fn(Operand, Operand) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    budget.step(10)?;
    let (left, right) = Operand::two(arguments)?;
    operation(left, right)
}

fn sum(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let mut items = arguments.first().map(Argument::items).unwrap_or_default().iter();
    let Some(first) = items.next() else {
        return Err(Failure::wrong_value("an empty array has no sum").about(0));
    };
    items.try_fold(first.clone(), |sum, item| {
        budget.step(10)?;
        add(Operand::read(&sum, 0)?, Operand::read(item, 0)?)
    })
}

fn add(left: Operand, right: Operand) -> Result<Value, Failure> {
    match (left, right) {
        (Operand::Number(a), Operand::Number(b)) => exact(a, b, i64::checked_add, |a, b| a + b),
        (Operand::Quantity(a), Operand::Quantity(b)) => quantity(a.quantity.add(&b.quantity)),
        (Operand::Duration(a), Operand::Duration(b)) => duration(a.checked_add(b)),
        (left, right) => Err(mismatch("add", &left, &right)),
    }
}

fn subtract(left: Operand, right: Operand) -> Result<Value, Failure> {
    match (left, right) {
        (Operand::Number(a), Operand::Number(b)) => exact(a, b, i64::checked_sub, |a, b| a - b),
        (Operand::Quantity(a), Operand::Quantity(b)) => quantity(a.quantity.sub(&b.quantity)),
        (Operand::Duration(a), Operand::Duration(b)) => duration(a.checked_sub(b)),
        (left, right) => Err(mismatch("subtract", &left, &right)),
    }
}

fn multiply(left: Operand, right: Operand) -> Result<Value, Failure> {
    match (left, right) {
        (Operand::Number(a), Operand::Number(b)) => exact(a, b, i64::checked_mul, |a, b| a * b),
        (Operand::Quantity(amount), Operand::Number(factor))
        | (Operand::Number(factor), Operand::Quantity(amount)) => quantity(amount.times(factor)),
        (Operand::Duration(length), Operand::Number(factor))
        | (Operand::Number(factor), Operand::Duration(length)) => {
            duration(from_seconds(seconds(length) * factor.as_f64()))
        }
        (left, right) => Err(mismatch("multiply", &left, &right)),
    }
}

fn divide(left: Operand, right: Operand) -> Result<Value, Failure> {
    match (left, right) {
        (Operand::Number(a), Operand::Number(b)) => ratio(a.as_f64(), b.as_f64()),
        (Operand::Quantity(a), Operand::Quantity(b)) => ratio(a.as_f64(), b.as_f64()),
        (Operand::Duration(a), Operand::Duration(b)) => ratio(seconds(a), seconds(b)),
        (Operand::Quantity(_) | Operand::Duration(_), Operand::Number(b)) if b.as_f64() == 0.0 => {
            Err(by_zero())
        }
        (Operand::Quantity(a), Operand::Number(b)) => quantity(a.divided_by(b)),
        (Operand::Duration(a), Operand::Number(b)) => duration(from_seconds(seconds(a) / b.as_f64())),
        (left, right) => Err(mismatch("divide", &left, &right)),
    }
}

fn modulo(left: Operand, right: Operand) -> Result<Value, Failure> {
    match (left, right) {
        (Operand::Number(a), Operand::Number(b)) => rest(a.as_i64(), b.as_i64()).map(Value::from),
        (Operand::Quantity(a), Operand::Quantity(b)) => {
            quantity(a.whole_alike(rest(a.quantity.as_i64(), b.quantity.as_i64())?))
        }
        (Operand::Duration(a), Operand::Duration(b)) => {
            let rest = rest(Some(a.nanoseconds()), Some(b.nanoseconds()))?;
            duration(Some(Duration::from_nanoseconds(rest)))
        }
        (left, right) => Err(mismatch("take the modulo of", &left, &right)),
    }
}

/// Rounds half away from zero.
fn round(arguments: &[Argument<'_>], _: &mut Budget) -> Result<Value, Failure> {
    let places = integer(arguments, 1, "the number of places")?;
    if places < 0 {
        return Err(Failure::wrong_value("the number of places must not be negative").about(1));
    }
    let number = arguments.first().map_or(Number::Int(0), Argument::number);
    if number.is_integer() {
        return Ok(Value::from(number));
    }
    let shift = 10_f64.powi(i32::try_from(places).unwrap_or(i32::MAX));
    finite((number.as_f64() * shift).round() / shift)
}

fn exact(
    a: Number,
    b: Number,
    of_integers: fn(i64, i64) -> Option<i64>,
    of_doubles: fn(f64, f64) -> f64,
) -> Result<Value, Failure> {
    let integers = if let (Number::Int(a), Number::Int(b)) = (a, b) { of_integers(a, b) } else { None };
    match integers {
        Some(result) => Ok(Value::from(result)),
        None => finite(of_doubles(a.as_f64(), b.as_f64())),
    }
}

fn ratio(a: f64, b: f64) -> Result<Value, Failure> {
    if b == 0.0 { Err(by_zero()) } else { finite(a / b) }
}

fn rest(a: Option<i64>, b: Option<i64>) -> Result<i64, Failure> {
    let (Some(a), Some(b)) = (a, b) else {
        return Err(Failure::wrong_value("a modulo takes integers only"));
    };
    if b == 0 { Err(by_zero()) } else { Ok(a.wrapping_rem(b)) }
}

fn finite(result: f64) -> Result<Value, Failure> {
    if !result.is_finite() {
        return Err(too_large());
    }
    Ok(Value::from(Number::Float(result).normalized()))
}

fn quantity(result: Option<Quantity>) -> Result<Value, Failure> {
    result.map(|quantity| Value::from(quantity.to_string())).ok_or_else(too_large)
}

fn duration(result: Option<Duration>) -> Result<Value, Failure> {
    result.map(|duration| Value::from(duration.to_string())).ok_or_else(too_large)
}

/// Whole seconds and the rest apart, so that the rest does not lose digits.
#[expect(clippy::cast_precision_loss, reason = "a double is what is asked for")]
fn seconds(duration: Duration) -> f64 {
    const SECOND: i64 = 1_000_000_000;
    let nanoseconds = duration.nanoseconds();
    (nanoseconds / SECOND) as f64 + (nanoseconds % SECOND) as f64 / 1e9
}

fn from_seconds(seconds: f64) -> Option<Duration> {
    let nanoseconds = seconds * 1e9;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (nanoseconds.abs() < 9.2e18).then_some(Duration::from_nanoseconds(nanoseconds as i64))
}

fn mismatch(what: &str, left: &Operand, right: &Operand) -> Failure {
    Failure::wrong_type(format!("cannot {what} {} and {}", left.name(), right.name()))
}

fn by_zero() -> Failure {
    Failure::wrong_value("division by zero").about(1)
}

fn too_large() -> Failure {
    Failure::wrong_value("the result is too large")
}
