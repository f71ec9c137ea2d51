//! Why an operation cannot be applied.

use kubewright_value::{Exhausted, Text, ValueKind};

use super::{JsonPatchOperation, PatchError, PatchErrorKind};

/// Why one operation fails, before it is known which one it is.
pub(super) struct OperationFailure {
    pub(super) kind: PatchErrorKind,
    reason: String,
}

impl OperationFailure {
    pub(super) fn new(kind: PatchErrorKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    pub(super) fn at(self, place: usize, operation: &JsonPatchOperation) -> PatchError {
        let path = operation.path().to_string();
        let message = match operation {
            JsonPatchOperation::Move { from, .. } | JsonPatchOperation::Copy { from, .. } => {
                format!("cannot {} `{from}` to `{path}`: {}", operation.name(), self.reason)
            }
            _ => format!("cannot {} `{path}`: {}", operation.name(), self.reason),
        };
        PatchError { operation: place, path, kind: self.kind, message }
    }
}

impl From<Exhausted> for OperationFailure {
    fn from(exhausted: Exhausted) -> Self {
        Self::new(PatchErrorKind::Limit, exhausted.to_string())
    }
}

pub(super) fn missing_part(token: &Text) -> OperationFailure {
    OperationFailure::new(PatchErrorKind::Missing, format!("there is no key `{token}`"))
}

pub(super) fn index_out_of_range(token: &Text, len: usize) -> OperationFailure {
    OperationFailure::new(
        PatchErrorKind::OutOfRange,
        format!("index `{token}` is out of range in a list of length {len}"),
    )
}

pub(super) fn bad_index(token: &Text) -> OperationFailure {
    OperationFailure::new(PatchErrorKind::BadIndex, format!("`{token}` is no index of a list"))
}

pub(super) fn not_a_container(token: &Text, kind: ValueKind) -> OperationFailure {
    OperationFailure::new(
        PatchErrorKind::NotAContainer,
        format!("a value of type {kind} has no part `{token}`"),
    )
}
