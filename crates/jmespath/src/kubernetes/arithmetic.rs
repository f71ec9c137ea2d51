//! Arithmetic with numbers, quantities and durations. Integers stay exact as long as they fit.

use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;
use kubewright_value::{Budget, Number, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};
use super::integer_argument;
use super::operand::ArithmeticOperand;

const TWO_OPERANDS: &[ArgumentTypes] = &[ArgumentTypes::ANY, ArgumentTypes::ANY];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin(
        "add",
        TWO_OPERANDS,
        "number|string",
        "the sum of two numbers, quantities or durations",
        |arguments, budget| call_arithmetic(arguments, budget, add_operands),
    ),
    define_builtin(
        "subtract",
        TWO_OPERANDS,
        "number|string",
        "the difference of two numbers, quantities or durations",
        |arguments, budget| call_arithmetic(arguments, budget, subtract_operands),
    ),
    define_builtin(
        "multiply",
        TWO_OPERANDS,
        "number|string",
        "the product of two numbers, or of a number and a quantity or duration",
        |arguments, budget| call_arithmetic(arguments, budget, multiply_operands),
    ),
    define_builtin(
        "divide",
        TWO_OPERANDS,
        "number|string",
        "the quotient of two values of one type, or of a quantity or duration and a number",
        |arguments, budget| call_arithmetic(arguments, budget, divide_operands),
    ),
    define_builtin(
        "modulo",
        TWO_OPERANDS,
        "number|string",
        "the remainder of two integers, whole quantities or durations",
        |arguments, budget| call_arithmetic(arguments, budget, modulo_operands),
    ),
    define_builtin(
        "sum",
        &[ArgumentTypes::ARRAY],
        "number|string",
        "the sum of at least one number, quantity or duration",
        call_sum,
    ),
    define_builtin(
        "round",
        &[ArgumentTypes::NUMBER, ArgumentTypes::NUMBER],
        "number",
        "the number rounded to a number of decimal places",
        call_round,
    ),
];

fn call_arithmetic(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
    operation: fn(ArithmeticOperand, ArithmeticOperand) -> Result<Value, JmesPathFailure>,
) -> Result<Value, JmesPathFailure> {
    budget.step(10)?;
    let (left, right) = ArithmeticOperand::two(arguments)?;
    operation(left, right)
}

fn call_sum(arguments: &[JmesPathArgument<'_>], budget: &mut Budget) -> Result<Value, JmesPathFailure> {
    let mut items = arguments.first().map(JmesPathArgument::items).unwrap_or_default().iter();
    let Some(first) = items.next() else {
        return Err(JmesPathFailure::wrong_value("an empty array has no sum").about(0));
    };
    items.try_fold(first.clone(), |sum, item| {
        budget.step(10)?;
        add_operands(ArithmeticOperand::read(&sum, 0)?, ArithmeticOperand::read(item, 0)?)
    })
}

fn add_operands(left: ArithmeticOperand, right: ArithmeticOperand) -> Result<Value, JmesPathFailure> {
    match (left, right) {
        (ArithmeticOperand::Number(a), ArithmeticOperand::Number(b)) => {
            combine_decimals(a, b, i64::checked_add, |a, b| a + b)
        }
        (ArithmeticOperand::Quantity(a), ArithmeticOperand::Quantity(b)) => {
            quantity_result(a.quantity.add(&b.quantity))
        }
        (ArithmeticOperand::Duration(a), ArithmeticOperand::Duration(b)) => duration_result(a.checked_add(b)),
        (left, right) => Err(operand_mismatch("add", &left, &right)),
    }
}

fn subtract_operands(left: ArithmeticOperand, right: ArithmeticOperand) -> Result<Value, JmesPathFailure> {
    match (left, right) {
        (ArithmeticOperand::Number(a), ArithmeticOperand::Number(b)) => {
            combine_decimals(a, b, i64::checked_sub, |a, b| a - b)
        }
        (ArithmeticOperand::Quantity(a), ArithmeticOperand::Quantity(b)) => {
            quantity_result(a.quantity.sub(&b.quantity))
        }
        (ArithmeticOperand::Duration(a), ArithmeticOperand::Duration(b)) => duration_result(a.checked_sub(b)),
        (left, right) => Err(operand_mismatch("subtract", &left, &right)),
    }
}

fn multiply_operands(left: ArithmeticOperand, right: ArithmeticOperand) -> Result<Value, JmesPathFailure> {
    match (left, right) {
        (ArithmeticOperand::Number(a), ArithmeticOperand::Number(b)) => {
            combine_decimals(a, b, i64::checked_mul, |a, b| a * b)
        }
        (ArithmeticOperand::Quantity(amount), ArithmeticOperand::Number(factor))
        | (ArithmeticOperand::Number(factor), ArithmeticOperand::Quantity(amount)) => {
            quantity_result(amount.times(factor))
        }
        (ArithmeticOperand::Duration(length), ArithmeticOperand::Number(factor))
        | (ArithmeticOperand::Number(factor), ArithmeticOperand::Duration(length)) => {
            duration_result(duration_from_seconds(duration_to_seconds(length) * factor.as_f64()))
        }
        (left, right) => Err(operand_mismatch("multiply", &left, &right)),
    }
}

fn divide_operands(left: ArithmeticOperand, right: ArithmeticOperand) -> Result<Value, JmesPathFailure> {
    match (left, right) {
        (ArithmeticOperand::Number(a), ArithmeticOperand::Number(b)) => {
            divide_doubles(a.as_f64(), b.as_f64())
        }
        (ArithmeticOperand::Quantity(a), ArithmeticOperand::Quantity(b)) => {
            divide_doubles(a.as_f64(), b.as_f64())
        }
        (ArithmeticOperand::Duration(a), ArithmeticOperand::Duration(b)) => {
            divide_doubles(duration_to_seconds(a), duration_to_seconds(b))
        }
        (ArithmeticOperand::Quantity(_) | ArithmeticOperand::Duration(_), ArithmeticOperand::Number(b))
            if b.as_f64() == 0.0 =>
        {
            Err(zero_divisor_failure())
        }
        (ArithmeticOperand::Quantity(a), ArithmeticOperand::Number(b)) => quantity_result(a.divided_by(b)),
        (ArithmeticOperand::Duration(a), ArithmeticOperand::Number(b)) => {
            duration_result(duration_from_seconds(duration_to_seconds(a) / b.as_f64()))
        }
        (left, right) => Err(operand_mismatch("divide", &left, &right)),
    }
}

fn modulo_operands(left: ArithmeticOperand, right: ArithmeticOperand) -> Result<Value, JmesPathFailure> {
    match (left, right) {
        (ArithmeticOperand::Number(a), ArithmeticOperand::Number(b)) => {
            integer_remainder(a.as_i64(), b.as_i64()).map(Value::from)
        }
        (ArithmeticOperand::Quantity(a), ArithmeticOperand::Quantity(b)) => {
            quantity_result(a.whole_alike(integer_remainder(a.quantity.as_i64(), b.quantity.as_i64())?))
        }
        (ArithmeticOperand::Duration(a), ArithmeticOperand::Duration(b)) => {
            let rest = integer_remainder(Some(a.nanoseconds()), Some(b.nanoseconds()))?;
            duration_result(Some(Duration::from_nanoseconds(rest)))
        }
        (left, right) => Err(operand_mismatch("take the modulo of", &left, &right)),
    }
}

/// Rounds half away from zero.
fn call_round(arguments: &[JmesPathArgument<'_>], _: &mut Budget) -> Result<Value, JmesPathFailure> {
    let places = integer_argument(arguments, 1, "the number of places")?;
    if places < 0 {
        return Err(JmesPathFailure::wrong_value("the number of places must not be negative").about(1));
    }
    let number = arguments.first().map_or(Number::Int(0), JmesPathArgument::number);
    if number.is_integer() {
        return Ok(Value::from(number));
    }
    let shift = 10_f64.powi(i32::try_from(places).unwrap_or(i32::MAX));
    finite_result((number.as_f64() * shift).round() / shift)
}

fn combine_decimals(
    a: Number,
    b: Number,
    of_integers: fn(i64, i64) -> Option<i64>,
    of_doubles: fn(f64, f64) -> f64,
) -> Result<Value, JmesPathFailure> {
    let integers = if let (Number::Int(a), Number::Int(b)) = (a, b) { of_integers(a, b) } else { None };
    match integers {
        Some(result) => Ok(Value::from(result)),
        None => finite_result(of_doubles(a.as_f64(), b.as_f64())),
    }
}

fn divide_doubles(a: f64, b: f64) -> Result<Value, JmesPathFailure> {
    if b == 0.0 { Err(zero_divisor_failure()) } else { finite_result(a / b) }
}

fn integer_remainder(a: Option<i64>, b: Option<i64>) -> Result<i64, JmesPathFailure> {
    let (Some(a), Some(b)) = (a, b) else {
        return Err(JmesPathFailure::wrong_value("a modulo takes integers only"));
    };
    if b == 0 { Err(zero_divisor_failure()) } else { Ok(a.wrapping_rem(b)) }
}

fn finite_result(result: f64) -> Result<Value, JmesPathFailure> {
    if !result.is_finite() {
        return Err(too_large_failure());
    }
    Ok(Value::from(Number::Float(result).normalized()))
}

fn quantity_result(result: Option<Quantity>) -> Result<Value, JmesPathFailure> {
    result.map(|quantity| Value::from(quantity.to_string())).ok_or_else(too_large_failure)
}

fn duration_result(result: Option<Duration>) -> Result<Value, JmesPathFailure> {
    result.map(|duration| Value::from(duration.to_string())).ok_or_else(too_large_failure)
}

/// Returns a duration in seconds. Whole seconds and the fraction are converted separately to keep precision.
#[expect(clippy::cast_precision_loss, reason = "a double is wanted")]
fn duration_to_seconds(duration: Duration) -> f64 {
    const SECOND: i64 = 1_000_000_000;
    let nanoseconds = duration.nanoseconds();
    (nanoseconds / SECOND) as f64 + (nanoseconds % SECOND) as f64 / 1e9
}

fn duration_from_seconds(seconds: f64) -> Option<Duration> {
    let nanoseconds = seconds * 1e9;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (nanoseconds.abs() < 9.2e18).then_some(Duration::from_nanoseconds(nanoseconds as i64))
}

fn operand_mismatch(what: &str, left: &ArithmeticOperand, right: &ArithmeticOperand) -> JmesPathFailure {
    JmesPathFailure::wrong_type(format!("cannot {what} {} and {}", left.name(), right.name()))
}

fn zero_divisor_failure() -> JmesPathFailure {
    JmesPathFailure::wrong_value("division by zero").about(1)
}

fn too_large_failure() -> JmesPathFailure {
    JmesPathFailure::wrong_value("the result is too large")
}
