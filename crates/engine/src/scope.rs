//! Which requests a rule can be about at all.
//!
//! A scope is what the index is built from. It may be wider than the rule, never narrower.

use kubewright_k8s::{AdmissionRequest, Operations};
use kubewright_value::{Location, Text};

/// The kinds, namespaces and operations a rule can be about.
#[derive(Debug, Clone, Default)]
pub struct RuleScope {
    /// Which kinds.
    pub kinds: KindScope,
    /// Which namespaces.
    pub namespaces: NamespaceScope,
    /// Which operations.
    pub operations: Operations,
    /// Whether the rule is also about documents that are of no kind.
    pub payloads: bool,
    /// Where the rule file says so.
    pub places: ScopePlaces,
}

/// Where a rule file says what a scope is. It decides nothing, and tells why an object is out of the scope.
#[derive(Debug, Clone, Default)]
pub struct ScopePlaces {
    /// The place of the kinds, which may be written as resources.
    pub kinds: Option<Location>,
    /// The place of the operations.
    pub operations: Option<Location>,
    /// Why these are the namespaces, such as `that of its policy`, which may be empty, and the place.
    pub namespaces: Option<(Text, Location)>,
    /// The controllers that a rule about Pods is limited to, as they are written, and their place.
    pub pod_controllers: Option<(Text, Location)>,
}

/// The kinds a rule can be about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KindScope {
    /// Every kind.
    #[default]
    Any,
    /// Only these, whatever their group.
    Named(Vec<Text>),
}

/// The namespaces a rule can be about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NamespaceScope {
    /// Every namespace, and objects without one.
    #[default]
    Any,
    /// Only these; the empty name stands for objects without a namespace.
    Named(Vec<Text>),
}

impl RuleScope {
    /// Returns whether the rule can be about `request`.
    #[must_use]
    pub fn admits(&self, request: &AdmissionRequest) -> bool {
        let kind = match &self.kinds {
            KindScope::Any => self.admits_kind(&request.kind.kind),
            KindScope::Named(kinds) => kinds.contains(&request.kind.kind),
        };
        let namespace = match &self.namespaces {
            NamespaceScope::Any => true,
            NamespaceScope::Named(names) => names.contains(&request.namespace),
        };
        kind && namespace && self.operations.contains(request.operation)
    }

    /// Returns whether `kind` is one, or is none and the rule is about that too.
    pub(crate) fn admits_kind(&self, kind: &Text) -> bool {
        self.payloads || !kind.is_empty()
    }
}
