//! The images of an object, by the containers that run them.

use kubewright_value::{Budget, Value};

use super::context::Unresolved;

/// Returns the images of `object`, or nothing when it has none.
pub(super) fn of(_object: &Value, _budget: &mut Budget) -> Result<Option<Value>, Unresolved> {
    Ok(None)
}
