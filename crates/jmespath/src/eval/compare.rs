//! Walks over whole values, each node charged.

use kubewright_value::{Budget, Exhausted, Value, bounded};

/// Returns whether both are equal; the order of keys does not matter.
pub(in super::super) fn equal(budget: &mut Budget, left: &Value, right: &Value) -> Result<bool, Exhausted> {
    bounded::bounded_equal(left, right, budget)
}

/// Charges what it would cost to write `value` out: a step for each node, and its text.
pub(in super::super) fn weigh(budget: &mut Budget, value: &Value) -> Result<(), Exhausted> {
    bounded::charge_text(value, budget)
}
