//! What leaves a scan: the results of each object, what has changed, and totals.

use std::collections::BTreeMap;

use kubewright_report::OutcomeCounts;
use kubewright_report::cluster_report::{
    ObjectResults, ReportResult, ReportScope, ReportSource, policy_and_rule,
};

use super::tracked::{NameKey, TrackedKind};
use super::{Scanner, TrackedObject};
use crate::{KindKey, ObjectKey};
use kubewright_value::Text;

/// The results of an object that are not as they were.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangedResults {
    /// The object.
    pub scope: ReportScope,
    /// Who says it.
    pub source: ReportSource,
    /// The results; nothing where the object has no rows any more.
    pub results: Option<ObjectResults>,
}

/// True totals, also of outcomes without rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanTotals {
    /// How many objects rules are about.
    pub objects: usize,
    /// The outcomes of each rule.
    pub rules: BTreeMap<RuleTotals, OutcomeCounts>,
}

/// A rule in the totals, as rows name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct RuleTotals {
    /// The rule language.
    pub dialect: &'static str,
    /// The policy.
    pub policy: Text,
    /// The rule in it.
    pub rule: Text,
}

impl Scanner {
    /// Returns the results that have changed since the last call, in the order of the objects' names.
    pub fn take_changed(&mut self) -> Vec<ChangedResults> {
        let mut changed = Vec::new();
        for (key, before) in std::mem::take(&mut self.changed) {
            let results = self.results_of(&key);
            let removed = before.filter(|scope| results.as_ref().is_none_or(|now| now.scope != *scope));
            changed.extend(removed.map(|scope| ChangedResults {
                scope,
                source: ReportSource::Rules,
                results: None,
            }));
            changed.extend(results.map(|results| ChangedResults {
                scope: results.scope.clone(),
                source: ReportSource::Rules,
                results: Some(results),
            }));
        }
        changed.extend(self.take_changed_findings());
        changed
    }

    /// Returns the results of every object that has rows: those of rules by kind, namespace and name, then those of
    /// patterns.
    pub fn results(&self) -> impl Iterator<Item = ObjectResults> {
        let of_rules = self.kinds.iter().flat_map(|(kind, objects)| {
            objects.iter().filter_map(|(key, object)| self.object_results(kind, objects, (key, object)))
        });
        of_rules.chain(self.pattern_results())
    }

    /// Returns what rules say about one object, if it has rows.
    #[must_use]
    pub fn results_of(&self, key: &ObjectKey) -> Option<ObjectResults> {
        let kind = KindKey::of(key);
        let objects = self.kinds.get(&kind)?;
        self.object_results(&kind, objects, (&NameKey::of(key), self.tracked(key)?))
    }

    /// Returns how many outcomes of each status each rule has, whether they have rows or not.
    #[must_use]
    pub fn totals(&self) -> ScanTotals {
        let mut totals =
            ScanTotals { objects: self.kinds.values().map(TrackedKind::len).sum(), rules: BTreeMap::new() };
        for (outcome, objects) in self.outcomes.all() {
            let (policy, rule) = policy_and_rule(&outcome.rule);
            let rule = RuleTotals { dialect: outcome.rule.dialect, policy, rule };
            *totals.rules.entry(rule).or_default().of_mut(outcome.status) += objects as usize;
        }
        self.add_finding_totals(&mut totals.rules);
        totals
    }

    fn object_results(
        &self,
        kind: &KindKey,
        objects: &TrackedKind,
        (key, object): (&NameKey, &TrackedObject),
    ) -> Option<ObjectResults> {
        let rows = self.outcomes.rows(object.outcomes).enumerate();
        let rows: Vec<ReportResult> =
            rows.map(|(place, row)| ReportResult { since: object.since.at(place), ..row.clone() }).collect();
        (!rows.is_empty()).then(|| ObjectResults {
            scope: objects.scope(kind, key, object),
            source: ReportSource::Rules,
            counts: self.outcomes.counts(object.outcomes),
            statuses: self.settings.report_results,
            results: rows,
        })
    }

    /// Notes that the results of an object have changed; `before` is the object of its last report.
    pub(super) fn note_change(&mut self, key: ObjectKey, before: Option<ReportScope>) {
        // What was reported before the first of several changes counts.
        self.changed.entry(key).or_insert(before);
    }

    /// Notes that the results of an object have changed, if they have.
    pub(super) fn note_difference(
        &mut self,
        key: &ObjectKey,
        previous: Option<&(TrackedObject, ReportScope)>,
        object: &TrackedObject,
    ) {
        let has_rows = |outcomes| self.outcomes.rows(outcomes).next().is_some();
        let is_same = previous.is_some_and(|(previous, _)| {
            previous.outcomes == object.outcomes
                && previous.uid == object.uid
                && previous.version == object.version
                && previous.since == object.since
        });
        let had_rows = previous.is_some_and(|(previous, _)| has_rows(previous.outcomes));
        if !is_same && (had_rows || has_rows(object.outcomes)) {
            let before = previous.filter(|_| had_rows).map(|(_, scope)| scope.clone());
            self.note_change(key.clone(), before);
        }
    }
}
