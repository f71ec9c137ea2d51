//! Patterns over objects that come, change and go: what `detect` finds, kept up to date.
//!
//! A [`LivePatterns`] holds the graph of the objects that it was given, without the fields that nothing reads.
//! [`LivePatterns::refresh`] returns what has changed since the last call, and looks only at leaders that a change can matter
//! to. At any time its findings are those that [`detect_all`](crate::detect_all) gives for the same objects, except that a
//! pattern with `for` has a finding only once its condition has lasted that long.
//!
//! It has no clock and no threads: the caller says what time it is.

mod change;
mod exchanged;
mod fields;
mod interner;
mod locality;
mod objects;
mod records;
mod refresh;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kubewright_graph::{EdgeTypeSet, FieldTree, Graph, References};
use kubewright_k8s::ObjectName;
use kubewright_value::{Text, Value};

use super::detect::DetectionSettings;
use super::pattern::Pattern;
pub use change::{
    FindingChange, FindingObject, IncompletePattern, IncompleteReason, LiveFinding, RedetectionCounts,
};
use fields::may_fill;
pub(super) use fields::{pattern_edge_types, pattern_fields};
pub(super) use interner::ValueInterner;
use locality::{Locality, Seeds};
use records::FindingRecords;

/// Patterns, the objects they are looked for in, and what was found last.
#[derive(Debug)]
pub struct LivePatterns {
    patterns: Vec<LivePattern>,
    settings: DetectionSettings,
    graph: Graph,
    /// The objects before the first search: a graph is built faster at once than object by object.
    loading: Option<HashMap<ObjectName, Value>>,
    kinds: HashMap<(Text, Text), Arc<KindReading>>,
    interner: ValueInterner,
    /// Pattern and uid of the leader of findings that users have suppressed in stored findings.
    suppressed: HashSet<(Text, Text)>,
    /// Changes that [`LivePatterns::refresh`] returns next, whatever is found.
    pending: Vec<FindingChange>,
    counts: RedetectionCounts,
    /// Whether any object has changed since the last search.
    is_changed: bool,
    /// How many names the graph had when it was last built.
    names_at_build: usize,
}

/// One pattern and what was found of it last.
#[derive(Debug)]
struct LivePattern {
    pattern: Arc<Pattern>,
    /// For a pattern that counts exchanged roles as one finding: the same one that does not.
    ordered: Option<Arc<Pattern>>,
    locality: Locality,
    records: FindingRecords,
    incomplete: Option<IncompleteReason>,
    /// What changed of the objects that it reads.
    seeds: Seeds,
    /// Leaders to look at again, whatever changed.
    leaders: HashSet<ObjectName>,
    /// Whether all leaders have to be looked at.
    is_due: bool,
    /// After a search that did not end: when it is tried again, and how often it failed.
    retry: Option<(i64, u32)>,
}

/// What is read of the objects of one kind.
#[derive(Debug)]
struct KindReading {
    /// What edges and patterns read.
    kept: FieldTree,
    /// By the place of the pattern: what it reads.
    readers: Vec<(usize, FieldTree)>,
}

impl LivePatterns {
    /// Returns `patterns` without any object. `references` are declared beside the built-in ones.
    #[must_use]
    pub fn new(patterns: Vec<Pattern>, references: &References, settings: DetectionSettings) -> Self {
        let mut types = EdgeTypeSet::default();
        let graph = Graph::new(references);
        for pattern in &patterns {
            let own = pattern_edge_types(pattern, references);
            graph.edge_types().filter(|kind| own.contains(*kind)).for_each(|kind| types.insert(kind));
        }
        let live = |pattern: Pattern| LivePattern::new(pattern, references);
        Self {
            patterns: patterns.into_iter().map(live).collect(),
            settings,
            graph: graph.limited_to(&types).recording_changes(),
            loading: Some(HashMap::new()),
            kinds: HashMap::new(),
            interner: ValueInterner::default(),
            suppressed: HashSet::new(),
            pending: Vec::new(),
            counts: RedetectionCounts::default(),
            is_changed: true,
            names_at_build: 0,
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
        // An event refers to what it reports on, and no object refers to an event.
        let is_event = kind == "Event" && matches!(group, "" | "events.k8s.io");
        let has_relationships = self.patterns.iter().any(|live| !live.pattern.entries.is_empty());
        let is_any = |live: &LivePattern| live.pattern.roles.iter().any(|role| may_fill(role, group, kind));
        self.names_kind(group, kind) || (!is_event && (has_relationships || self.patterns.iter().any(is_any)))
    }

    /// Returns whether a pattern names the kind as that of one of its objects. Objects of other kinds only relate these.
    #[must_use]
    pub fn names_kind(&self, group: &str, kind: &str) -> bool {
        let is_named = |live: &LivePattern| {
            let mut roles = live.pattern.roles.iter();
            roles.any(|role| may_fill(role, group, kind) && role.kinds.iter().any(|kind| kind.is_named()))
        };
        self.patterns.iter().any(is_named)
    }

    /// Says which findings users have suppressed in stored K8sPattern and Smell objects (`spec.suppress`), each as the name
    /// of a pattern and the uid of the leader. Replaces what was said before.
    pub fn suppress(&mut self, findings: HashSet<(Text, Text)>) {
        for live in &mut self.patterns {
            let changed = self.suppressed.symmetric_difference(&findings);
            let own = changed.filter(|(pattern, _)| *pattern == live.pattern.name);
            let uids: HashSet<&Text> = own.map(|(_, uid)| uid).collect();
            if !uids.is_empty() {
                live.leaders.extend(live.records.leaders_with_uid(&uids));
            }
        }
        self.suppressed = findings;
    }

    /// Returns when [`LivePatterns::refresh`] has something to do although no object changes, in seconds since the epoch:
    /// a condition has lasted as long as `for` says, or a search that did not end is tried again.
    #[must_use]
    pub fn next_deadline(&self) -> Option<i64> {
        let of_one = |live: &LivePattern| {
            live.records.next_deadline().into_iter().chain(live.retry.map(|(at, _)| at)).min()
        };
        self.patterns.iter().filter_map(of_one).min()
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
        self.patterns.iter().map(|live| live.pattern.as_ref())
    }

    /// Returns how many findings there are, also those that do not count yet.
    #[must_use]
    pub fn finding_count(&self) -> usize {
        self.patterns.iter().map(|live| live.records.len()).sum()
    }

    /// Returns the graph, in which the ids of findings are valid until the next change to it. Its objects have only the
    /// fields that edges and patterns read.
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

impl LivePattern {
    fn new(pattern: Pattern, references: &References) -> Self {
        Self {
            ordered: pattern
                .is_unordered
                .then(|| Arc::new(Pattern { is_unordered: false, ..pattern.clone() })),
            locality: Locality::of(&pattern, references),
            records: FindingRecords::new(pattern.lasting_seconds),
            pattern: Arc::new(pattern),
            incomplete: None,
            seeds: Seeds::default(),
            leaders: HashSet::new(),
            is_due: true,
            retry: None,
        }
    }
}

#[cfg(test)]
mod tests;
