//! `GreaterThan` and its kin, and their older forms for durations.

use std::cmp::Ordering;

use kubewright_value::Number;
use kubewright_value::duration::Duration;

use super::OrderOperator;
use super::operand::{ComparedOperand, OperandShape, ParsedText};

impl OrderOperator {
    pub(super) fn admits(self, found: Ordering) -> bool {
        match self {
            Self::GreaterThan => found.is_gt(),
            Self::GreaterThanOrEquals => found.is_ge(),
            Self::LessThan => found.is_lt(),
            Self::LessThanOrEquals => found.is_le(),
        }
    }
}

/// Compares durations, then quantities, then numbers, then versions: whatever both sides are first.
pub(super) fn compare_operands(key: &ComparedOperand, value: &ComparedOperand) -> Option<Ordering> {
    match &key.shape {
        OperandShape::Number(number) => with_number(*number, value),
        OperandShape::Text(words) => {
            of_durations(key, value).or_else(|| of_quantities(words, value)).or_else(|| match words.float() {
                Some(float) => with_number(Number::Float(float), value),
                None => of_versions(words, value),
            })
        }
        _ => None,
    }
}

/// Compares durations of the older operators: texts with units, and whole seconds.
pub(super) fn compare_durations(key: &ComparedOperand, value: &ComparedOperand) -> Option<Ordering> {
    let duration = |side: &ComparedOperand| match &side.shape {
        OperandShape::Text(words) => words.duration(),
        OperandShape::Number(number) => Some(whole_seconds(*number)),
        _ => None,
    };
    Some(duration(key)?.cmp(&duration(value)?))
}

/// Compares durations of which at least one is written with a unit; the other may be a number of seconds.
pub(super) fn of_durations(key: &ComparedOperand, value: &ComparedOperand) -> Option<Ordering> {
    let written = |side: &ComparedOperand| match &side.shape {
        OperandShape::Text(words) if words.text() != "0" => words.duration(),
        _ => None,
    };
    let counted = |side: &ComparedOperand| match &side.shape {
        OperandShape::Number(number) => Some(whole_seconds(*number)),
        _ => None,
    };
    match (written(key), written(value)) {
        (None, None) => None,
        (key_duration, value_duration) => {
            let key = key_duration.or_else(|| counted(key))?;
            let value = value_duration.or_else(|| counted(value))?;
            Some(key.cmp(&value))
        }
    }
}

fn with_number(key: Number, value: &ComparedOperand) -> Option<Ordering> {
    match &value.shape {
        OperandShape::Number(value) => compare_numbers(key, *value),
        OperandShape::Text(words) => match words.duration().filter(|_| words.text() != "0") {
            Some(duration) => Some(whole_seconds(key).cmp(&duration)),
            None => compare_numbers(key, Number::Float(words.float()?)),
        },
        _ => None,
    }
}

fn of_quantities(key: &ParsedText, value: &ComparedOperand) -> Option<Ordering> {
    let OperandShape::Text(value) = &value.shape else { return None };
    Some(key.quantity()?.cmp(&value.quantity()?))
}

fn of_versions(key: &ParsedText, value: &ComparedOperand) -> Option<Ordering> {
    let OperandShape::Text(value) = &value.shape else { return None };
    Some(key.version()?.cmp(&value.version()?))
}

/// Compares exactly. A value that is not a number is neither larger nor smaller than anything.
fn compare_numbers(key: Number, value: Number) -> Option<Ordering> {
    let is_nan = |number: Number| number.as_f64().is_nan();
    (!is_nan(key) && !is_nan(value)).then(|| key.cmp(&value))
}

/// Returns the whole seconds of `number`; the fraction is dropped.
#[expect(clippy::cast_possible_truncation, reason = "saturates, as durations of that length do not matter")]
fn whole_seconds(number: Number) -> Duration {
    let whole = number.as_i64().unwrap_or_else(|| number.as_f64() as i64);
    Duration::from_nanoseconds(whole.saturating_mul(1_000_000_000))
}
