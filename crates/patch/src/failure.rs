//! Why an operation cannot be applied.

use kubewright_value::{Exhausted, Kind, Text};

use super::{Operation, PatchError, PatchErrorKind};

/// Why one operation fails, before it is known which one it is.
pub(super) struct Failure {
    pub(super) kind: PatchErrorKind,
    reason: String,
}

impl Failure {
    pub(super) fn new(kind: PatchErrorKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    pub(super) fn at(self, place: usize, operation: &Operation) -> PatchError {
        let path = operation.path().to_string();
        let message = match operation {
            Operation::Move { from, .. } | Operation::Copy { from, .. } => {
                format!("cannot {} `{from}` to `{path}`: {}", operation.name(), self.reason)
            }
            _ => format!("cannot {} `{path}`: {}", operation.name(), self.reason),
        };
        PatchError { operation: place, path, kind: self.kind, message }
    }
}

impl From<Exhausted> for Failure {
    fn from(exhausted: Exhausted) -> Self {
        Self::new(PatchErrorKind::Limit, exhausted.to_string())
    }
}

pub(super) fn missing(token: &Text) -> Failure {
    Failure::new(PatchErrorKind::Missing, format!("there is no key `{token}`"))
}

pub(super) fn out_of_range(token: &Text, len: usize) -> Failure {
    Failure::new(
        PatchErrorKind::OutOfRange,
        format!("index `{token}` is out of range in a list of length {len}"),
    )
}

pub(super) fn bad_index(token: &Text) -> Failure {
    Failure::new(PatchErrorKind::BadIndex, format!("`{token}` is no index of a list"))
}

pub(super) fn not_a_container(token: &Text, kind: Kind) -> Failure {
    Failure::new(PatchErrorKind::NotAContainer, format!("a value of type {kind} has no part `{token}`"))
}
