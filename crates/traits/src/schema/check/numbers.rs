//! The checks of numbers against a schema.

use kubewright_value::Number;

use super::super::node::SchemaNode;

/// Returns the violations of `number`.
pub(super) fn check_number_bounds(node: &SchemaNode, number: Number) -> Vec<String> {
    let mut wrongs = Vec::new();
    if let Some(least) = node.minimum {
        match node.excludes_minimum {
            true if number <= least => wrongs.push(format!("should be greater than {least}, got {number}")),
            false if number < least => {
                wrongs.push(format!("should be greater than or equal to {least}, got {number}"));
            }
            _ => {}
        }
    }
    if let Some(most) = node.maximum {
        match node.excludes_maximum {
            true if number >= most => wrongs.push(format!("should be less than {most}, got {number}")),
            false if number > most => {
                wrongs.push(format!("should be less than or equal to {most}, got {number}"));
            }
            _ => {}
        }
    }
    if let Some(step) = node.multiple_of.filter(|step| !is_multiple(number, *step)) {
        wrongs.push(format!("should be a multiple of {step}, got {number}"));
    }
    let bits = node.format.as_deref().map(|format| (format, number.normalized().as_i64()));
    match bits {
        Some(("int32", found)) if found.is_none_or(|found| i32::try_from(found).is_err()) => {
            wrongs.push(format!("must be of type int32, got {number}"));
        }
        Some(("int64", None)) => wrongs.push(format!("must be of type int64, got {number}")),
        _ => {}
    }
    wrongs
}

/// Integers are divided exactly; `0.3` is a multiple of `0.1` although the doubles are not.
fn is_multiple(number: Number, step: Number) -> bool {
    if let (Some(number), Some(step)) = (number.normalized().as_i64(), step.normalized().as_i64()) {
        return number.checked_rem(step).is_none_or(|rest| rest == 0);
    }
    let quotient = number.as_f64() / step.as_f64();
    !quotient.is_finite() || (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}
