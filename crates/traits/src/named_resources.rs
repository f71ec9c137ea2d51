//! Resources by name and namespace, for resolving references.

use std::collections::HashMap;

use kubewright_engine::nearest_word;
use kubewright_value::Text;

/// Resources of one kind.
#[derive(Debug)]
pub(crate) struct NamedResources<T> {
    by_name: HashMap<Text, Vec<(Option<Text>, T)>>,
}

impl<T> Default for NamedResources<T> {
    fn default() -> Self {
        Self { by_name: HashMap::new() }
    }
}

impl<T> NamedResources<T> {
    /// Adds `item` under its name. Returns whether the name was free; the first one is kept.
    pub(crate) fn put(&mut self, name: Text, namespace: Option<Text>, item: T) -> bool {
        let items = self.by_name.entry(name).or_default();
        let is_free = items.iter().all(|(known, _)| *known != namespace);
        if is_free {
            items.push((namespace, item));
        }
        is_free
    }

    /// Returns the resource that `name` refers to from `namespace`. A file often leaves its namespace to `kubectl apply -n`,
    /// so a resource without one matches every namespace.
    pub(crate) fn find(&self, name: &str, namespace: Option<&str>) -> Option<&T> {
        let items = self.by_name.get(name)?;
        let there = |wanted: Option<&str>| items.iter().find(|(known, _)| known.as_deref() == wanted);
        let found = there(namespace).or_else(|| there(None)).or_else(|| match namespace {
            None => items.first(),
            Some(_) => None,
        });
        found.map(|(_, item)| item)
    }

    /// Returns the known name nearest to `name`.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        // Sorted, so that a tie between near names has a stable result.
        let mut known: Vec<&str> = self.by_name.keys().map(Text::as_str).collect();
        known.sort_unstable();
        nearest_word(name, known)
    }
}

/// Returns whether a resource in the one namespace may name a resource in the other.
pub(crate) fn is_namespace_visible(one: Option<&str>, other: Option<&str>) -> bool {
    one.is_none() || other.is_none() || one == other
}
