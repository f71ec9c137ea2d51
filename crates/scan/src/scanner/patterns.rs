//! The findings of patterns, kept up to date with the objects of a scan.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use kubewright_patterns::{FindingChange, FindingObject, IncompletePattern, Level, LivePatterns};
use kubewright_report::OutcomeCounts;
use kubewright_report::cluster_report::{
    JudgedFinding, ObjectResults, ReportResult, ReportScope, ReportSource, result_of_finding,
};
use kubewright_value::{Text, Value};

use super::{ChangedResults, RuleTotals, Scanner};
use crate::{ObjectKey, ScanRules};

/// Findings with this severity, or a higher one, are failures; others are warnings.
const MIN_FAILURE_LEVEL: Level = Level::High;

/// The patterns, the graph of their objects, and the rows of their findings.
#[derive(Debug, Default)]
pub(super) struct PatternFindingRows {
    live: Option<LivePatterns>,
    /// The rows of each leader, by pattern and actors.
    rows: BTreeMap<ReportScope, BTreeMap<(Text, Vec<FindingObject>), ReportResult>>,
    changed: BTreeSet<ReportScope>,
    /// What users have suppressed, which may be known before the patterns are.
    suppressed: HashSet<(Text, Text)>,
}

impl PatternFindingRows {
    /// Replaces the patterns, where they have changed, and returns whether all objects must be inserted again.
    pub(super) fn replace(&mut self, before: &ScanRules, rules: &ScanRules) -> bool {
        if before.patterns.is_same(&rules.patterns) {
            return false;
        }
        let previous = self.live.take();
        let live = rules.patterns.live();
        let mut live = match previous {
            Some(previous) => live.with_findings_of(previous),
            None => live,
        };
        live.suppress(self.suppressed.clone());
        self.live = Some(live);
        !rules.patterns.is_empty()
    }

    pub(super) fn insert(&mut self, object: &Value) {
        if let Some(live) = &mut self.live {
            live.insert(object);
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if let Some(live) = &mut self.live {
            live.remove(key);
        }
    }

    /// Returns when a finding begins to count, in seconds since 1970.
    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.live.as_ref()?.next_deadline()
    }

    /// Puts `row`, if there is one, in the place of the one for the same pattern and actors.
    fn put(&mut self, change: &FindingChange, scope: ReportScope, row: Option<ReportResult>) {
        let rows = self.rows.entry(scope.clone()).or_default();
        let key = (change.pattern.clone(), change.actors.clone());
        let is_changed = match row {
            Some(row) => rows.insert(key, row.clone()).as_ref() != Some(&row),
            None => rows.remove(&key).is_some(),
        };
        if rows.is_empty() {
            self.rows.remove(&scope);
        }
        if is_changed {
            self.changed.insert(scope);
        }
    }
}

impl Scanner {
    /// Looks for patterns again where objects have changed since the last call, and returns the findings that are new,
    /// different or gone. `now` is in seconds since 1970.
    ///
    /// While a [list](Self::begin_list) is open, nothing is looked for, because objects may be missing. The caller calls
    /// this only when all kinds that patterns read were listed.
    pub fn refresh_patterns(&mut self, now: i64) -> Vec<FindingChange> {
        if self.has_open_list() {
            return Vec::new();
        }
        let Some(live) = &mut self.patterns.live else { return Vec::new() };
        let changes = live.refresh(now);
        for change in &changes {
            let scope = change.leader().map(scope_of).unwrap_or_default();
            let row = self.row_of(change, &scope);
            self.patterns.put(change, scope, row);
        }
        changes
    }

    /// Returns the patterns with the graph of their objects; nothing before there were any.
    #[must_use]
    pub fn live_patterns(&self) -> Option<&LivePatterns> {
        self.patterns.live.as_ref()
    }

    /// Returns the patterns whose last search did not end, so that nothing of theirs may be deleted.
    #[must_use]
    pub fn incomplete_patterns(&self) -> Vec<IncompletePattern> {
        self.patterns.live.as_ref().map(LivePatterns::incomplete).unwrap_or_default()
    }

    /// Says which findings users have suppressed in stored objects, each as the name of a pattern and the uid of the
    /// leader.
    pub fn suppress_findings(&mut self, findings: HashSet<(Text, Text)>) {
        if let Some(live) = &mut self.patterns.live {
            live.suppress(findings.clone());
        }
        self.patterns.suppressed = findings;
    }

    /// Returns the results of every object that leads a finding.
    pub(super) fn pattern_results(&self) -> impl Iterator<Item = ObjectResults> {
        self.patterns.rows.keys().filter_map(|scope| self.pattern_results_of(scope))
    }

    pub(super) fn take_changed_findings(&mut self) -> Vec<ChangedResults> {
        let changed = std::mem::take(&mut self.patterns.changed);
        let results = changed.into_iter().map(|scope| ChangedResults {
            results: self.pattern_results_of(&scope),
            source: ReportSource::Patterns,
            scope,
        });
        results.collect()
    }

    pub(super) fn add_finding_totals(&self, totals: &mut BTreeMap<RuleTotals, OutcomeCounts>) {
        for row in self.patterns.rows.values().flat_map(BTreeMap::values) {
            let rule = RuleTotals { dialect: "pattern", policy: row.policy.clone(), rule: Text::default() };
            *totals.entry(rule).or_default().of_mut(row.result) += 1;
        }
    }

    /// Returns what patterns say about the object `scope`, if it leads findings that have rows.
    #[must_use]
    pub fn pattern_results_of(&self, scope: &ReportScope) -> Option<ObjectResults> {
        let all = self.patterns.rows.get(scope)?;
        let mut counts = OutcomeCounts::default();
        all.values().for_each(|row| *counts.of_mut(row.result) += 1);
        let statuses = self.settings.report_results;
        let results: Vec<ReportResult> =
            all.values().filter(|row| statuses.contains(row.result)).cloned().collect();
        let source = ReportSource::Patterns;
        (!results.is_empty()).then(|| ObjectResults {
            scope: scope.clone(),
            source,
            counts,
            statuses,
            results,
        })
    }

    fn row_of(&self, change: &FindingChange, scope: &ReportScope) -> Option<ReportResult> {
        let (live, found) = (self.patterns.live.as_ref()?, change.finding.as_ref()?);
        let pattern = live.patterns().find(|pattern| pattern.name == change.pattern)?;
        let mut row = result_of_finding(&JudgedFinding {
            pattern,
            finding: &found.finding,
            graph: live.graph(),
            suppression: found.suppressed.as_deref(),
            is_failure: found.finding.severity >= MIN_FAILURE_LEVEL,
            since: found.since,
        });
        // A stored report may know it for longer than this process does.
        let stored = self.stored_since(ReportSource::Patterns, &scope.uid, &row);
        row.since = stored.map_or(row.since, |stored| row.since.min(stored));
        Some(row)
    }
}

fn scope_of(leader: &FindingObject) -> ReportScope {
    ReportScope {
        api_version: leader.api_version.clone(),
        kind: leader.kind.clone(),
        namespace: leader.namespace.clone(),
        name: leader.name.clone(),
        uid: leader.uid.clone(),
    }
}
