//! Operations on whole values, charged for each node.

use kubewright_value::{Budget, Exhausted, Value, bounded};

/// Returns whether both are equal; the order of keys does not matter.
pub(in super::super) fn equal_within_budget(
    budget: &mut Budget,
    left: &Value,
    right: &Value,
) -> Result<bool, Exhausted> {
    bounded::bounded_equal(left, right, budget)
}

/// Charges the cost of writing `value` out: a step for each node, and its text.
pub(in super::super) fn charge_written_value(budget: &mut Budget, value: &Value) -> Result<(), Exhausted> {
    bounded::charge_text(value, budget)
}
