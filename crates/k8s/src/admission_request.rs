//! The request to admit one object.

use kubewright_value::{Map, Text, Value};

use crate::normalise::fill_null_maps;
use crate::{GroupVersionKind, Operation, is_cluster_scoped, object_title};

/// The options of a connection: their kind, the kind that is connected to, and the subresource.
const CONNECT_OPTIONS: [(&str, &str, &str); 6] = [
    ("PodExecOptions", "Pod", "exec"),
    ("PodAttachOptions", "Pod", "attach"),
    ("PodPortForwardOptions", "Pod", "portforward"),
    ("PodProxyOptions", "Pod", "proxy"),
    ("ServiceProxyOptions", "Service", "proxy"),
    ("NodeProxyOptions", "Node", "proxy"),
];

/// One object and what is about to happen to it.
#[derive(Debug, Clone)]
pub struct AdmissionRequest {
    /// The identifier that the API server gave the request; empty outside a cluster.
    pub uid: Text,
    /// What is about to happen.
    pub operation: Operation,
    /// The object's type.
    pub kind: GroupVersionKind,
    /// The part of the object that is addressed, such as `status`; mostly empty.
    pub subresource: Text,
    /// The type of the object that the part belongs to, where the part has a type of its own; mostly empty.
    pub whole: GroupVersionKind,
    /// The object's name; may be empty when the API server generates one.
    pub name: Text,
    /// The object's namespace; empty for an object without one.
    pub namespace: Text,
    /// The object as it will be; as it was, for a deletion.
    pub object: Value,
    /// The object as it was; null for a creation.
    pub old_object: Value,
    /// Whether `old_object` is not known and the new object stands in for it. A violation is not excused because
    /// the old object had it too.
    pub is_old_object_assumed: bool,
    /// The user: `username`, `groups`, `uid`, `extra`; empty when it is not known.
    pub user: Value,
    /// The roles that are bound to the user, each `namespace:name`.
    pub roles: Vec<Text>,
    /// The cluster roles that are bound to the user.
    pub cluster_roles: Vec<Text>,
    /// Whether it is a dry run, so that nothing will be stored.
    pub is_dry_run: bool,
}

impl AdmissionRequest {
    /// Returns a request for an object outside a cluster.
    ///
    /// An object that names no namespace is in `default_namespace`, unless its kind has none.
    #[must_use]
    pub fn for_object(object: Value, operation: Operation, default_namespace: &str) -> Self {
        let kind = GroupVersionKind::of(&object);
        let metadata = |key| object.str_at(&["metadata", key]);
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

    /// Returns the request to create a document that is not a Kubernetes object and goes by the name of its file.
    #[must_use]
    pub fn for_payload(payload: Value, name: &str) -> Self {
        Self { name: name.into(), ..Self::for_object(payload, Operation::Create, "") }
    }

    /// Returns the request to create `object` as the API server would see it.
    #[must_use]
    pub fn for_stored(object: Value, default_namespace: &str) -> Self {
        let mut request = Self::for_object(object, Operation::Create, default_namespace);
        request.fill_namespace();
        fill_null_maps(&mut request.object);
        request
    }

    /// Makes a request to create an object one to do `operation` to it. A manifest does not say how the object was
    /// before an update: the object stands in for that, and `is_old_object_assumed` says so.
    pub fn set_operation(&mut self, operation: Operation) {
        self.operation = operation;
        self.old_object = match operation {
            Operation::Create | Operation::Connect => Value::Null,
            Operation::Update | Operation::Delete => self.object.clone(),
        };
        self.is_old_object_assumed = operation == Operation::Update;
        if operation == Operation::Connect {
            self.address_connection();
        }
    }

    /// Addresses the object that is connected to, as in a cluster, where the object of the request are the options
    /// of a connection.
    fn address_connection(&mut self) {
        let is_core = self.kind.group.is_empty();
        let known = CONNECT_OPTIONS.iter().find(|(kind, ..)| is_core && self.kind.kind == *kind);
        let Some((_, whole, subresource)) = known else { return };
        self.whole = GroupVersionKind { kind: (*whole).into(), ..self.kind.clone() };
        self.subresource = (*subresource).into();
        if is_cluster_scoped(&self.whole) {
            self.namespace = Text::default();
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

    /// Returns whether the user or its roles are known.
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
        object_title(kind, &self.namespace, name)
    }
}
