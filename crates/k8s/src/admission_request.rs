//! What is asked: one object, and what is about to happen to it.

use kubewright_value::{Map, Text, Value};

use crate::{GroupVersionKind, Operation, is_cluster_scoped};

/// One object and what is about to happen to it.
#[derive(Debug, Clone)]
pub struct AdmissionRequest {
    /// What the API server calls this request; empty outside a cluster.
    pub uid: Text,
    /// What is about to happen.
    pub operation: Operation,
    /// The object's type.
    pub kind: GroupVersionKind,
    /// The part of the object that is addressed, such as `status`; mostly empty.
    pub subresource: Text,
    /// The type of the object that the part belongs to, where the part has a type of its own; mostly empty.
    pub whole: GroupVersionKind,
    /// The object's name; may be empty when the API server makes one up.
    pub name: Text,
    /// The object's namespace; empty for an object without one.
    pub namespace: Text,
    /// The object as it will be; as it was, for a deletion.
    pub object: Value,
    /// The object as it was; null for a creation.
    pub old_object: Value,
    /// Whether `old_object` merely stands in for one that nobody knows. Nothing is forgiven because of it.
    pub is_old_object_assumed: bool,
    /// Who asks: `username`, `groups`, `uid`, `extra`. Empty when nobody knows.
    pub user: Value,
    /// The roles that are bound to the one who asks, each `namespace:name`.
    pub roles: Vec<Text>,
    /// The cluster roles that are bound to the one who asks.
    pub cluster_roles: Vec<Text>,
    /// Whether nothing will be stored.
    pub is_dry_run: bool,
}

impl AdmissionRequest {
    /// Returns a request for an object outside a cluster.
    ///
    /// An object that names no namespace is in `default_namespace`, unless its kind has none.
    #[must_use]
    pub fn for_object(object: Value, operation: Operation, default_namespace: &str) -> Self {
        let kind = GroupVersionKind::of(&object);
        let metadata = |key| object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or_default();
        let namespace = match metadata("namespace") {
            _ if is_cluster_scoped(&kind) => "",
            "" => default_namespace,
            namespace => namespace,
        };
        let name = match metadata("name") {
            "" => metadata("generateName"),
            name => name,
        };
        Self {
            uid: Text::default(),
            operation,
            name: name.into(),
            namespace: namespace.into(),
            kind,
            subresource: Text::default(),
            whole: GroupVersionKind::default(),
            object,
            old_object: Value::Null,
            is_old_object_assumed: false,
            user: Value::object(Map::new()),
            roles: Vec::new(),
            cluster_roles: Vec::new(),
            is_dry_run: false,
        }
    }

    /// Returns whether an API server sent it, rather than that it was made from a manifest.
    #[must_use]
    pub fn is_admission(&self) -> bool {
        !self.uid.is_empty()
    }

    /// Returns the type of the object that is addressed: the whole, where a part of it has a type of its own.
    #[must_use]
    pub fn addressed(&self) -> &GroupVersionKind {
        if self.whole.kind.is_empty() { &self.kind } else { &self.whole }
    }

    /// Returns whether it is known who asks.
    #[must_use]
    pub fn has_user(&self) -> bool {
        !self.roles.is_empty()
            || !self.cluster_roles.is_empty()
            || self.user.as_object().is_some_and(|user| !user.is_empty())
    }

    /// Returns how a person names the object: `Kind namespace/name`.
    #[must_use]
    pub fn subject(&self) -> String {
        let kind = if self.kind.kind.is_empty() { "payload" } else { &self.kind.kind };
        let name = if self.name.is_empty() { "(no name)" } else { &self.name };
        match self.namespace.as_str() {
            "" => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        }
    }
}
