//! The Kubernetes resources of a rule language: definitions, RBAC, watches, namespaces.

use kubewright_value::Text;

/// The resources that a rule language brings into a cluster, and those that it reads there.
pub trait ClusterResources: Send + Sync {
    /// Returns the CustomResourceDefinitions of its documents, each a YAML document.
    fn custom_resource_definitions(&self) -> Vec<&'static str>;

    /// Returns the resources of its documents, which are always watched.
    fn watched_resources(&self) -> &'static [WatchedResource];

    /// Returns the RBAC rules that the server needs besides reading [`watched_resources`](Self::watched_resources).
    fn policy_rules(&self) -> &'static [PolicyRule] {
        &[]
    }

    /// Returns the names of the upstream project's webhook configurations. If one exists, upstream is installed as well.
    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the label, key and value, that excludes a namespace from all rules.
    fn ignore_label(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns the namespaces that an installation gives the [`ignore_label`](Self::ignore_label) where it is missing.
    fn ignored_namespaces(&self) -> &'static [IgnoredNamespace] {
        &[]
    }
}

/// A namespace that is excluded from all rules unless its label says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IgnoredNamespace {
    /// Its name.
    pub name: &'static str,
    /// Whether an installation creates it, because rules are stored in it. Others are only labelled.
    pub is_created: bool,
}

/// A resource that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WatchedResource {
    /// The API group.
    pub group: &'static str,
    /// The version in which it is read.
    pub version: &'static str,
    /// The resource: plural, lower case.
    pub resource: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// What the objects are.
    pub role: WatchRole,
}

/// What watched objects are to a rule language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchRole {
    /// Rules.
    Rule,
    /// Exceptions from rules; watched only where the operator allows exceptions.
    Exception,
    /// Cluster-wide shared data, by name; see [`Query::Shared`](crate::Query::Shared).
    Shared,
}

/// An RBAC rule of the server's ClusterRole, with its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PolicyRule {
    /// The API group.
    pub group: &'static str,
    /// The resources: plural, lower case.
    pub resources: &'static [&'static str],
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// The purpose, for the administrator who grants it.
    pub why: &'static str,
}

/// What compiled rules read besides the request, so that it is watched before it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Nodes.
    pub nodes: bool,
    /// RoleBindings and ClusterRoleBindings, for the roles of the requesting user.
    pub role_bindings: bool,
    /// ConfigMaps, each a namespace and a name.
    pub config_maps: Vec<(Text, Text)>,
}

impl Needs {
    /// Adds what `other` needs.
    pub fn add(&mut self, other: Self) {
        self.nodes |= other.nodes;
        self.role_bindings |= other.role_bindings;
        self.config_maps.extend(other.config_maps);
        self.config_maps.sort();
        self.config_maps.dedup();
    }
}
