//! The state of a scan: what was said about each object, and why.

mod dependents;
mod due;
mod full_pass;
mod list;
mod patterns;
mod results;
mod settings;
mod since;
mod tracked;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kubewright_engine::World;
use kubewright_report::cluster_report::{ReportResult, ReportScope, ReportSource};
use kubewright_value::{Text, Value};

use crate::fingerprint::Fingerprinter;
use crate::input::InputTable;
use crate::judge::{JudgedOutcomes, Verdict, verdict_of};
use crate::outcome_set::OutcomeTable;
use crate::{Judgement, JudgementCause, KindKey, ObjectDecision, ObjectKey, RescanTarget, ScanRules};
use dependents::RecentChanges;
use due::DueTimes;
pub use full_pass::FullPassList;
use list::ListState;
use patterns::PatternFindingRows;
pub use results::{ChangedResults, RuleTotals, ScanTotals};
pub use settings::{JudgementCounts, Observation, ReportOn, ScanSettings};
use since::SinceTimes;
use tracked::{ObjectUid, TrackedKind, TrackedObject};

/// What the rules said about every object, kept up to date.
#[derive(Debug, Default)]
pub struct Scanner {
    settings: ScanSettings,
    rules: Arc<ScanRules>,
    /// Counts the rules that were set.
    generation: u64,
    fingerprinter: Fingerprinter,
    kinds: BTreeMap<KindKey, TrackedKind>,
    outcomes: OutcomeTable,
    inputs: InputTable,
    lists: BTreeMap<KindKey, ListState>,
    due: DueTimes,
    recent: RecentChanges,
    counts: JudgementCounts,
    /// The objects whose results have changed, each with the scope under which its former results were taken.
    changed: BTreeMap<ObjectKey, Option<ReportScope>>,
    /// Rows of stored reports.
    stored: HashMap<(ReportSource, Text), Vec<ReportResult>>,
    patterns: PatternFindingRows,
    /// Long names of namespaces, of which all objects share one text.
    namespaces: HashSet<Text>,
    last_full_pass: Option<i64>,
}

impl Scanner {
    /// Returns a scan without rules and objects.
    #[must_use]
    pub fn new(settings: ScanSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &Arc<ScanRules> {
        &self.rules
    }

    /// Returns how many objects were judged.
    #[must_use]
    pub fn judgement_counts(&self) -> JudgementCounts {
        self.counts
    }

    /// Replaces the rules, and returns which objects must be observed again because their rules, exceptions or bindings
    /// have changed: all, if patterns have, because the new ones may read other fields. They are observed with
    /// [`JudgementCause::Rule`], and judged only if their rules have changed. Objects of kinds that no rule and no pattern
    /// is about any more are forgotten.
    pub fn replace_rules(&mut self, rules: Arc<ScanRules>) -> Vec<RescanTarget> {
        let mut targets = self.rules.targets_changed_in(&rules);
        let are_patterns_new = self.patterns.replace(&self.rules, &rules);
        let parts_before: Vec<_> =
            self.kinds.keys().map(|kind| self.rules.parts_read_of(&kind.kind)).collect();
        self.rules = rules;
        self.generation += 1;
        let mut forgotten = Vec::new();
        for ((kind, objects), before) in self.kinds.iter_mut().zip(parts_before) {
            let is_whole = self.rules.parts_read_of(&kind.kind) != before;
            let is_read = |is_namespaced| self.rules.reads_kind(&kind.group, &kind.kind, is_namespaced);
            let (is_read_within, is_read_outside) = (is_read(true), is_read(false));
            let targets: Vec<&RescanTarget> =
                targets.iter().filter(|target| target.contains_kind(kind)).collect();
            for (key, object) in objects.iter_mut() {
                let is_target = targets.iter().any(|target| target.contains(&kind.kind, &key.namespace));
                object.is_stale |= is_whole || is_target;
                if !(if key.namespace.is_empty() { is_read_outside } else { is_read_within }) {
                    forgotten.push(key.object_key(kind));
                }
            }
        }
        forgotten.iter().for_each(|key| self.remove(key));
        if are_patterns_new {
            targets = vec![RescanTarget::default()];
        }
        targets
    }

    /// Judges `object`, without changing anything. If it is judged because it was listed, it has changed or rules have,
    /// and no rule about it has changed or can see a change, no rule runs.
    #[must_use]
    pub fn judge(&self, object: &Value, cause: JudgementCause, world: &dyn World) -> Judgement {
        self.judge_with(object, cause, || self.rules.decide_for_reports(object, world))
    }

    /// Returns the judgement of `object` that follows from a decision of the [rules](Self::rules) about it.
    #[must_use]
    pub fn judge_decided(&self, object: &Value, decision: ObjectDecision) -> Judgement {
        self.judge_with(object, JudgementCause::Object, || decision)
    }

    fn judge_with(
        &self,
        object: &Value,
        cause: JudgementCause,
        decide: impl FnOnce() -> ObjectDecision,
    ) -> Judgement {
        let key = ObjectKey::of(object);
        // Before anything is looked up, so that a change meanwhile is noticed.
        let changes = self.recent.count();
        let parts = self.rules.parts_read_of(&key.kind);
        let fingerprint = self.fingerprinter.fingerprint(object, parts);
        let known = self.tracked(&key).filter(|known| !known.is_stale && known.fingerprint == fingerprint);
        let verdict = match known {
            Some(_) if matches!(cause, JudgementCause::Object | JudgementCause::Rule) => Verdict::Unchanged,
            _ => verdict_of(&self.rules, &self.settings, object, decide()),
        };
        let is_in_graph = self.rules.patterns.reads_kind(&key.group, &key.kind);
        Judgement {
            uid: object.str_at(&["metadata", "uid"]).into(),
            api_version: object.str_at(&["apiVersion"]).into(),
            key,
            cause,
            generation: self.generation,
            changes,
            fingerprint,
            pattern_object: is_in_graph.then(|| object.clone()),
            verdict,
        }
    }

    /// Stores a judgement. `now` is in seconds since 1970. Judgements of one object are recorded in the order of its
    /// changes, and none after it was [removed](Self::remove).
    pub fn record(&mut self, judgement: Judgement, now: i64) -> Observation {
        if judgement.generation != self.generation || self.is_outdated(&judgement) {
            return Observation::Outdated;
        }
        let Judgement { key, uid, api_version, cause, fingerprint, verdict, pattern_object, .. } = judgement;
        if let Some(object) = &pattern_object {
            self.patterns.insert(object);
        }
        match verdict {
            Verdict::Unchanged => {
                self.mark_seen(&key);
                self.counts.unchanged += 1;
                Observation::Unchanged
            }
            Verdict::NeedsAnswers(queries) => {
                self.mark_seen(&key);
                Observation::NeedsAnswers(queries)
            }
            Verdict::Judged(judged) => {
                self.counts.add(cause);
                // What is in the graph is kept here too, so that the end of a list finds what is gone.
                if judged.is_empty() && pattern_object.is_none() {
                    self.remove(&key);
                    return Observation::NotMatched;
                }
                let identity = JudgedIdentity { uid, api_version, fingerprint };
                self.store(&key, &identity, judged, now);
                Observation::Judged
            }
        }
    }

    /// Judges `object` and stores the judgement.
    pub fn observe(
        &mut self,
        object: &Value,
        cause: JudgementCause,
        world: &dyn World,
        now: i64,
    ) -> Observation {
        let judgement = self.judge(object, cause, world);
        self.record(judgement, now)
    }

    /// Forgets an object that no longer exists.
    pub fn remove(&mut self, key: &ObjectKey) {
        self.patterns.remove(key);
        let Some((object, scope)) = self.take_tracked(key) else { return };
        self.due.remove(object.due, key);
        if self.outcomes.rows(object.outcomes).next().is_some() {
            self.note_change(key.clone(), Some(scope));
        }
        self.outcomes.release(object.outcomes);
        self.inputs.release(object.inputs);
    }

    /// Returns whether something is kept of an object.
    #[must_use]
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.tracked(key).is_some()
    }

    /// Returns whether something that was looked up for `judgement` has changed since.
    fn is_outdated(&self, judgement: &Judgement) -> bool {
        match &judgement.verdict {
            Verdict::Judged(judged) => self.recent.affect(&judged.inputs, judgement.changes),
            Verdict::Unchanged | Verdict::NeedsAnswers(_) => false,
        }
    }

    fn store(&mut self, key: &ObjectKey, identity: &JudgedIdentity, judged: JudgedOutcomes, now: i64) {
        let previous = self.take_tracked(key);
        let due = self.due_after(key, &judged, now);
        let outcomes = self.outcomes.acquire(judged.outcomes);
        let since = self.since_of(previous.as_ref().map(|(object, _)| object), outcomes, &identity.uid, now);
        let object = TrackedObject {
            uid: ObjectUid::new(&identity.uid),
            fingerprint: identity.fingerprint,
            outcomes,
            inputs: self.inputs.acquire(judged.inputs, &key.namespace),
            since,
            due,
            version: self.version_number(key, &identity.api_version),
            seen: self.list_number(key),
            is_stale: false,
        };
        self.note_difference(key, previous.as_ref(), &object);
        if let Some((previous, _)) = previous {
            self.due.remove(previous.due, key);
            self.outcomes.release(previous.outcomes);
            self.inputs.release(previous.inputs);
        }
        self.due.insert(due, key);
        self.put_tracked(key, object);
    }
}

/// What an object says about itself.
struct JudgedIdentity {
    uid: Text,
    api_version: Text,
    fingerprint: u64,
}

impl JudgedOutcomes {
    /// Returns whether nothing must be kept: the same object gives the same again, whatever else changes.
    fn is_empty(&self) -> bool {
        self.outcomes.is_empty() && self.inputs.is_empty() && !self.reads_clock
    }
}
