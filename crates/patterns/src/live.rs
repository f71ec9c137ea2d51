//! Patterns over objects that come, change and go: what `detect` finds, kept up to date.
//!
//! A [`LivePatterns`] holds the graph of the objects that it was given. [`LivePatterns::refresh`] returns what has changed
//! since the last call, and nothing else. At any time its findings are those that [`detect_all`](crate::detect_all) gives
//! for the same objects, except that a pattern with `for` has a finding only once its condition has lasted that long.
//!
//! It has no clock and no threads: the caller says what time it is.

mod change;
mod records;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kubewright_graph::{Graph, References};
use kubewright_k8s::ObjectName;
use kubewright_value::{Text, Value};

use super::detect::{DetectionSettings, detect, detection_budget};
use super::finding::PatternFinding;
use super::pattern::{KindRef, Pattern};
use super::suppression::suppression;
pub use change::{
    FindingChange, FindingObject, IncompletePattern, IncompleteReason, LiveFinding, RedetectionCounts,
};
use records::{FindingRecords, LeaderUpdate, Observation};

/// Patterns, the objects they are looked for in, and what was found last.
#[derive(Debug)]
pub struct LivePatterns {
    patterns: Vec<LivePattern>,
    settings: DetectionSettings,
    graph: Graph,
    /// Pattern and uid of the leader of findings that users have suppressed in stored findings.
    suppressed: HashSet<(Text, Text)>,
    /// Changes that [`LivePatterns::refresh`] returns next, whatever is found.
    pending: Vec<FindingChange>,
    counts: RedetectionCounts,
    is_changed: bool,
}

/// One pattern and what was found of it last.
#[derive(Debug)]
struct LivePattern {
    pattern: Pattern,
    records: FindingRecords,
    incomplete: Option<IncompleteReason>,
}

impl LivePatterns {
    /// Returns `patterns` without any object. `references` are declared beside the built-in ones.
    #[must_use]
    pub fn new(patterns: Vec<Pattern>, references: &References, settings: DetectionSettings) -> Self {
        let live = |pattern: Pattern| LivePattern {
            records: FindingRecords::new(pattern.lasting_seconds),
            pattern,
            incomplete: None,
        };
        Self {
            patterns: patterns.into_iter().map(live).collect(),
            settings,
            graph: Graph::new(references),
            suppressed: HashSet::new(),
            pending: Vec::new(),
            counts: RedetectionCounts::default(),
            is_changed: true,
        }
    }

    /// Takes over what `previous` found, so that the next [`LivePatterns::refresh`] returns the differences to it: findings
    /// of patterns that are gone end, and those of patterns that did not change keep the time since when they are there.
    /// Objects are not taken over: the new patterns may read other fields of them.
    #[must_use]
    pub fn with_findings_of(mut self, previous: Self) -> Self {
        self.pending.extend(previous.pending);
        self.suppressed = previous.suppressed;
        for old in previous.patterns {
            match self.patterns.iter_mut().find(|new| new.pattern.name == old.pattern.name) {
                Some(new) => {
                    let is_same = new.pattern.fingerprint == old.pattern.fingerprint;
                    new.records.take_over(old.records, is_same);
                }
                None => self.pending.extend(old.records.all_gone(&old.pattern.name)),
            }
        }
        self
    }

    /// Returns whether objects of a kind matter to any pattern. Others need not be inserted.
    #[must_use]
    pub fn reads_kind(&self, group: &str, kind: &str) -> bool {
        let names = |wanted: &KindRef| match wanted {
            KindRef::Kind { kind: wanted, group: of, .. } => {
                wanted.as_ref().is_none_or(|wanted| *wanted == kind)
                    && of.as_ref().is_none_or(|of| *of == group)
            }
            KindRef::Category(_) => true,
        };
        !self.patterns.is_empty()
            && (self.patterns.iter().any(|live| !live.pattern.entries.is_empty())
                || self
                    .patterns
                    .iter()
                    .any(|live| live.pattern.roles.iter().any(|role| role.kinds.iter().any(names))))
    }

    /// Puts `object` in place of the one with the same name.
    pub fn insert(&mut self, object: &Value) {
        self.graph.insert(object.clone());
        self.is_changed = true;
    }

    /// Takes the object called `name` out; does nothing where there is none.
    pub fn remove(&mut self, name: &ObjectName) {
        if let Some(id) = self.graph.find(&name.group, &name.kind, &name.namespace, &name.name) {
            self.graph.remove(id);
            self.is_changed = true;
        }
    }

    /// Says which findings users have suppressed in stored K8sPattern and Smell objects (`spec.suppress`), each as the name
    /// of a pattern and the uid of the leader. Replaces what was said before.
    pub fn suppress(&mut self, findings: HashSet<(Text, Text)>) {
        self.is_changed |= self.suppressed != findings;
        self.suppressed = findings;
    }

    /// Looks for patterns again where changes since the last call can matter, and returns what is different. `now` is in
    /// seconds since the epoch.
    pub fn refresh(&mut self, now: i64) -> Vec<FindingChange> {
        let mut changes = std::mem::take(&mut self.pending);
        let is_due = self.next_deadline().is_some_and(|deadline| deadline <= now);
        if !std::mem::take(&mut self.is_changed) && !is_due {
            return changes;
        }
        let Self { patterns, settings, graph, suppressed, counts, .. } = self;
        for live in patterns {
            counts.patterns += 1;
            live.detect_whole(&Observing { graph, settings, suppressed, now }, &mut changes);
        }
        changes
    }

    /// Returns when the next finding begins to count because its condition has lasted as long as `for` says, in seconds since
    /// the epoch.
    #[must_use]
    pub fn next_deadline(&self) -> Option<i64> {
        self.patterns.iter().filter_map(|live| live.records.next_deadline()).min()
    }

    /// Returns the patterns whose last search did not end. Their findings are those of the search before: nothing of theirs
    /// may be deleted because it is not found.
    #[must_use]
    pub fn incomplete(&self) -> Vec<IncompletePattern> {
        let incomplete = |live: &LivePattern| {
            let reason = live.incomplete?;
            Some(IncompletePattern { pattern: live.pattern.name.clone(), reason })
        };
        self.patterns.iter().filter_map(incomplete).collect()
    }

    /// Returns the patterns.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.patterns.iter().map(|live| &live.pattern)
    }

    /// Returns the graph, in which the ids of findings are valid until the next change to it.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns how much was looked for again until now.
    #[must_use]
    pub fn redetections(&self) -> RedetectionCounts {
        self.counts
    }
}

/// What a search reads besides the pattern.
struct Observing<'a> {
    graph: &'a Graph,
    settings: &'a DetectionSettings,
    suppressed: &'a HashSet<(Text, Text)>,
    now: i64,
}

impl LivePattern {
    /// Looks for the pattern in the whole graph.
    fn detect_whole(&mut self, observing: &Observing<'_>, changes: &mut Vec<FindingChange>) {
        let Self { pattern, records, incomplete } = self;
        let mut budget = detection_budget(pattern, observing.graph);
        let search = || detect(pattern, observing.graph, observing.settings, &mut budget);
        // A defect in the search for one pattern must not end the others.
        let found = match catch_unwind(AssertUnwindSafe(search)) {
            Ok(Ok(found)) => found,
            Ok(Err(exhausted)) => return *incomplete = Some(IncompleteReason::Exhausted(exhausted)),
            Err(_) => return *incomplete = Some(IncompleteReason::Panicked),
        };
        *incomplete = found.truncated.then_some(IncompleteReason::Truncated);
        let mut update = LeaderUpdate::of_all(pattern, records);
        for finding in found.findings {
            let observation = observing.observation(pattern, finding);
            update.observe(observation, observing.now);
        }
        update.finish(changes);
    }
}

impl Observing<'_> {
    /// Returns `finding` with the names of its objects, and why it is suppressed if it is.
    fn observation(&self, pattern: &Pattern, finding: PatternFinding) -> Observation {
        let objects = finding.roles.iter().filter_map(|(_, id)| self.graph.node(*id));
        let actors: Vec<FindingObject> = objects.map(FindingObject::of).collect();
        let leader = finding.roles.first().and_then(|(_, id)| self.graph.node(*id));
        let annotated = leader.and_then(|node| suppression(node.object.as_ref()?, &pattern.name));
        let uid = leader.map(|node| node.uid.clone()).filter(|uid| !uid.is_empty());
        let is_stored = uid.is_some_and(|uid| self.suppressed.contains(&(pattern.name.clone(), uid)));
        let suppressed = annotated.or_else(|| is_stored.then(Text::default));
        Observation::new(actors, finding, suppressed, self.graph)
    }
}
