//! Operators on two values.

use std::borrow::Borrow;
use std::cmp::Ordering;

use super::{CelEvaluator, CelFailure, CelResult, overload_error};
use crate::ast::CelOperator;
use crate::cost::{CelCost, traversal_cost};
use crate::plan::{OperatorCharge, PlannedOperator};
use crate::val::{ListVal, Val};

impl<'a> CelEvaluator<'_, 'a> {
    pub(super) fn binary(&mut self, sign: PlannedOperator, left: Val<'a>, right: Val<'a>) -> CelResult<'a> {
        let operator = sign.operator;
        let (left, right) = if sign.is_mixed { widen_to_doubles(left, right) } else { (left, right) };
        match operator {
            operator if operator.is_test() => self.test(sign, &left, &right).map(Val::Bool),
            CelOperator::Add => self.add(sign.charge, left, right),
            _ => {
                self.cost.charge(1)?;
                compute_arithmetic(operator, &left, &right)
            }
        }
    }

    /// Evaluates an operator whose result is a boolean, on operands that are not mixed.
    pub(super) fn test(
        &mut self,
        sign: PlannedOperator,
        left: &Val<'a>,
        right: &Val<'a>,
    ) -> Result<bool, CelFailure> {
        match sign.operator {
            CelOperator::In => self.contains(sign.charge, left, right),
            CelOperator::Equal | CelOperator::NotEqual => {
                let cost = match left {
                    Val::Opaque(_) => 1,
                    _ => traversal_cost(left.size().min(right.size())),
                };
                self.cost.charge(cost)?;
                let is_equal = left.equals(right, self.cost)?;
                Ok(is_equal == (sign.operator == CelOperator::Equal))
            }
            _ => self.compare(sign, left, right),
        }
    }

    fn compare(
        &mut self,
        sign: PlannedOperator,
        left: &Val<'a>,
        right: &Val<'a>,
    ) -> Result<bool, CelFailure> {
        let operator = sign.operator;
        let cost = match (left, right) {
            (Val::String(_), Val::String(_)) | (Val::Bytes(_), Val::Bytes(_))
                if sign.charge == OperatorCharge::Size =>
            {
                traversal_cost(left.size().min(right.size()))
            }
            _ => 1,
        };
        self.cost.charge(cost)?;
        self.cost.work(left.long_text().min(right.long_text()))?;
        let is_nan = |value: &Val<'_>| matches!(value, Val::Double(value) if value.is_nan());
        let is_number = |value: &Val<'_>| matches!(value, Val::Int(_) | Val::UInt(_) | Val::Double(_));
        match left.order(right) {
            Some(order) => Ok(match operator {
                CelOperator::Less => order == Ordering::Less,
                CelOperator::LessOrEqual => order != Ordering::Greater,
                CelOperator::Greater => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }),
            None if is_number(left) && is_number(right) && (is_nan(left) || is_nan(right)) => Ok(false),
            None => Err(unfit_operands_error(operator, left, right)),
        }
    }

    fn contains(
        &mut self,
        charge: OperatorCharge,
        left: &Val<'a>,
        right: &Val<'a>,
    ) -> Result<bool, CelFailure> {
        match right {
            Val::List(list) => {
                self.cost.charge(match charge {
                    OperatorCharge::Size => list.len() as u64,
                    OperatorCharge::One => 1,
                    OperatorCharge::Nothing => 0,
                })?;
                self.cost.work(list.len())?;
                if let ListVal::Made(items) = list {
                    return find_equal(items.iter(), left, self.cost);
                }
                find_equal(list.iter(), left, self.cost)
            }
            Val::Map(map) => {
                self.cost.charge(1)?;
                Ok(map.get(left).is_some())
            }
            _ => Err(unfit_operands_error(CelOperator::In, left, right)),
        }
    }

    fn add(&mut self, charge: OperatorCharge, left: Val<'a>, right: Val<'a>) -> CelResult<'a> {
        let cost = match (&left, &right) {
            (Val::String(_), Val::String(_)) | (Val::Bytes(_), Val::Bytes(_)) => {
                traversal_cost(left.size().saturating_add(right.size()))
            }
            _ => 1,
        };
        self.cost.charge(if charge == OperatorCharge::One { 1 } else { cost })?;
        self.cost.work(usize::try_from(cost).unwrap_or(usize::MAX))?;
        match (left, right) {
            (Val::String(a), Val::String(b)) => {
                self.cost.produce(a.len().saturating_add(b.len()))?;
                let mut text = String::with_capacity(a.len() + b.len());
                text.push_str(&a);
                text.push_str(&b);
                Ok(Val::text(text))
            }
            (Val::Bytes(a), Val::Bytes(b)) => {
                self.cost.produce(a.len().saturating_add(b.len()))?;
                Ok(Val::Bytes([&*a, &*b].concat().into()))
            }
            (Val::List(a), Val::List(b)) => self.concatenated(a, &b),
            (left, right) => compute_arithmetic(CelOperator::Add, &left, &right),
        }
    }

    fn concatenated(&mut self, left: ListVal<'a>, right: &ListVal<'a>) -> CelResult<'a> {
        if right.is_empty() {
            return Ok(Val::List(left));
        }
        self.cost.make(right.len())?;
        // A list that is not shared grows in place, so that a long sum of lists is not quadratic.
        if let ListVal::Made(mut items) = left {
            if let Some(own) = std::sync::Arc::get_mut(&mut items) {
                own.extend(right.iter());
                return Ok(Val::List(ListVal::Made(items)));
            }
            self.cost.make(items.len())?;
            return Ok(Val::list(items.iter().cloned().chain(right.iter()).collect()));
        }
        self.cost.make(left.len())?;
        Ok(Val::list(left.iter().chain(right.iter()).collect()))
    }
}

/// Returns whether one of `items` equals `wanted`.
fn find_equal<'v, V: Borrow<Val<'v>>>(
    items: impl Iterator<Item = V>,
    wanted: &Val<'v>,
    cost: &mut CelCost,
) -> Result<bool, CelFailure> {
    for item in items {
        if wanted.equals(item.borrow(), cost)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Converts an integer to a double if the other operand is a double.
#[expect(clippy::cast_precision_loss, reason = "the nearest double is wanted")]
fn widen_to_doubles<'a>(left: Val<'a>, right: Val<'a>) -> (Val<'a>, Val<'a>) {
    match (&left, &right) {
        (Val::Double(_), Val::Int(value)) => (left, Val::Double(*value as f64)),
        (Val::Double(_), Val::UInt(value)) => (left, Val::Double(*value as f64)),
        (Val::Int(value), Val::Double(_)) => (Val::Double(*value as f64), right),
        (Val::UInt(value), Val::Double(_)) => (Val::Double(*value as f64), right),
        _ => (left, right),
    }
}

/// Computes with numbers, times and durations.
fn compute_arithmetic<'a>(operator: CelOperator, left: &Val<'a>, right: &Val<'a>) -> CelResult<'a> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => {
            let (a, b) = (*a, *b);
            let result = match operator {
                CelOperator::Add => a.checked_add(b),
                CelOperator::Subtract => a.checked_sub(b),
                CelOperator::Multiply => a.checked_mul(b),
                CelOperator::Divide | CelOperator::Remainder if b == 0 => {
                    return Err(division_by_zero_error(operator));
                }
                CelOperator::Divide => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            result.map(Val::Int).ok_or_else(|| CelFailure::value("integer overflow"))
        }
        (Val::UInt(a), Val::UInt(b)) => {
            let (a, b) = (*a, *b);
            let result = match operator {
                CelOperator::Add => a.checked_add(b),
                CelOperator::Subtract => a.checked_sub(b),
                CelOperator::Multiply => a.checked_mul(b),
                CelOperator::Divide | CelOperator::Remainder if b == 0 => {
                    return Err(division_by_zero_error(operator));
                }
                CelOperator::Divide => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            result.map(Val::UInt).ok_or_else(|| CelFailure::value("unsigned integer overflow"))
        }
        (Val::Double(a), Val::Double(b)) => match operator {
            CelOperator::Add => Ok(Val::Double(a + b)),
            CelOperator::Subtract => Ok(Val::Double(a - b)),
            CelOperator::Multiply => Ok(Val::Double(a * b)),
            CelOperator::Divide => Ok(Val::Double(a / b)),
            _ => Err(unfit_operands_error(operator, left, right)),
        },
        _ => compute_time_arithmetic(operator, left, right),
    }
}

fn compute_time_arithmetic<'a>(operator: CelOperator, left: &Val<'a>, right: &Val<'a>) -> CelResult<'a> {
    let result = match (left, operator, right) {
        (Val::Timestamp(time), CelOperator::Add, Val::Duration(duration))
        | (Val::Duration(duration), CelOperator::Add, Val::Timestamp(time)) => {
            time.plus(*duration).map(Val::Timestamp).ok_or("timestamp overflow")
        }
        (Val::Timestamp(time), CelOperator::Subtract, Val::Duration(duration)) => {
            time.minus(*duration).map(Val::Timestamp).ok_or("timestamp overflow")
        }
        (Val::Timestamp(a), CelOperator::Subtract, Val::Timestamp(b)) => {
            a.since(*b).map(Val::Duration).ok_or("duration overflow")
        }
        (Val::Duration(a), CelOperator::Add, Val::Duration(b)) => {
            a.checked_add(*b).map(Val::Duration).ok_or("duration overflow")
        }
        (Val::Duration(a), CelOperator::Subtract, Val::Duration(b)) => {
            a.checked_sub(*b).map(Val::Duration).ok_or("duration overflow")
        }
        _ => return Err(unfit_operands_error(operator, left, right)),
    };
    result.map_err(CelFailure::value)
}

pub(super) fn negate_val<'a>(value: &Val<'a>) -> CelResult<'a> {
    match value {
        Val::Int(value) => {
            value.checked_neg().map(Val::Int).ok_or_else(|| CelFailure::value("integer overflow"))
        }
        Val::Double(value) => Ok(Val::Double(-value)),
        Val::Duration(value) => {
            value.checked_neg().map(Val::Duration).ok_or_else(|| CelFailure::value("duration overflow"))
        }
        other => Err(overload_error(&format!("`-` does not take `{}`", other.type_name()))),
    }
}

fn division_by_zero_error(operator: CelOperator) -> CelFailure {
    CelFailure::value(if operator == CelOperator::Divide { "division by zero" } else { "modulus by zero" })
}

fn unfit_operands_error(operator: CelOperator, left: &Val<'_>, right: &Val<'_>) -> CelFailure {
    overload_error(&format!(
        "`{}` does not take `{}` and `{}`",
        operator.sign(),
        left.type_name(),
        right.type_name()
    ))
}
