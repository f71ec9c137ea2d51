//! `Equals`.

use kubewright_value::{Budget, Exhausted, bounded};

use super::operand::{ComparedOperand, OperandShape, ParsedText};
use super::order;

pub(super) fn operands_equal(
    key: &ComparedOperand,
    value: &ComparedOperand,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    match (&key.shape, &value.shape) {
        (OperandShape::Bool(key), OperandShape::Bool(value)) => Ok(key == value),
        (OperandShape::Number(key), OperandShape::Number(value)) => Ok(key == value),
        #[expect(clippy::float_cmp, reason = "equality to the last bit is what is asked for")]
        (OperandShape::Number(key), OperandShape::Text(value)) => {
            Ok(value.float().is_some_and(|value| value == key.as_f64()))
        }
        (OperandShape::Text(words), _) => match order::of_durations(key, value) {
            Some(found) => Ok(found.is_eq()),
            None => text_equals_operand(words, value, budget),
        },
        (OperandShape::List(key), OperandShape::List(value)) => {
            bounded::bounded_equal(&key.plain(), &value.plain(), budget)
        }
        (OperandShape::Map(key), OperandShape::Map(value)) => {
            bounded::bounded_equal(&key.plain(), &value.plain(), budget)
        }
        _ => Ok(false),
    }
}

/// Compares a text that is not a duration. A quantity equals only quantities, so not even `*` matches it.
fn text_equals_operand(
    key: &ParsedText,
    value: &ComparedOperand,
    budget: &mut Budget,
) -> Result<bool, Exhausted> {
    let OperandShape::Text(value) = &value.shape else { return Ok(false) };
    match key.quantity() {
        Some(key) => Ok(value.quantity().is_some_and(|value| value == key)),
        None => value.item.fits(key.text(), budget),
    }
}
