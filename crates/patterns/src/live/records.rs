//! The findings of one pattern that were returned last, or that do not count yet.
//!
//! Of a finding only its identity, its time and a hash of its content are kept: the content goes to the caller.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use kubewright_graph::{Graph, Id};
use kubewright_k8s::ObjectName;
use kubewright_value::Text;

use super::super::finding::PatternFinding;
use super::super::pattern::Pattern;
use super::{FindingChange, FindingObject, LiveFinding};
use kubewright_value::CompactSort as _;

/// The findings of one pattern.
#[derive(Debug, Default)]
pub(super) struct FindingRecords {
    by_leader: HashMap<ObjectName, Vec<FindingRecord>>,
    /// When findings that do not count yet begin to count, each with its leader.
    deadlines: BTreeSet<(i64, ObjectName)>,
    /// How long a condition must last.
    lasting_seconds: i64,
}

#[derive(Debug, Clone)]
struct FindingRecord {
    actors: Vec<FindingObject>,
    since: i64,
    digest: u64,
    /// Whether the caller knows it.
    is_returned: bool,
    /// Whether its pattern has changed since: its time begins again.
    is_restarted: bool,
}

/// A finding of the present search.
#[derive(Debug)]
pub(super) struct ObservedFinding {
    actors: Vec<FindingObject>,
    finding: PatternFinding,
    suppressed: Option<Text>,
    digest: u64,
}

/// The exchange of the findings of some leaders for those of the present search.
pub(super) struct LeaderUpdate<'r> {
    pattern: &'r Text,
    records: &'r mut FindingRecords,
    /// The records of the leaders before.
    before: HashMap<ObjectName, Vec<FindingRecord>>,
    changes: Vec<FindingChange>,
}

impl FindingRecords {
    pub(super) fn new(lasting_seconds: i64) -> Self {
        Self { lasting_seconds, ..Self::default() }
    }

    pub(super) fn next_deadline(&self) -> Option<i64> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Takes over the findings of an earlier version of the pattern. If it is not the same, their time begins again.
    pub(super) fn take_over(&mut self, earlier: Self, is_same: bool) {
        self.by_leader = earlier.by_leader;
        if is_same {
            self.deadlines = earlier.deadlines;
            return;
        }
        for records in self.by_leader.values_mut() {
            records.retain(|record| record.is_returned);
            records.iter_mut().for_each(|record| record.is_restarted = true);
        }
    }

    /// Returns that all findings that the caller knows are gone.
    pub(super) fn all_gone(self, pattern: &Text) -> impl Iterator<Item = FindingChange> {
        let returned = self.by_leader.into_values().flatten().filter(|record| record.is_returned);
        let mut gone: Vec<FindingChange> =
            returned.map(|record| gone_change(pattern, record.actors)).collect();
        gone.compact_sort_by(|a, b| a.actors.cmp(&b.actors));
        gone.into_iter()
    }

    /// Returns the leaders of findings that begin to count until `now`, and those that began after it because the clock was
    /// set back: their time begins again.
    pub(super) fn due(&self, now: i64) -> impl Iterator<Item = &ObjectName> {
        let latest = now.saturating_add(self.lasting_seconds);
        let due = self.deadlines.iter().take_while(move |(deadline, _)| *deadline <= now);
        let later = self.deadlines.iter().rev().take_while(move |(deadline, _)| *deadline > latest);
        due.chain(later).map(|(_, leader)| leader)
    }

    /// Returns the leaders whose uid is one of `uids`.
    pub(super) fn leaders_with_uid(&self, uids: &HashSet<&Text>) -> Vec<ObjectName> {
        let has_uid = |records: &[FindingRecord]| {
            records
                .first()
                .and_then(|record| record.actors.first())
                .is_some_and(|leader| uids.contains(&leader.uid))
        };
        let leaders = self.by_leader.iter().filter(|(_, records)| has_uid(records));
        leaders.map(|(leader, _)| leader.clone()).collect()
    }

    /// Returns the objects of the findings of a leader.
    pub(super) fn actors_of(&self, leader: &ObjectName) -> impl Iterator<Item = &[FindingObject]> {
        self.by_leader.get(leader).into_iter().flatten().map(|record| record.actors.as_slice())
    }

    /// Returns how many findings there are.
    pub(super) fn len(&self) -> usize {
        self.by_leader.values().map(Vec::len).sum()
    }

    fn deadline(&self, record: &FindingRecord, leader: &ObjectName) -> Option<(i64, ObjectName)> {
        (!record.is_returned).then(|| (record.since.saturating_add(self.lasting_seconds), leader.clone()))
    }
}

impl<'r> LeaderUpdate<'r> {
    /// Exchanges the findings of all leaders.
    pub(super) fn of_all(pattern: &'r Pattern, records: &'r mut FindingRecords) -> Self {
        let before = std::mem::take(&mut records.by_leader);
        records.deadlines.clear();
        Self { pattern: &pattern.name, records, before, changes: Vec::new() }
    }

    /// Exchanges the findings of some leaders.
    pub(super) fn of_leaders(
        pattern: &'r Pattern,
        records: &'r mut FindingRecords,
        leaders: impl Iterator<Item = ObjectName>,
    ) -> Self {
        let mut before = HashMap::new();
        for leader in leaders {
            let Some(found) = records.by_leader.remove(&leader) else { continue };
            for record in &found {
                if let Some(deadline) = records.deadline(record, &leader) {
                    records.deadlines.remove(&deadline);
                }
            }
            before.insert(leader, found);
        }
        Self { pattern: &pattern.name, records, before, changes: Vec::new() }
    }

    /// Keeps the findings of leaders for which `is_kept` says that they were not looked at.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&ObjectName) -> bool) {
        let kept: Vec<ObjectName> = self.before.keys().filter(|leader| is_kept(leader)).cloned().collect();
        for leader in kept {
            for record in self.before.remove(&leader).into_iter().flatten() {
                self.records.deadlines.extend(self.records.deadline(&record, &leader));
                self.records.by_leader.entry(leader.clone()).or_default().push(record);
            }
        }
    }

    /// Takes note of a finding.
    pub(super) fn observe(&mut self, observation: ObservedFinding, now: i64) {
        let ObservedFinding { actors, finding, suppressed, digest } = observation;
        let leader = actors.first().map(FindingObject::object_name).unwrap_or_default();
        let known = self.before.get_mut(&leader).and_then(|records| {
            let place = records.iter().position(|record| record.actors == actors)?;
            Some(records.swap_remove(place))
        });
        let was_returned = known.as_ref().is_some_and(|known| known.is_returned);
        let known = known.filter(|known| !known.is_restarted);
        let since = known.as_ref().map_or(now, |known| known.since.min(now));
        // What was returned stays, also if the clock goes back.
        let is_returned = known.as_ref().is_some_and(|known| known.is_returned)
            || now.saturating_sub(since) >= self.records.lasting_seconds;
        if was_returned && !is_returned {
            self.changes.push(gone_change(self.pattern, actors.clone()));
        }
        if is_returned && !(was_returned && known.is_some_and(|known| known.digest == digest)) {
            let finding = Some(LiveFinding { finding, since, suppressed });
            self.changes.push(FindingChange {
                pattern: self.pattern.clone(),
                actors: actors.clone(),
                finding,
            });
        }
        let record = FindingRecord { actors, since, digest, is_returned, is_restarted: false };
        self.records.deadlines.extend(self.records.deadline(&record, &leader));
        self.records.by_leader.entry(leader).or_default().push(record);
    }

    /// Ends what was not observed.
    pub(super) fn finish(mut self, changes: &mut dyn FnMut(FindingChange)) {
        let gone = self.before.into_values().flatten().filter(|record| record.is_returned);
        let gone = gone.map(|record| gone_change(self.pattern, record.actors));
        self.changes.extend(gone);
        self.changes.compact_sort_by(|a, b| a.actors.cmp(&b.actors));
        self.changes.into_iter().for_each(changes);
    }
}

impl ObservedFinding {
    /// Returns `finding`, whose objects are `actors`.
    pub(super) fn new(
        actors: Vec<FindingObject>,
        finding: PatternFinding,
        suppressed: Option<Text>,
        graph: &Graph,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        suppressed.hash(&mut hasher);
        hash_finding(&finding, graph, &mut hasher);
        Self { actors, finding, suppressed, digest: hasher.finish() }
    }
}

/// Hashes everything that a report may show of a finding. Objects count by name: another may have the id by now.
fn hash_finding(finding: &PatternFinding, graph: &Graph, hasher: &mut DefaultHasher) {
    let object = |id: Option<Id>, hasher: &mut DefaultHasher| {
        id.and_then(|id| graph.node(id)).map(FindingObject::of).hash(hasher);
    };
    finding.message.hash(hasher);
    finding.severity.hash(hasher);
    finding.points.to_string().hash(hasher);
    for (role, id) in &finding.roles {
        role.hash(hasher);
        object(Some(*id), hasher);
    }
    for (role, ids) in &finding.witnesses {
        role.hash(hasher);
        ids.iter().for_each(|id| object(Some(*id), hasher));
    }
    for evidence in &finding.evidence {
        (&evidence.entry, &evidence.relationship, evidence.held, &evidence.via).hash(hasher);
        evidence.description.hash(hasher);
        [evidence.from, evidence.to, evidence.through].into_iter().for_each(|id| object(id, hasher));
    }
}

fn gone_change(pattern: &Text, actors: Vec<FindingObject>) -> FindingChange {
    FindingChange { pattern: pattern.clone(), actors, finding: None }
}
