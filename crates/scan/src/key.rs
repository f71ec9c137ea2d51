//! Which object, and which kind.

pub use kubewright_k8s::ObjectName as ObjectKey;
use kubewright_value::Text;

/// A kind of objects, whatever its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindKey {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The kind.
    pub kind: Text,
}

impl KindKey {
    /// Returns the kind of `object`.
    #[must_use]
    pub fn of(object: &ObjectKey) -> Self {
        Self { group: object.group.clone(), kind: object.kind.clone() }
    }
}
