//! Operators on two values.

use std::cmp::Ordering;

use super::{Failure, Outcome, Run, no_overload};
use crate::ast::Operator;
use crate::cost::traversal;
use crate::plan::{Charge, Sign};
use crate::val::{List, Val};

impl<'a> Run<'_, 'a> {
    pub(super) fn binary(&mut self, sign: Sign, left: Val<'a>, right: Val<'a>) -> Outcome<'a> {
        let operator = sign.operator;
        let (left, right) = if sign.is_mixed { widened(left, right) } else { (left, right) };
        match operator {
            Operator::Equal | Operator::NotEqual => {
                let cost = match left {
                    Val::Opaque(_) => 1,
                    _ => traversal(left.size().min(right.size())),
                };
                self.cost.charge(cost)?;
                let is_equal = left.equals(&right, self.cost)?;
                Ok(Val::Bool(is_equal == (operator == Operator::Equal)))
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                self.compare(sign, &left, &right).map(Val::Bool)
            }
            Operator::In => self.contains(sign.charge, &left, &right).map(Val::Bool),
            Operator::Add => self.add(sign.charge, left, right),
            _ => {
                self.cost.charge(1)?;
                arithmetic(operator, &left, &right)
            }
        }
    }

    fn compare(&mut self, sign: Sign, left: &Val<'a>, right: &Val<'a>) -> Result<bool, Failure> {
        let operator = sign.operator;
        let cost = match (left, right) {
            (Val::String(_), Val::String(_)) | (Val::Bytes(_), Val::Bytes(_))
                if sign.charge == Charge::Size =>
            {
                traversal(left.size().min(right.size()))
            }
            _ => 1,
        };
        self.cost.charge(cost)?;
        self.cost.work(left.long_text().min(right.long_text()))?;
        let is_nan = |value: &Val<'_>| matches!(value, Val::Double(value) if value.is_nan());
        let is_number = |value: &Val<'_>| matches!(value, Val::Int(_) | Val::UInt(_) | Val::Double(_));
        match left.order(right) {
            Some(order) => Ok(match operator {
                Operator::Less => order == Ordering::Less,
                Operator::LessOrEqual => order != Ordering::Greater,
                Operator::Greater => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }),
            None if is_number(left) && is_number(right) && (is_nan(left) || is_nan(right)) => Ok(false),
            None => Err(unfit(operator, left, right)),
        }
    }

    fn contains(&mut self, charge: Charge, left: &Val<'a>, right: &Val<'a>) -> Result<bool, Failure> {
        match right {
            Val::List(list) => {
                self.cost.charge(match charge {
                    Charge::Size => list.len() as u64,
                    Charge::One => 1,
                    Charge::Nothing => 0,
                })?;
                self.cost.work(list.len())?;
                for item in list.iter() {
                    if left.equals(&item, self.cost)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Val::Map(map) => {
                self.cost.charge(1)?;
                Ok(map.get(left).is_some())
            }
            _ => Err(unfit(Operator::In, left, right)),
        }
    }

    fn add(&mut self, charge: Charge, left: Val<'a>, right: Val<'a>) -> Outcome<'a> {
        let cost = match (&left, &right) {
            (Val::String(_), Val::String(_)) | (Val::Bytes(_), Val::Bytes(_)) => {
                traversal(left.size().saturating_add(right.size()))
            }
            _ => 1,
        };
        self.cost.charge(if charge == Charge::One { 1 } else { cost })?;
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
            (left, right) => arithmetic(Operator::Add, &left, &right),
        }
    }

    fn concatenated(&mut self, left: List<'a>, right: &List<'a>) -> Outcome<'a> {
        if right.is_empty() {
            return Ok(Val::List(left));
        }
        self.cost.make(right.len())?;
        // A list that nobody else holds grows in place, so that a long sum of lists is not quadratic.
        if let List::Made(mut items) = left {
            if let Some(own) = std::sync::Arc::get_mut(&mut items) {
                own.extend(right.iter());
                return Ok(Val::List(List::Made(items)));
            }
            self.cost.make(items.len())?;
            return Ok(Val::list(items.iter().cloned().chain(right.iter()).collect()));
        }
        self.cost.make(left.len())?;
        Ok(Val::list(left.iter().chain(right.iter()).collect()))
    }
}

/// Makes an integer beside a double a double.
#[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
fn widened<'a>(left: Val<'a>, right: Val<'a>) -> (Val<'a>, Val<'a>) {
    match (&left, &right) {
        (Val::Double(_), Val::Int(value)) => (left, Val::Double(*value as f64)),
        (Val::Double(_), Val::UInt(value)) => (left, Val::Double(*value as f64)),
        (Val::Int(value), Val::Double(_)) => (Val::Double(*value as f64), right),
        (Val::UInt(value), Val::Double(_)) => (Val::Double(*value as f64), right),
        _ => (left, right),
    }
}

/// Computes with numbers, times and durations.
fn arithmetic<'a>(operator: Operator, left: &Val<'a>, right: &Val<'a>) -> Outcome<'a> {
    match (left, right) {
        (Val::Int(a), Val::Int(b)) => {
            let (a, b) = (*a, *b);
            let result = match operator {
                Operator::Add => a.checked_add(b),
                Operator::Subtract => a.checked_sub(b),
                Operator::Multiply => a.checked_mul(b),
                Operator::Divide | Operator::Remainder if b == 0 => return Err(by_zero(operator)),
                Operator::Divide => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            result.map(Val::Int).ok_or_else(|| Failure::value("integer overflow"))
        }
        (Val::UInt(a), Val::UInt(b)) => {
            let (a, b) = (*a, *b);
            let result = match operator {
                Operator::Add => a.checked_add(b),
                Operator::Subtract => a.checked_sub(b),
                Operator::Multiply => a.checked_mul(b),
                Operator::Divide | Operator::Remainder if b == 0 => return Err(by_zero(operator)),
                Operator::Divide => a.checked_div(b),
                _ => a.checked_rem(b),
            };
            result.map(Val::UInt).ok_or_else(|| Failure::value("unsigned integer overflow"))
        }
        (Val::Double(a), Val::Double(b)) => match operator {
            Operator::Add => Ok(Val::Double(a + b)),
            Operator::Subtract => Ok(Val::Double(a - b)),
            Operator::Multiply => Ok(Val::Double(a * b)),
            Operator::Divide => Ok(Val::Double(a / b)),
            _ => Err(unfit(operator, left, right)),
        },
        _ => temporal(operator, left, right),
    }
}

fn temporal<'a>(operator: Operator, left: &Val<'a>, right: &Val<'a>) -> Outcome<'a> {
    let result = match (left, operator, right) {
        (Val::Timestamp(time), Operator::Add, Val::Duration(duration))
        | (Val::Duration(duration), Operator::Add, Val::Timestamp(time)) => {
            time.plus(*duration).map(Val::Timestamp).ok_or("timestamp overflow")
        }
        (Val::Timestamp(time), Operator::Subtract, Val::Duration(duration)) => {
            time.minus(*duration).map(Val::Timestamp).ok_or("timestamp overflow")
        }
        (Val::Timestamp(a), Operator::Subtract, Val::Timestamp(b)) => {
            a.since(*b).map(Val::Duration).ok_or("duration overflow")
        }
        (Val::Duration(a), Operator::Add, Val::Duration(b)) => {
            a.checked_add(*b).map(Val::Duration).ok_or("duration overflow")
        }
        (Val::Duration(a), Operator::Subtract, Val::Duration(b)) => {
            a.checked_sub(*b).map(Val::Duration).ok_or("duration overflow")
        }
        _ => return Err(unfit(operator, left, right)),
    };
    result.map_err(Failure::value)
}

pub(super) fn negate<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value {
        Val::Int(value) => {
            value.checked_neg().map(Val::Int).ok_or_else(|| Failure::value("integer overflow"))
        }
        Val::Double(value) => Ok(Val::Double(-value)),
        Val::Duration(value) => {
            value.checked_neg().map(Val::Duration).ok_or_else(|| Failure::value("duration overflow"))
        }
        other => Err(no_overload(&format!("`-` does not take `{}`", other.type_name()))),
    }
}

fn by_zero(operator: Operator) -> Failure {
    Failure::value(if operator == Operator::Divide { "division by zero" } else { "modulus by zero" })
}

fn unfit(operator: Operator, left: &Val<'_>, right: &Val<'_>) -> Failure {
    no_overload(&format!(
        "`{}` does not take `{}` and `{}`",
        operator.sign(),
        left.type_name(),
        right.type_name()
    ))
}
