//! All rules and patterns of a scan, compiled once and never changed.

mod change;
mod digest;
mod named;
mod owners;
mod pattern_set;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kubewright_dialects::{
    AdmittedExceptions, DialectOptions, admitted_exceptions, all_dialects, compile_within_budget,
};
use kubewright_engine::{
    CompiledPolicy, Diagnostic, Dialect, Engine, KindScope, NamespaceScope, Needs, Recompile, Rule,
    RuleAction, RuleId, RuleScope, SetProgram,
};
use kubewright_golib::compile_budget::CompileBudget;
use kubewright_k8s::Operation;
use kubewright_patterns::DetectionSettings;
use kubewright_value::{Document, Text};

use crate::clock_use::names_clock;
use crate::field_use::parts_read_by;
use crate::fingerprint::ReadParts;
use crate::{KindKey, ObjectKey};
pub(crate) use change::would_change;
use digest::{PolicyDigest, hash_document, is_about_policy};
use owners::OwnerRules;
use pattern_set::PatternSet;

/// How rules are compiled.
#[derive(Debug, Clone, Default)]
pub struct ScanRuleOptions {
    /// The options of the dialects. Exceptions in it always count.
    pub dialects: DialectOptions,
    /// The namespaces whose exceptions count; `*` is any.
    pub exception_namespaces: Vec<String>,
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
    pub(crate) owners: OwnerRules,
    pub(crate) patterns: PatternSet,
    policies: BTreeMap<ObjectKey, ScannedPolicy>,
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
    /// Compiles `documents`: rules, and documents that change how they work, such as bindings. A document that no
    /// language claims is left out; one that cannot be compiled does not affect the others.
    ///
    /// `exceptions` are those that a cluster has; they count as in admission, from the namespaces that `options` name
    /// and until they end.
    #[must_use]
    pub fn compile(
        documents: &[Document],
        exceptions: &[Document],
        options: &ScanRuleOptions,
    ) -> (Self, Vec<Diagnostic>) {
        let mut dialect_options = options.dialects.clone();
        dialect_options.inputs.now = Some(options.now);
        let AdmittedExceptions { documents: admitted, until } = {
            let dialects = all_dialects(&dialect_options);
            let languages: Vec<_> = dialects.iter().filter_map(|dialect| dialect.cluster_support()).collect();
            admitted_exceptions(exceptions, &options.exception_namespaces, &languages, options.now)
        };
        dialect_options.exceptions.extend(admitted);
        let dialects = all_dialects(&dialect_options);
        let mut compiler = RuleSetCompiler {
            exceptions: &dialect_options.exceptions,
            is_auxiliary: documents
                .iter()
                .map(|document| dialects.iter().position(|dialect| dialect.is_auxiliary(document)))
                .collect(),
            dialects: &dialects,
            documents,
            budget: CompileBudget::default(),
            compiled: Self { expiry: until, ..Self::default() },
            rules: Vec::new(),
            pattern_documents: Vec::new(),
            diagnostics: Vec::new(),
        };
        compiler.compile_all(&options.detection);
        compiler.finish()
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

    /// Returns all rules: first those that would change objects, then those that judge them.
    #[must_use]
    pub fn all_rules(&self) -> Vec<Arc<Rule>> {
        self.changing.rules().iter().chain(self.judging.rules()).cloned().collect()
    }

    /// Returns the ids of all rules.
    pub fn rule_ids(&self) -> impl Iterator<Item = &RuleId> {
        self.policies.values().flat_map(|policy| &policy.rules)
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

/// Rules under construction.
struct RuleSetCompiler<'d> {
    dialects: &'d [Box<dyn Dialect>],
    documents: &'d [Document],
    /// The dialect of each auxiliary document.
    is_auxiliary: Vec<Option<usize>>,
    exceptions: &'d [Document],
    budget: CompileBudget,
    compiled: ScanRules,
    rules: Vec<Rule>,
    pattern_documents: Vec<&'d Document>,
    diagnostics: Vec<Diagnostic>,
}

impl<'d> RuleSetCompiler<'d> {
    fn compile_all(&mut self, detection: &DetectionSettings) {
        let auxiliaries: Vec<Vec<Document>> =
            (0..self.dialects.len()).map(|dialect| self.auxiliaries_of(dialect)).collect();
        let documents = self.documents;
        for (document, _) in
            documents.iter().zip(self.is_auxiliary.clone()).filter(|(_, auxiliary)| auxiliary.is_none())
        {
            let claiming = self.dialects.iter().zip(&auxiliaries);
            let found = claiming.into_iter().find(|(dialect, _)| dialect.claims(document));
            if let Some((dialect, auxiliaries)) = found {
                self.add(dialect.as_ref(), document, auxiliaries);
            }
        }
        for (dialect, auxiliaries) in self.dialects.iter().zip(&auxiliaries) {
            self.diagnostics.extend(dialect.check_auxiliaries(auxiliaries, &self.rules));
        }
        if !self.pattern_documents.is_empty() {
            // Only references are read of them, whatever their language.
            let auxiliaries = auxiliaries.concat();
            self.compiled.patterns = PatternSet::compile(&self.pattern_documents, &auxiliaries, detection);
        }
    }

    fn auxiliaries_of(&self, dialect: usize) -> Vec<Document> {
        let documents = self.documents.iter().zip(&self.is_auxiliary);
        documents.filter(|(_, own)| **own == Some(dialect)).map(|(document, _)| document.clone()).collect()
    }

    fn add(&mut self, dialect: &dyn Dialect, document: &'d Document, auxiliaries: &[Document]) {
        let budget = &mut self.budget;
        // Compiling never panics; if it does, only this document is lost.
        let compiled =
            catch_unwind(AssertUnwindSafe(|| compile_within_budget(dialect, document, auxiliaries, budget)));
        let CompiledPolicy { rules, needs, recompile, diagnostics, set_programs, .. } =
            compiled.unwrap_or_default();
        self.diagnostics.extend(diagnostics);
        if set_programs.contains(&SetProgram::Pattern) {
            self.pattern_documents.push(document);
        }
        let is_scanned = |rule: &Rule| {
            rule.evaluation_modes.background && rule.scope.operations.contains(Operation::Create)
        };
        let rules: Vec<Rule> = rules.into_iter().filter(is_scanned).collect();
        if rules.is_empty() {
            return;
        }
        self.compiled.needs.add(needs);
        let key = ObjectKey::of(&document.value);
        let related = auxiliaries.iter().chain(self.exceptions);
        let related = related.filter(|other| is_about_policy(&other.value, &key));
        // Of two documents with one name the rules of both count in the engine, so both count here.
        let policy = self.compiled.policies.entry(key.clone()).or_default();
        policy
            .digest
            .add(std::iter::once(document).chain(related).map(|document| hash_document(&document.value)));
        policy.scopes.extend(rules.iter().map(|rule| rule.scope.clone()));
        policy.rules.extend(rules.iter().map(|rule| RuleId::clone(&rule.id)));
        policy.parts.add(parts_read_by(&document.value));
        policy.reads_clock |= recompile == Recompile::Periodically || names_clock(&document.value);
        self.rules.extend(rules);
    }

    fn finish(self) -> (ScanRules, Vec<Diagnostic>) {
        let Self { mut compiled, rules, diagnostics, .. } = self;
        compiled.owners = OwnerRules::of(&rules);
        let (changing, judging) = rules.into_iter().partition(|rule| rule.action == RuleAction::Mutate);
        compiled.changing = Engine::new(changing);
        compiled.judging = Engine::new(judging);
        (compiled, diagnostics)
    }
}
