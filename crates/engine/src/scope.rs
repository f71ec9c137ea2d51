//! Which requests a rule can be about at all.
//!
//! A scope is what the index is built from. It may be wider than the rule, never narrower.

use std::fmt;

use kubewright_value::Text;

use crate::{Operation, Request};

/// The kinds, namespaces and operations a rule can be about.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Which kinds.
    pub kinds: KindScope,
    /// Which namespaces.
    pub namespaces: NamespaceScope,
    /// Which operations.
    pub operations: Operations,
    /// Whether the rule is also about documents that are of no kind.
    pub payloads: bool,
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

/// A set of operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operations(u8);

impl Operations {
    /// No operation.
    pub const NONE: Self = Self(0);
    /// Every operation.
    pub const ALL: Self = Self(0b1111);

    /// Returns this set with `operation` in it.
    #[must_use]
    pub fn with(self, operation: Operation) -> Self {
        Self(self.0 | 1 << operation as u8)
    }

    /// Returns what is in this set or in `other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether `operation` is in the set.
    #[must_use]
    pub fn contains(self, operation: Operation) -> bool {
        self.0 & (1 << operation as u8) != 0
    }
}

impl Default for Operations {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Operation> for Operations {
    fn from_iter<I: IntoIterator<Item = Operation>>(operations: I) -> Self {
        operations.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Operation::ALL.into_iter().filter(|o| self.contains(*o))).finish()
    }
}

impl Scope {
    /// Returns whether the rule can be about `request`.
    #[must_use]
    pub fn admits(&self, request: &Request) -> bool {
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
