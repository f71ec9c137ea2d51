//! Finds the few rules that may apply to a request among all loaded ones.
//!
//! Built once from the scopes of the rules and only read afterwards, so it needs no lock.
//! It may return rules that turn out not to apply, because a rule matches the object itself;
//! it must never leave out a rule that would have applied.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_value::Text;

use crate::{KindScope, NamespaceScope, Rule, RuleAction};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::CompactSort as _;

/// Every loaded rule, arranged by operation, namespace and kind.
///
/// A rule that names a kind or a namespace is listed only under it; so a request reads
/// four short lists, whatever the number of other rules.
#[derive(Debug, Default)]
pub struct RuleIndex {
    // INVARIANT: in the order in which rules run.
    rules: Vec<Arc<Rule>>,
    by_operation: [NamespaceIndex; 4],
}

// INVARIANT of all lists: positions in `rules`, ascending.
#[derive(Debug, Default)]
struct NamespaceIndex {
    by_namespace: HashMap<Text, KindIndex>,
    any_namespace: KindIndex,
}

#[derive(Debug, Default)]
struct KindIndex {
    named: HashMap<Text, Vec<u32>>,
    any: Vec<u32>,
}

impl RuleIndex {
    /// Builds an index over `rules`, sorted into the order in which they run:
    /// by action, tier, precedence, then name. Of two rules with one id and action the later one stays.
    #[must_use]
    pub fn new(rules: Vec<Arc<Rule>>) -> Self {
        let mut unique: Vec<Arc<Rule>> = Vec::with_capacity(rules.len());
        let mut known: HashMap<(String, RuleAction), usize> = HashMap::new();
        for rule in rules {
            let key = (rule.id.to_string(), rule.action);
            match known.get(&key).and_then(|i| unique.get_mut(*i)) {
                Some(earlier) => *earlier = rule,
                None => {
                    known.insert(key, unique.len());
                    unique.push(rule);
                }
            }
        }
        unique.compact_sort_by(|a, b| a.order().cmp(&b.order()));
        let mut index = Self { rules: unique, by_operation: Default::default() };
        for (position, rule) in index.rules.iter().enumerate() {
            let Ok(position) = u32::try_from(position) else { break };
            for (operation, shelf) in Operation::ALL.into_iter().zip(&mut index.by_operation) {
                if rule.scope.operations.contains(operation) {
                    shelf.put(position, rule);
                }
            }
        }
        index
    }

    /// Returns the rules in the order in which they run.
    #[must_use]
    pub fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// Returns every rule whose scope admits `request`, in the order in which they run.
    #[must_use]
    pub fn candidates(&self, request: &AdmissionRequest) -> Vec<&Rule> {
        let mut positions = Vec::new();
        if let Some(shelf) = self.by_operation.get(request.operation as usize) {
            shelf.any_namespace.collect(&request.kind.kind, &mut positions);
            if let Some(by_kind) = shelf.by_namespace.get(&request.namespace) {
                by_kind.collect(&request.kind.kind, &mut positions);
            }
        }
        positions.sort_unstable();
        let rules =
            positions.into_iter().filter_map(|position| self.rules.get(position as usize).map(Arc::as_ref));
        rules.filter(|rule| rule.scope.admits_kind(&request.kind.kind)).collect()
    }
}

impl RuleIndex {
    /// Returns the rules that may apply to an object of `kind`, whatever is done with it and wherever it is.
    pub(crate) fn about_kind(&self, kind: &Text) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(Arc::as_ref).filter(move |rule| {
            let is_listed = match &rule.scope.kinds {
                KindScope::Any => true,
                KindScope::Named(kinds) => kinds.iter().any(|listed| listed == kind),
            };
            is_listed && rule.scope.admits_kind(kind)
        })
    }
}

impl NamespaceIndex {
    fn put(&mut self, position: u32, rule: &Rule) {
        match &rule.scope.namespaces {
            NamespaceScope::Any => self.any_namespace.put(position, &rule.scope.kinds),
            NamespaceScope::Named(namespaces) => {
                for namespace in namespaces {
                    self.by_namespace.entry(namespace.clone()).or_default().put(position, &rule.scope.kinds);
                }
            }
        }
    }
}

impl KindIndex {
    fn put(&mut self, position: u32, kinds: &KindScope) {
        let push = |list: &mut Vec<u32>| {
            if list.last() != Some(&position) {
                list.push(position);
            }
        };
        match kinds {
            KindScope::Any => push(&mut self.any),
            KindScope::Named(kinds) => {
                kinds.iter().for_each(|kind| push(self.named.entry(kind.clone()).or_default()));
            }
        }
    }

    fn collect(&self, kind: &Text, into: &mut Vec<u32>) {
        into.extend_from_slice(&self.any);
        if let Some(named) = self.named.get(kind) {
            into.extend_from_slice(named);
        }
    }
}

#[cfg(test)]
mod tests;
