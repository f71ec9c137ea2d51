//! The operators on two values, and the rules by which their sides are converted.
//!
//! Order and `+` try, in turn: two numbers, two strings, both as numbers, both as text.
//! Equality converts only when exactly one side is a string. Whatever is compared
//! with undefined, the answer is no. Integers stay exact as long as they fit. What
//! takes time in proportion to a value is charged.

use std::cmp::Ordering;

use kubewright_value::{Budget, Number, Value};

use super::ast::{InfixOperator, PrefixOperator};
use super::convert;
use super::fault::{FoundType, PathFaultKind};
use super::item::JsonPathItem;

type OperatorResult = Result<Value, PathFaultKind>;

/// Applies a prefix operator.
pub(super) fn apply_prefix(operator: PrefixOperator, item: &JsonPathItem<'_>) -> OperatorResult {
    if operator == PrefixOperator::Not {
        let truth = item.as_value().and_then(Value::as_bool);
        return truth.map(|truth| Value::Bool(!truth)).ok_or(PathFaultKind::NotBoolean(item.what()));
    }
    let number = match item {
        JsonPathItem::Undefined => Number::Float(f64::NAN),
        item => {
            item.as_value().and_then(convert::number_of_value).ok_or(PathFaultKind::NotNumber(item.what()))?
        }
    };
    Ok(Value::Number(match operator {
        PrefixOperator::Complement => Number::Int(!convert::go_integer(number)),
        _ => negated(number),
    }))
}

/// Applies an operator that looks at both sides. `=~` and its like are not among them.
pub(super) fn apply_infix(
    budget: &mut Budget,
    operator: InfixOperator,
    left: &JsonPathItem<'_>,
    right: &JsonPathItem<'_>,
) -> OperatorResult {
    match operator {
        InfixOperator::Equal | InfixOperator::NotEqual => {
            let wanted = operator == InfixOperator::Equal;
            Ok(Value::Bool(is_defined(left, right) && is_loosely_equal(budget, left, right)? == wanted))
        }
        InfixOperator::StrictEqual | InfixOperator::StrictNotEqual => {
            let wanted = operator == InfixOperator::StrictEqual;
            Ok(Value::Bool(is_defined(left, right) && is_strictly_equal(budget, left, right)? == wanted))
        }
        InfixOperator::Less
        | InfixOperator::LessEqual
        | InfixOperator::Greater
        | InfixOperator::GreaterEqual => compare_items(budget, operator, left, right),
        InfixOperator::In => eval_in(budget, left, right),
        InfixOperator::Add => add_or_concatenate(budget, left, right),
        _ => eval_arithmetic(operator, left, right),
    }
}

fn is_defined(left: &JsonPathItem<'_>, right: &JsonPathItem<'_>) -> bool {
    !left.is_undefined() && !right.is_undefined()
}

fn is_loosely_equal(
    budget: &mut Budget,
    left: &JsonPathItem<'_>,
    right: &JsonPathItem<'_>,
) -> Result<bool, PathFaultKind> {
    match (left.as_value(), right.as_value()) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => Ok(is_same_number(*a, *b)),
        (Some(Value::Number(number)), Some(Value::String(text)))
        | (Some(Value::String(text)), Some(Value::Number(number))) => {
            Ok(convert::number_from_text(text).is_some_and(|spelled| is_same_number(*number, spelled)))
        }
        _ => is_deeply_equal(budget, left, right),
    }
}

/// Compares as `===` does: text never equals a number.
fn is_strictly_equal(
    budget: &mut Budget,
    left: &JsonPathItem<'_>,
    right: &JsonPathItem<'_>,
) -> Result<bool, PathFaultKind> {
    match (left.as_value(), right.as_value()) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => Ok(is_same_number(*a, *b)),
        _ => is_deeply_equal(budget, left, right),
    }
}

fn is_same_number(a: Number, b: Number) -> bool {
    // To the order of numbers NaN equals itself, to the language it does not.
    !a.as_f64().is_nan() && a == b
}

/// Compares without any conversion. A list with an undefined member equals nothing.
fn is_deeply_equal(
    budget: &mut Budget,
    left: &JsonPathItem<'_>,
    right: &JsonPathItem<'_>,
) -> Result<bool, PathFaultKind> {
    match (left, right) {
        (JsonPathItem::Many(a), JsonPathItem::Many(b)) => {
            same_length(budget, a.len(), b.len(), a.iter().zip(b), |budget, (a, b)| {
                is_deeply_equal(budget, a, b)
            })
        }
        (JsonPathItem::Many(many), other) | (other, JsonPathItem::Many(many)) => {
            let Some(items) = other.as_value().and_then(Value::as_array) else { return Ok(false) };
            let pairs = many.iter().zip(items);
            same_length(budget, many.len(), items.len(), pairs, |budget, (a, b)| {
                is_deeply_equal(budget, a, &JsonPathItem::Ref(b))
            })
        }
        (a, b) => match (a.as_value(), b.as_value()) {
            (Some(a), Some(b)) => is_same_value(budget, a, b),
            _ => Ok(false),
        },
    }
}

/// Compares two values and charges a step for each pair that is looked at.
fn is_same_value(budget: &mut Budget, a: &Value, b: &Value) -> Result<bool, PathFaultKind> {
    match (a, b) {
        (Value::Array(x), Value::Array(y)) if !a.is_same(b) => {
            same_length(budget, x.len(), y.len(), x.iter().zip(&**y), |budget, (a, b)| {
                is_same_value(budget, a, b)
            })
        }
        (Value::Object(x), Value::Object(y)) if !a.is_same(b) => {
            same_length(budget, x.len(), y.len(), x.iter(), |budget, (key, a)| match y.get(key) {
                Some(b) => is_same_value(budget, a, b),
                None => Ok(false),
            })
        }
        (Value::String(x), Value::String(y)) if x.len() == y.len() => {
            budget.step(x.len() as u64 / 64)?;
            Ok(x == y)
        }
        _ => Ok(a == b),
    }
}

/// Returns whether both lengths are the same and `is_same` holds for every pair.
fn same_length<T>(
    budget: &mut Budget,
    left: usize,
    right: usize,
    mut pairs: impl Iterator<Item = T>,
    is_same: impl Fn(&mut Budget, T) -> Result<bool, PathFaultKind>,
) -> Result<bool, PathFaultKind> {
    if left != right {
        return Ok(false);
    }
    pairs.try_fold(true, |so_far, pair| {
        budget.step(1)?;
        Ok(so_far && is_same(budget, pair)?)
    })
}

/// Searches the right side for the left, without any conversion: a list for a value, an object for a key.
fn eval_in(budget: &mut Budget, left: &JsonPathItem<'_>, right: &JsonPathItem<'_>) -> OperatorResult {
    let mut found = false;
    let mut look = |item: &JsonPathItem<'_>| {
        budget.step(1)?;
        found = found || is_deeply_equal(budget, left, item)?;
        Ok::<_, PathFaultKind>(())
    };
    match (right, right.as_value()) {
        (JsonPathItem::Many(items), _) => items.iter().try_for_each(&mut look)?,
        (_, Some(Value::Array(items))) => items.iter().try_for_each(|item| look(&JsonPathItem::Ref(item)))?,
        (_, Some(Value::Object(map))) => {
            let key = left.as_value().and_then(Value::as_str);
            found = key.is_some_and(|key| map.get(key).is_some());
        }
        _ => return Err(PathFaultKind::NotList(right.what())),
    }
    Ok(Value::Bool(found))
}

fn compare_items(
    budget: &mut Budget,
    operator: InfixOperator,
    left: &JsonPathItem<'_>,
    right: &JsonPathItem<'_>,
) -> OperatorResult {
    if is_null(left) || is_null(right) {
        return Err(PathFaultKind::NotComparable(operator, left.what(), right.what()));
    }
    if !is_defined(left, right) {
        return Ok(Value::Bool(false));
    }
    let ordering = match (left.as_value(), right.as_value()) {
        (Some(Value::String(a)), Some(Value::String(b))) => Some(a.cmp(b)),
        (a, b) => match (a.and_then(convert::number_of_value), b.and_then(convert::number_of_value)) {
            (Some(a), Some(b)) if a.as_f64().is_nan() || b.as_f64().is_nan() => None,
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => {
                let (left, right) = (left.text(budget)?, right.text(budget)?);
                Some(left.cmp(&right))
            }
        },
    };
    Ok(Value::Bool(ordering.is_some_and(|ordering| match operator {
        InfixOperator::Less => ordering == Ordering::Less,
        InfixOperator::LessEqual => ordering != Ordering::Greater,
        InfixOperator::Greater => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    })))
}

fn is_null(item: &JsonPathItem<'_>) -> bool {
    item.as_value().is_some_and(Value::is_null)
}

fn add_or_concatenate(
    budget: &mut Budget,
    left: &JsonPathItem<'_>,
    right: &JsonPathItem<'_>,
) -> OperatorResult {
    let both_text =
        matches!((left.as_value(), right.as_value()), (Some(Value::String(_)), Some(Value::String(_))));
    if !both_text && let (Some(a), Some(b)) = (arithmetic_operand(left), arithmetic_operand(right)) {
        return Ok(Value::Number(calculate(InfixOperator::Add, a, b)));
    }
    if is_null(left) || is_null(right) {
        return Err(PathFaultKind::NotComparable(InfixOperator::Add, left.what(), right.what()));
    }
    let (left, right) = (left.text(budget)?, right.text(budget)?);
    budget.produce(left.len() + right.len())?;
    Ok(Value::from(format!("{left}{right}")))
}

fn eval_arithmetic(
    operator: InfixOperator,
    left: &JsonPathItem<'_>,
    right: &JsonPathItem<'_>,
) -> OperatorResult {
    match (arithmetic_operand(left), arithmetic_operand(right)) {
        (Some(a), Some(b)) => Ok(Value::Number(calculate(operator, a, b))),
        _ => Err(PathFaultKind::NotComparable(operator, left.what(), right.what())),
    }
}

/// Returns the number an operator calculates with; undefined is NaN.
fn arithmetic_operand(item: &JsonPathItem<'_>) -> Option<Number> {
    match item.what() {
        FoundType::Undefined => Some(Number::Float(f64::NAN)),
        FoundType::Value(_) => item.as_value().and_then(convert::number_of_value),
    }
}

fn calculate(operator: InfixOperator, a: Number, b: Number) -> Number {
    if let Some(exact) = calculate_exactly(operator, a, b) {
        return exact;
    }
    let (x, y) = (a.as_f64(), b.as_f64());
    Number::Float(match operator {
        InfixOperator::Add => x + y,
        InfixOperator::Subtract => x - y,
        InfixOperator::Multiply => x * y,
        InfixOperator::Divide => x / y,
        InfixOperator::Remainder => x % y,
        _ => x.powf(y),
    })
}

/// Calculates with integers, if both are and the result is one that fits.
fn calculate_exactly(operator: InfixOperator, a: Number, b: Number) -> Option<Number> {
    if let Some(bits) = calculate_bits(operator, a, b) {
        return Some(Number::Int(bits));
    }
    let (a, b) = (wide(a)?, wide(b)?);
    let result = match operator {
        InfixOperator::Add => a.checked_add(b)?,
        InfixOperator::Subtract => a.checked_sub(b)?,
        InfixOperator::Multiply => a.checked_mul(b)?,
        InfixOperator::Divide if a.checked_rem(b)? == 0 => a.checked_div(b)?,
        InfixOperator::Remainder => a.checked_rem(b)?,
        InfixOperator::Power => a.checked_pow(u32::try_from(b).ok()?)?,
        _ => return None,
    };
    narrow(result)
}

fn calculate_bits(operator: InfixOperator, a: Number, b: Number) -> Option<i64> {
    let (a, b) = (convert::go_integer(a), convert::go_integer(b));
    Some(match operator {
        InfixOperator::BitXor => a ^ b,
        InfixOperator::BitAnd => a & b,
        InfixOperator::BitOr => a | b,
        InfixOperator::ShiftLeft => u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0),
        InfixOperator::ShiftRight => a >> u32::try_from(b).unwrap_or(63).min(63),
        _ => return None,
    })
}

fn negated(number: Number) -> Number {
    let exact = wide(number).and_then(|integer| narrow(-integer));
    exact.unwrap_or_else(|| Number::Float(-number.as_f64()))
}

fn wide(number: Number) -> Option<i128> {
    match number.normalized() {
        Number::Int(integer) => Some(i128::from(integer)),
        Number::UInt(integer) => Some(i128::from(integer)),
        Number::Float(_) => None,
    }
}

fn narrow(integer: i128) -> Option<Number> {
    let signed = i64::try_from(integer).map(Number::Int);
    signed.or_else(|_| u64::try_from(integer).map(Number::from)).ok()
}
