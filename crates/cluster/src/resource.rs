//! The addresses of a resource.

use kubewright_k8s::ApiPath;
use kubewright_value::Text;

/// A resource of the API: what stands in the addresses of its objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// The plural name in lower case.
    pub name: Text,
}

impl GroupVersionResource {
    /// Returns the resource of this name.
    #[must_use]
    pub fn new(group: &str, version: &str, name: &str) -> Self {
        Self { group: group.into(), version: version.into(), name: name.into() }
    }

    /// Returns the address of all objects.
    #[must_use]
    pub fn all(&self) -> ApiPath {
        self.within("")
    }

    /// Returns the address of the objects of a namespace.
    #[must_use]
    pub fn within(&self, namespace: &str) -> ApiPath {
        ApiPath {
            group: self.group.clone(),
            version: self.version.clone(),
            namespace: namespace.into(),
            resource: self.name.clone(),
            ..ApiPath::default()
        }
    }

    /// Returns the address of one object; `namespace` is empty for one without.
    #[must_use]
    pub fn named(&self, namespace: &str, name: &str) -> ApiPath {
        ApiPath { name: name.into(), ..self.within(namespace) }
    }

    /// Returns the address of the objects called `name`, at most one, for a list or a watch that a role allows by name.
    #[must_use]
    pub fn only(&self, namespace: &str, name: &str) -> ApiPath {
        let selector = format!("metadata.name={name}");
        ApiPath { query: vec![("fieldSelector".into(), selector.into())], ..self.within(namespace) }
    }
}
