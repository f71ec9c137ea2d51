//! All rules and patterns of a scan, compiled once and never changed.

mod background;
mod change;
mod compile;
mod digest;
mod named;
mod owners;
mod pattern_set;
mod standing;

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, Engine, KindScope, NamespaceScope, Needs, Rule, RuleId, RuleScope};
use kubewright_patterns::DetectionSettings;
use kubewright_value::{Document, Text};

use crate::fingerprint::ReadParts;
use crate::{KindKey, ObjectKey};
pub use background::BackgroundPolicy;
pub use change::CHANGES_PROPERTY;
pub(crate) use change::would_change;
use digest::PolicyDigest;
use owners::OwnerRules;
use pattern_set::PatternSet;
pub(crate) use standing::without_writes;
pub use standing::{GENERATED_PROPERTY, PATCHED_PROPERTY};

/// How rules are compiled.
#[derive(Debug, Clone, Default)]
pub struct ScanRuleOptions {
    /// The options of the dialects. Exceptions in it always count.
    pub dialects: DialectOptions,
    /// The namespaces whose exceptions count; `*` is any.
    pub exception_namespaces: Vec<String>,
    /// Whether policies that need a binding and have none judge objects. In a cluster they do nothing.
    pub runs_unbound_policies: bool,
    /// Whether rules that run at admission only judge stored objects, as if these were created now.
    pub runs_admission_rules: bool,
    /// The options of searches for patterns.
    pub detection: DetectionSettings,
    /// The time that rules see, in nanoseconds since 1970.
    pub now: i128,
}

/// All rules that judge stored objects.
#[derive(Debug, Default)]
pub struct ScanRules {
    /// The rules that judge objects as they are stored.
    pub(crate) judging: Engine,
    /// The rules that would change objects. They run apart, so that no other rule sees their changes.
    pub(crate) changing: Engine,
    /// The rules that write because of objects. They are asked what they would do.
    pub(crate) standing: Engine,
    pub(crate) owners: OwnerRules,
    pub(crate) patterns: PatternSet,
    do_patterns_read_bookkeeping: bool,
    policies: BTreeMap<ObjectKey, ScannedPolicy>,
    background: Vec<BackgroundPolicy>,
    needs: Needs,
    expiry: Option<i128>,
}

/// What is known about one policy.
#[derive(Debug, Default)]
struct ScannedPolicy {
    digest: PolicyDigest,
    scopes: Vec<RuleScope>,
    rules: Vec<RuleId>,
    parts: ReadParts,
    reads_clock: bool,
}

/// Objects that are to be judged again because rules about them have changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct RescanTarget {
    /// The kind, whatever its group; nothing for every kind.
    pub kind: Option<Text>,
    /// The namespace, empty for objects without one; nothing for every namespace.
    pub namespace: Option<Text>,
}

impl RescanTarget {
    /// Returns whether objects of `kind` in `namespace` are meant.
    #[must_use]
    pub fn contains(&self, kind: &str, namespace: &str) -> bool {
        self.kind.as_ref().is_none_or(|own| own == kind)
            && self.namespace.as_ref().is_none_or(|own| own == namespace)
    }

    /// Returns whether some objects of `kind` are meant.
    #[must_use]
    pub fn contains_kind(&self, kind: &KindKey) -> bool {
        self.kind.as_ref().is_none_or(|own| *own == kind.kind)
    }
}

impl ScanRules {
    /// Compiles `documents`: rules, documents that change how they work, such as bindings, and lists of both. A document that no
    /// language claims is left out, and so is one that was generated from a rule; one that cannot be compiled does not
    /// affect the others.
    ///
    /// `exceptions` are those that a cluster has; they count as in admission, from the namespaces that `options` name
    /// and until they end.
    #[must_use]
    pub fn compile(
        documents: &[Document],
        exceptions: &[Document],
        options: &ScanRuleOptions,
    ) -> (Self, Vec<Diagnostic>) {
        compile::compile_rules(documents, exceptions, options)
    }

    /// Returns whether objects of a kind can matter to a rule or a pattern.
    #[must_use]
    pub fn reads_kind(&self, group: &str, kind: &str, is_namespaced: bool) -> bool {
        self.patterns.reads_kind(group, kind) || self.judges_kind(kind, is_namespaced)
    }

    /// Returns whether a rule can be about objects of a kind.
    fn judges_kind(&self, kind: &str, is_namespaced: bool) -> bool {
        let scopes = self.policies.values().flat_map(|policy| &policy.scopes);
        scopes.into_iter().any(|scope| {
            let is_place = match &scope.namespaces {
                NamespaceScope::Any => true,
                NamespaceScope::Named(names) => names.iter().any(|name| name.is_empty() != is_namespaced),
            };
            is_place && is_kind_in(scope, kind)
        })
    }

    /// Returns what the rules read besides the objects, as far as that is known before they run.
    #[must_use]
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Returns the digest of the policy of `rule` with its exceptions and bindings, if it is loaded.
    #[must_use]
    pub fn digest_of(&self, rule: &RuleId) -> Option<u64> {
        self.policies.values().find(|policy| policy.rules.contains(rule)).map(|policy| policy.digest.0)
    }

    /// Returns all rules: first those that would write because of objects or change them, then those that judge them.
    #[must_use]
    pub fn all_rules(&self) -> Vec<Arc<Rule>> {
        let engines = [&self.standing, &self.changing, &self.judging];
        engines.into_iter().flat_map(Engine::rules).cloned().collect()
    }

    /// Returns the ids of all rules.
    pub fn rule_ids(&self) -> impl Iterator<Item = &RuleId> {
        self.policies.values().flat_map(|policy| &policy.rules)
    }

    /// Returns the policies that write objects in the background.
    #[must_use]
    pub fn background(&self) -> &[BackgroundPolicy] {
        &self.background
    }

    /// Returns the names of all patterns.
    pub fn pattern_names(&self) -> impl Iterator<Item = &Text> {
        self.patterns.names().into_iter()
    }

    /// Returns when the first exception ends, in nanoseconds since 1970; then the rules must be compiled again.
    #[must_use]
    pub fn expiry(&self) -> Option<i128> {
        self.expiry
    }

    /// Returns whether a rule captures the time when it is compiled, so that the rules must be compiled again before
    /// objects that are [due](crate::Scanner::due) are judged.
    #[must_use]
    pub fn captures_time(&self) -> bool {
        self.policies.values().any(|policy| policy.reads_clock)
    }

    /// Returns the objects about which the rules of `self` and `newer` can say different things.
    pub(crate) fn targets_changed_in(&self, newer: &Self) -> Vec<RescanTarget> {
        let digest = |rules: &Self, key: &ObjectKey| rules.policies.get(key).map(|policy| policy.digest);
        let is_changed = |key: &&ObjectKey| digest(self, key) != digest(newer, key);
        let keys = self.policies.keys().chain(newer.policies.keys()).filter(is_changed);
        let policies = keys.flat_map(|key| [self.policies.get(key), newer.policies.get(key)]).flatten();
        let targets = policies.flat_map(|policy| policy.scopes.iter().flat_map(targets_of));
        without_included(targets.collect())
    }

    /// Returns whether a rule or a pattern can read `metadata.managedFields` of objects of `kind`.
    #[must_use]
    pub fn reads_managed_fields(&self, kind: &str) -> bool {
        self.do_patterns_read_bookkeeping || self.parts_read_of(kind).bookkeeping
    }

    /// Returns which parts of objects of `kind` rules can read.
    pub(crate) fn parts_read_of(&self, kind: &str) -> ReadParts {
        let mut parts = ReadParts::default();
        for policy in self.policies.values().filter(|policy| policy.parts != ReadParts::default()) {
            if policy.scopes.iter().any(|scope| is_kind_in(scope, kind)) {
                parts.add(policy.parts);
            }
        }
        parts
    }

    /// Returns whether a rule that can be about objects of `kind` in `namespace` reads the clock.
    pub(crate) fn reads_clock(&self, kind: &str, namespace: &Text) -> bool {
        let policies = self.policies.values().filter(|policy| policy.reads_clock);
        policies.flat_map(|policy| &policy.scopes).any(|scope| {
            let is_place = match &scope.namespaces {
                NamespaceScope::Any => true,
                NamespaceScope::Named(names) => names.contains(namespace),
            };
            is_place && is_kind_in(scope, kind)
        })
    }
}

fn is_kind_in(scope: &RuleScope, kind: &str) -> bool {
    match &scope.kinds {
        KindScope::Any => true,
        KindScope::Named(kinds) => kinds.iter().any(|named| named == kind),
    }
}

fn targets_of(scope: &RuleScope) -> Vec<RescanTarget> {
    let kinds: Vec<Option<&Text>> = match &scope.kinds {
        KindScope::Any => vec![None],
        KindScope::Named(kinds) => kinds.iter().map(Some).collect(),
    };
    let namespaces: Vec<Option<&Text>> = match &scope.namespaces {
        NamespaceScope::Any => vec![None],
        NamespaceScope::Named(names) => names.iter().map(Some).collect(),
    };
    let pairs = kinds.iter().flat_map(|kind| namespaces.iter().map(move |namespace| (*kind, *namespace)));
    pairs
        .map(|(kind, namespace)| RescanTarget { kind: kind.cloned(), namespace: namespace.cloned() })
        .collect()
}

/// Returns `targets` without those that another one includes.
fn without_included(mut targets: Vec<RescanTarget>) -> Vec<RescanTarget> {
    targets.sort();
    targets.dedup();
    let includes = |wide: &RescanTarget, narrow: &RescanTarget| {
        wide != narrow
            && (wide.kind.is_none() || wide.kind == narrow.kind)
            && (wide.namespace.is_none() || wide.namespace == narrow.namespace)
    };
    let all = targets.clone();
    targets.retain(|target| !all.iter().any(|other| includes(other, target)));
    targets
}
