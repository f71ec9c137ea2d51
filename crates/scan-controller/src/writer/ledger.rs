//! Which reports should exist, which exist, and what is to be done about the difference. Pure: no input or output.
//!
//! The contents of reports are not kept, only their digests; what is written is made again from the results of the
//! moment. So a report that changes faster than it can be written is written once, as it is then.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use kubewright_report::cluster_report::{
    ObjectResults, ReportCaps, ReportObject, ReportRank, ReportScope, ReportSource, ReportWeight,
    SUMMARY_REPORT_NAME,
};
use kubewright_value::Text;

use crate::scan_view::ReportVersion;

/// The name of a report in its API group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ReportId {
    /// Empty for a report about an object without one.
    pub(crate) namespace: Text,
    pub(crate) name: Text,
}

/// A report in the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrackedReport {
    pub(crate) digest: Text,
    pub(crate) uid: Text,
    pub(crate) resource_version: Text,
    /// The `apiVersion` and kind of the object that it is about.
    pub(crate) owner: (Text, Text),
}

/// What should be there about one object from one source.
#[derive(Debug)]
struct WantedReports {
    scope: ReportScope,
    source: ReportSource,
    rank: ReportRank,
    parts: Vec<WantedPart>,
}

#[derive(Debug, PartialEq, Eq)]
struct WantedPart {
    name: Text,
    digest: Text,
    bytes: usize,
}

/// One thing to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReportTask {
    /// Bring the reports of these results to their state of the moment.
    Write(ReportScope, ReportSource),
    /// Delete a report that should not be there.
    Delete(ReportId, TrackedReport),
}

/// The reports of one API group.
#[derive(Debug, Default)]
pub(crate) struct ReportLedger {
    caps: ReportCaps,
    /// Counts changes of `stored`.
    pub(crate) version: ReportVersion,
    stored: HashMap<ReportId, TrackedReport>,
    wanted: BTreeMap<ReportId, WantedReports>,
    /// What is left out because there are too many; nothing while all fit.
    left_out: HashSet<ReportId>,
    dirty: BTreeSet<ReportId>,
    deletions: BTreeSet<ReportId>,
    /// The reports that are being written, and whether the watch has said meanwhile that they are gone.
    in_flight: HashMap<ReportId, bool>,
    bytes: usize,
    parts: usize,
    /// Whether `left_out` may be wrong.
    is_limit_stale: bool,
}

impl ReportLedger {
    pub(crate) fn new(caps: ReportCaps) -> Self {
        Self { caps, ..Self::default() }
    }

    /// Takes what is in the cluster in place of what was known. What should be there stays and is compared anew.
    pub(crate) fn replace_stored(&mut self, stored: HashMap<ReportId, TrackedReport>) {
        if self.stored != stored {
            self.stored = stored;
            self.version.changed();
        }
        self.deletions.clear();
        self.dirty.clear();
        let all: Vec<ReportId> = self.wanted.keys().cloned().collect();
        all.iter().for_each(|id| self.compare(id));
    }

    /// Forgets what should be there, for another API group.
    pub(crate) fn clear_wanted(&mut self) {
        self.wanted.clear();
        self.dirty.clear();
        self.left_out.clear();
        (self.bytes, self.parts) = (0, 0);
    }

    /// Takes up the results of an object, of which `reports` are made.
    pub(crate) fn want(&mut self, results: &ObjectResults, reports: &[ReportObject]) {
        let Some(first) = reports.first() else { return };
        let id = ReportId { namespace: first.namespace.clone(), name: first.name.as_str().into() };
        let parts = reports.iter().map(|report| WantedPart {
            name: report.name.as_str().into(),
            digest: report.digest.as_str().into(),
            bytes: report.bytes,
        });
        let wanted = WantedReports {
            scope: results.scope.clone(),
            source: results.source,
            rank: ReportRank::of(results),
            parts: parts.collect(),
        };
        self.take_out(&id);
        self.bytes += wanted.bytes();
        self.parts += wanted.parts.len();
        for id in wanted.ids(&id) {
            self.deletions.remove(&id);
        }
        self.wanted.insert(id.clone(), wanted);
        self.is_limit_stale |= self.is_over() || !self.left_out.is_empty();
        self.compare(&id);
    }

    /// Takes up that an object has no results any more; `id` is that of its first report.
    pub(crate) fn unwant(&mut self, id: &ReportId) {
        if self.take_out(id) {
            self.is_limit_stale |= !self.left_out.is_empty();
        }
        self.dirty.remove(id);
        self.left_out.remove(id);
        if self.stored.contains_key(id) {
            self.deletions.insert(id.clone());
        }
    }

    /// Lets everything be deleted that is stored and should not be there, of owners for which `is_scanned`.
    pub(crate) fn prune(&mut self, is_scanned: impl Fn(&ReportId, &TrackedReport) -> bool) {
        let kept: HashSet<ReportId> = self.wanted.iter().flat_map(|(id, wanted)| wanted.ids(id)).collect();
        for (id, stored) in &self.stored {
            if !kept.contains(id) && id.name != SUMMARY_REPORT_NAME && is_scanned(id, stored) {
                self.deletions.insert(id.clone());
            }
        }
    }

    /// Decides which reports are left out because there are too many. Returns whether any are.
    pub(crate) fn apply_limits(&mut self) -> bool {
        if !self.is_limit_stale {
            return !self.left_out.is_empty();
        }
        self.is_limit_stale = false;
        let mut left_out: HashSet<ReportId> = HashSet::new();
        if self.is_over() {
            let (ids, weights): (Vec<&ReportId>, Vec<ReportWeight>) =
                self.wanted.iter().map(|(id, wanted)| (id, wanted.weight(id))).unzip();
            // One place is that of the summary.
            let caps = ReportCaps { objects: self.caps.objects.saturating_sub(1), ..self.caps };
            let kept: HashSet<usize> = caps.select(&weights).kept.into_iter().collect();
            let others = ids.into_iter().enumerate().filter(|(place, _)| !kept.contains(place));
            left_out = others.map(|(_, id)| id.clone()).collect();
        }
        let before = std::mem::replace(&mut self.left_out, left_out);
        let changed: Vec<ReportId> = self.left_out.symmetric_difference(&before).cloned().collect();
        changed.iter().for_each(|id| self.compare(id));
        !self.left_out.is_empty()
    }

    /// Takes the next thing to be done: deletions first, because they make room.
    pub(crate) fn next_task(&mut self) -> Option<ReportTask> {
        while let Some(id) = self.deletions.pop_first() {
            if let Some(stored) = self.stored.get(&id) {
                return Some(ReportTask::Delete(id, stored.clone()));
            }
        }
        while let Some(id) = self.dirty.pop_first() {
            if let Some(wanted) = self.wanted.get(&id) {
                return Some(ReportTask::Write(wanted.scope.clone(), wanted.source));
            }
        }
        None
    }

    /// Puts a task back that could not be done.
    pub(crate) fn retry(&mut self, task: &ReportTask) {
        match task {
            // It may be wanted again since.
            ReportTask::Delete(id, _) => match self.wanted_first(id) {
                Some(first) => self.compare(&first),
                None => drop(self.deletions.insert(id.clone())),
            },
            ReportTask::Write(scope, source) => {
                let name = kubewright_report::cluster_report::report_name(scope, *source);
                let id = ReportId { namespace: scope.namespace.clone(), name: name.into() };
                if self.wanted.contains_key(&id) {
                    self.dirty.insert(id);
                }
            }
        }
    }

    /// Returns what is stored under `id`.
    pub(crate) fn stored(&self, id: &ReportId) -> Option<&TrackedReport> {
        self.stored.get(id)
    }

    /// Notes what is stored under `id` now.
    pub(crate) fn set_stored(&mut self, id: ReportId, report: Option<TrackedReport>) {
        let is_changed = match report {
            Some(report) => self.stored.insert(id, report.clone()) != Some(report),
            None => self.stored.remove(&id).is_some(),
        };
        if is_changed {
            self.version.changed();
        }
    }

    /// Notes that a write of `id` begins, which `written` or `end_write` ends.
    pub(crate) fn begin_write(&mut self, id: ReportId) {
        self.in_flight.insert(id, false);
    }

    /// Notes that the write of `id` has ended.
    pub(crate) fn end_write(&mut self, id: &ReportId) {
        self.in_flight.remove(id);
    }

    /// Notes what a write of ours has left under `id`. What should be there may have changed while it was under way: then
    /// the report is written or deleted again. So is one whose deletion the watch saw before the write was answered.
    pub(crate) fn written(&mut self, id: ReportId, report: Option<TrackedReport>) {
        let is_stored = report.is_some();
        let is_gone = self.in_flight.remove(&id).unwrap_or_default();
        self.set_stored(id.clone(), report);
        match self.wanted_first(&id) {
            Some(first) => {
                if is_gone {
                    self.set_stored(id, None);
                }
                self.compare(&first);
            }
            None if is_stored && id.name != SUMMARY_REPORT_NAME => drop(self.deletions.insert(id)),
            None => {}
        }
    }

    /// Notes what a watch says about `id`; what should be there is compared with it.
    pub(crate) fn observe(&mut self, id: &ReportId, report: Option<TrackedReport>) {
        if let Some(is_gone) = self.in_flight.get_mut(id) {
            *is_gone = report.is_none();
        }
        if self.stored.get(id) == report.as_ref() {
            return;
        }
        self.set_stored(id.clone(), report);
        if let Some(first) = self.wanted_first(id) {
            self.compare(&first);
        }
    }

    /// Returns what is stored.
    pub(crate) fn stored_ids(&self) -> impl Iterator<Item = &ReportId> {
        self.stored.keys()
    }

    /// Returns the first report of the object that `part` is about, if that is wanted. The first part stands for all; a
    /// further part is found by what it belongs to.
    fn wanted_first(&self, part: &ReportId) -> Option<ReportId> {
        if self.wanted.contains_key(part) {
            return Some(part.clone());
        }
        let (name, _) = part.name.rsplit_once('-')?;
        let first = ReportId { namespace: part.namespace.clone(), name: name.into() };
        self.wanted.contains_key(&first).then_some(first)
    }

    /// Lets the stored parts of a report from number `count` on be deleted: it has become shorter.
    pub(crate) fn delete_parts_from(&mut self, first: &ReportId, count: usize) {
        for number in count + 1.. {
            let name =
                if number == 1 { first.name.clone() } else { format!("{}-{number}", first.name).into() };
            let id = ReportId { name, ..first.clone() };
            if !self.stored.contains_key(&id) {
                return;
            }
            self.deletions.insert(id);
        }
    }

    /// Returns how many objects have reports, and how many are left out.
    pub(crate) fn reported(&self) -> (usize, usize) {
        (self.wanted.len() - self.left_out.len(), self.left_out.len())
    }

    /// Returns how many reports there are, and about how many bytes they have.
    pub(crate) fn totals(&self) -> (usize, usize) {
        (self.stored.len(), self.bytes)
    }

    /// Returns whether nothing is to be done.
    pub(crate) fn is_done(&self) -> bool {
        self.dirty.is_empty() && self.deletions.is_empty()
    }

    fn is_over(&self) -> bool {
        self.parts + 1 > self.caps.objects || self.bytes > self.caps.bytes
    }

    /// Removes what is wanted under `id`; its further parts are to be deleted unless they are wanted again.
    fn take_out(&mut self, id: &ReportId) -> bool {
        let Some(old) = self.wanted.remove(id) else { return false };
        self.bytes -= old.bytes();
        self.parts -= old.parts.len();
        for part in old.ids(id).skip(1).filter(|part| self.stored.contains_key(part)) {
            self.deletions.insert(part);
        }
        true
    }

    /// Notes what is to be done about the reports of `id`.
    fn compare(&mut self, id: &ReportId) {
        let Some(wanted) = self.wanted.get(id) else { return };
        if self.left_out.contains(id) {
            self.dirty.remove(id);
            let stored = wanted.ids(id).filter(|part| self.stored.contains_key(part));
            self.deletions.extend(stored);
            return;
        }
        let is_same = wanted
            .ids(id)
            .zip(&wanted.parts)
            .all(|(id, part)| self.stored.get(&id).is_some_and(|stored| stored.digest == part.digest));
        for id in wanted.ids(id) {
            self.deletions.remove(&id);
        }
        match is_same {
            true => self.dirty.remove(id),
            false => self.dirty.insert(id.clone()),
        };
    }
}

impl WantedReports {
    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    fn weight(&self, id: &ReportId) -> ReportWeight {
        let name = format!("{}/{}", id.namespace, id.name);
        ReportWeight { rank: self.rank, name, objects: self.parts.len(), bytes: self.bytes() }
    }

    fn ids<'w>(&'w self, first: &'w ReportId) -> impl Iterator<Item = ReportId> + 'w {
        let namespace = &first.namespace;
        self.parts.iter().map(|part| ReportId { namespace: namespace.clone(), name: part.name.clone() })
    }
}

#[cfg(test)]
mod tests;
