//! What is asked: one object, and what is about to happen to it.

use std::fmt;

use kubewright_value::{Map, Text, Value};

use crate::is_cluster_scoped;

/// What is about to happen to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// It is created.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// Somebody connects to it.
    Connect,
}

impl Operation {
    /// All of them, in the order in which they are listed to a user.
    pub const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Connect];

    /// Returns the word Kubernetes uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    /// Returns the operation called `name`, in capitals.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of an object.
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

/// One object and what is about to happen to it.
#[derive(Debug, Clone)]
pub struct Request {
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

impl Request {
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
