//! The names of kinds and of objects.

use std::fmt;

use kubewright_value::{Text, Value};

/// The group, version and kind of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// The kind.
    pub kind: Text,
}

impl GroupVersionKind {
    /// Returns the type that `object` says it has; parts it does not say are empty.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |key| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        Self { group: group.into(), version: version.into(), kind: text("kind").into() }
    }
}

/// The name of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The kind.
    pub kind: Text,
    /// The namespace; empty for an object without one.
    pub namespace: Text,
    /// The name.
    pub name: Text,
}

impl ObjectName {
    /// Returns the name of `object`.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let kind = GroupVersionKind::of(object);
        let metadata = |key| object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or_default();
        Self {
            group: kind.group,
            kind: kind.kind,
            namespace: metadata("namespace").into(),
            name: metadata("name").into(),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} `{}`", self.kind, self.name),
            namespace => write!(f, "{} `{namespace}/{}`", self.kind, self.name),
        }
    }
}
