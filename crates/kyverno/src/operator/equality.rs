//! `Equals`.

use kubewright_value::{Budget, Exhausted, bounded};

use super::operand::{Operand, Shape, Words};
use super::order;

pub(super) fn equals(key: &Operand, value: &Operand, budget: &mut Budget) -> Result<bool, Exhausted> {
    match (&key.shape, &value.shape) {
        (Shape::Bool(key), Shape::Bool(value)) => Ok(key == value),
        (Shape::Number(key), Shape::Number(value)) => Ok(key == value),
        #[expect(clippy::float_cmp, reason = "equality to the last bit is what is asked for")]
        (Shape::Number(key), Shape::Text(value)) => {
            Ok(value.float().is_some_and(|value| value == key.as_f64()))
        }
        (Shape::Text(words), _) => match order::of_durations(key, value) {
            Some(found) => Ok(found.is_eq()),
            None => texts(words, value, budget),
        },
        (Shape::List(key), Shape::List(value)) => bounded::equal(&key.plain(), &value.plain(), budget),
        (Shape::Map(key), Shape::Map(value)) => bounded::equal(&key.plain(), &value.plain(), budget),
        _ => Ok(false),
    }
}

/// Compares a text that is no duration. A quantity equals quantities only, so not even `*` fits it.
fn texts(key: &Words, value: &Operand, budget: &mut Budget) -> Result<bool, Exhausted> {
    let Shape::Text(value) = &value.shape else { return Ok(false) };
    match key.quantity() {
        Some(key) => Ok(value.quantity().is_some_and(|value| value == key)),
        None => value.item.fits(key.text(), budget),
    }
}
