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
        let text = |key| object.str_at(&[key]);
        let api_version = text("apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: text("kind").into() }
    }
}

/// Returns whether `api_version` can be a version of a kind: `v1` or `apps/v1`.
#[must_use]
pub fn is_api_version(api_version: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.contains('/');
    match api_version.split_once('/') {
        None => is_part(api_version),
        Some((group, version)) => is_part(group) && is_part(version),
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
        let metadata = |key| object.str_at(&["metadata", key]);
        Self {
            group: kind.group,
            kind: kind.kind,
            namespace: metadata("namespace").into(),
            name: metadata("name").into(),
        }
    }
}

/// As messages name an object: ``Kind `namespace/name` ``.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, namespaced_name(&self.namespace, &self.name))
    }
}

/// Returns `namespace/name`, or the name alone for an object without a namespace.
#[must_use]
pub fn namespaced_name(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// Returns how an object is named in tables, logs and reports: `Kind namespace/name`.
#[must_use]
pub fn object_title(kind: &str, namespace: &str, name: &str) -> String {
    format!("{kind} {}", namespaced_name(namespace, name))
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    #[test]
    fn api_version_has_at_most_one_group() {
        assert!(["v1", "apps/v1", "networking.k8s.io/v1"].into_iter().all(is_api_version));
        assert!(!["", "/", "/v1", "apps/", "a/b/v1"].into_iter().any(is_api_version));
    }

    #[test]
    fn object_name_prints_the_namespace_only_where_there_is_one() {
        let object = |text: &str| ObjectName::of(&json::parse(text).expect("JSON"));
        let pod = object(r#"{"kind":"Pod","metadata":{"name":"a","namespace":"shop"}}"#);
        let node = object(r#"{"kind":"Node","metadata":{"name":"n"}}"#);
        assert_eq!((pod.to_string(), node.to_string()), ("Pod `shop/a`".to_owned(), "Node `n`".to_owned()));
        assert_eq!(object_title("Pod", "shop", "a"), "Pod shop/a");
        assert_eq!(object_title("Node", "", "n"), "Node n");
    }
}
