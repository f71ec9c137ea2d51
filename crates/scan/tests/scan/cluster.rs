//! A cluster in memory: objects, rule objects and exceptions, and a scan that is told of every change.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_engine::{ClosedWorld, RuleStatus};
use kubewright_report::cluster_report::{ObjectResults, StatusFilter};
use kubewright_scan::{
    ChangedResults, JudgementCause, JudgementCounts, KindKey, ObjectKey, Observation, ReportOn,
    ScanRuleOptions, ScanRules, ScanSettings, Scanner,
};
use kubewright_value::{Document, Source, Value, yaml};

/// A cluster and its scan.
pub(super) struct SimulatedCluster {
    pub(super) scanner: Scanner,
    pub(super) objects: BTreeMap<ObjectKey, Value>,
    rules: BTreeMap<ObjectKey, Document>,
    exceptions: BTreeMap<ObjectKey, Document>,
    pub(super) now: i64,
}

/// Returns the documents in `text`.
pub(super) fn documents(text: &str) -> Vec<Document> {
    let parsed = yaml::read(&Source::new("test.yaml", text));
    assert!(parsed.problems.is_empty(), "{:?}\n{text}", parsed.problems);
    parsed.documents
}

/// Returns the object in `text`.
pub(super) fn object(text: &str) -> Value {
    documents(text).remove(0).value
}

pub(super) fn settings() -> ScanSettings {
    ScanSettings { report_on: ReportOn::All, ..ScanSettings::default() }
}

impl SimulatedCluster {
    /// Returns a cluster with these rules and objects.
    pub(super) fn new(settings: ScanSettings, rules: &str, objects: &str) -> Self {
        let mut cluster = Self {
            scanner: Scanner::new(settings),
            objects: BTreeMap::new(),
            rules: BTreeMap::new(),
            exceptions: BTreeMap::new(),
            now: 1_000,
        };
        cluster.put_rules(rules);
        documents(objects).into_iter().for_each(|document| cluster.put(document.value));
        cluster
    }

    pub(super) fn world(&self) -> ClosedWorld {
        ClosedWorld::new(self.objects.values().cloned())
    }

    /// Creates or replaces an object, as a watch would tell it.
    pub(super) fn put(&mut self, object: Value) {
        let key = ObjectKey::of(&object);
        self.objects.insert(key.clone(), object);
        self.observe(&key, JudgementCause::Object);
        self.judge_dependents(&key);
    }

    pub(super) fn delete(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
        self.scanner.remove(key);
        self.judge_dependents(key);
    }

    pub(super) fn put_rules(&mut self, text: &str) {
        for document in documents(text) {
            self.rules.insert(ObjectKey::of(&document.value), document);
        }
        self.load_rules();
    }

    pub(super) fn delete_rules(&mut self, is_gone: impl Fn(&ObjectKey) -> bool) {
        self.rules.retain(|key, _| !is_gone(key));
        self.load_rules();
    }

    pub(super) fn put_exception(&mut self, text: &str) {
        for document in documents(text) {
            self.exceptions.insert(ObjectKey::of(&document.value), document);
        }
        self.load_rules();
    }

    pub(super) fn delete_exceptions(&mut self) {
        self.exceptions.clear();
        self.load_rules();
    }

    /// Compiles the rules again, and observes what they are about if they have changed.
    pub(super) fn load_rules(&mut self) {
        let targets = self.scanner.replace_rules(Arc::new(self.compile()));
        let keys: Vec<ObjectKey> = self.objects.keys().cloned().collect();
        for key in keys {
            if targets.iter().any(|target| target.contains(&key.kind, &key.namespace)) {
                self.observe(&key, JudgementCause::Rule);
            }
        }
    }

    fn compile(&self) -> ScanRules {
        let options = ScanRuleOptions {
            exception_namespaces: vec!["exceptions".to_owned()],
            now: i128::from(self.now) * 1_000_000_000,
            ..ScanRuleOptions::default()
        };
        let rules: Vec<Document> = self.rules.values().cloned().collect();
        let exceptions: Vec<Document> = self.exceptions.values().cloned().collect();
        let (compiled, diagnostics) = ScanRules::compile(&rules, &exceptions, &options);
        let errors: Vec<_> = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        compiled
    }

    pub(super) fn observe(&mut self, key: &ObjectKey, cause: JudgementCause) -> Observation {
        let Some(object) = self.objects.get(key).cloned() else { return Observation::NotMatched };
        let observation = self.scanner.observe(&object, cause, &self.world(), self.now);
        assert!(
            !matches!(observation, Observation::NeedsAnswers(_) | Observation::Outdated),
            "{observation:?}"
        );
        observation
    }

    fn judge_dependents(&mut self, key: &ObjectKey) {
        for dependent in self.scanner.dependents_of(key) {
            self.observe(&dependent, JudgementCause::Dependency);
        }
    }

    /// Lists every kind again.
    pub(super) fn list_all(&mut self) {
        let kinds: std::collections::BTreeSet<KindKey> = self.objects.keys().map(KindKey::of).collect();
        for kind in &kinds {
            self.scanner.begin_list(kind);
            let keys: Vec<ObjectKey> =
                self.objects.keys().filter(|key| KindKey::of(key) == *kind).cloned().collect();
            for key in keys {
                self.observe(&key, JudgementCause::Object);
            }
            self.scanner.end_list(kind);
        }
    }

    /// Returns the results of a new scan of the same cluster.
    pub(super) fn fresh(&self, settings: ScanSettings) -> Scanner {
        let mut scanner = Scanner::new(settings);
        scanner.replace_rules(Arc::new(self.compile()));
        let world = self.world();
        for object in self.objects.values() {
            scanner.observe(object, JudgementCause::Object, &world, self.now);
        }
        scanner.refresh_patterns(self.now);
        scanner
    }

    /// Returns all rows, each `Kind namespace/name policy/rule result`.
    pub(super) fn rows(&self) -> Vec<String> {
        self.scanner.results().flat_map(|results| rows_of(&results)).collect()
    }

    pub(super) fn counts(&self) -> JudgementCounts {
        self.scanner.judgement_counts()
    }

    /// Returns the changes since the last call, each `Kind namespace/name: rows`.
    pub(super) fn changes(&mut self) -> Vec<String> {
        let line = |changed: ChangedResults| {
            let rows = changed.results.as_ref().map_or(0, |results| results.results.len());
            format!("{} {}/{}: {rows}", changed.scope.kind, changed.scope.namespace, changed.scope.name)
        };
        self.scanner.take_changed().into_iter().map(line).collect()
    }
}

pub(super) fn rows_of(results: &ObjectResults) -> Vec<String> {
    let scope = &results.scope;
    let row = |row: &kubewright_report::cluster_report::ReportResult| {
        let rule = if row.rule.is_empty() { String::new() } else { format!("/{}", row.rule) };
        format!("{} {}/{} {}{rule} {}", scope.kind, scope.namespace, scope.name, row.policy, row.result)
    };
    results.results.iter().map(row).collect()
}

/// Returns `results` without times.
pub(super) fn timeless(scanner: &Scanner) -> Vec<ObjectResults> {
    let mut all: Vec<ObjectResults> = scanner.results().collect();
    all.iter_mut().flat_map(|results| &mut results.results).for_each(|row| row.since = 0);
    all
}

pub(super) fn every_status() -> StatusFilter {
    StatusFilter::of(&[
        RuleStatus::Pass,
        RuleStatus::Fail,
        RuleStatus::Warn,
        RuleStatus::Error,
        RuleStatus::Skip,
    ])
}

pub(super) fn key(kind: &str, namespace: &str, name: &str) -> ObjectKey {
    let group = if kind == "Deployment" { "apps" } else { "" };
    ObjectKey { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
}
