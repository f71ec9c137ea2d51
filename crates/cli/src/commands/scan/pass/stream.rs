//! One thread lists, all cores judge, and batches are handed over in the order of the lists.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use kubewright_files::workers;
use kubewright_report::ObjectRow;
use kubewright_scan::ObjectDecision;

use super::super::judge::ObjectJudge;
use super::super::kinds::ScanKind;
use super::super::lister::{KindLister, ListedBatch, UnreadKind};
use super::ScanPass;
use super::store::KeptObjects;
use crate::failure::CommandFailure;

/// How many batches are under way at a time.
const MAX_BATCHES: usize = 16;

/// The rows of a batch, and what is kept of its objects.
pub(super) struct JudgedBatch {
    number: usize,
    /// How many objects it has.
    pub(super) listed: usize,
    /// The rows of objects that rules are about, each prepared for every output.
    pub(super) rows: Vec<(ObjectRow, Vec<String>)>,
    /// What is kept of the objects.
    pub(super) kept: KeptObjects,
}

impl ScanPass<'_> {
    /// Lists and judges everything, and hands batches to `take` in order. Returns what could not be listed.
    pub(super) fn stream(
        &self,
        kinds: &[ScanKind],
        judge: &ObjectJudge<'_>,
        mut take: impl FnMut(JudgedBatch) -> Result<(), CommandFailure>,
    ) -> Result<Vec<UnreadKind>, CommandFailure> {
        let (permits, permitted) = sync_channel(MAX_BATCHES);
        let (batches, listed) = sync_channel(MAX_BATCHES);
        let listed = Mutex::new(listed);
        thread::scope(|scope| {
            let lister = KindLister { cluster: self.cluster, extent: self.extent, batches, permits, sent: 0 };
            let lister = scope.spawn(move || lister.list_all(kinds));
            let (judged, receiver) = sync_channel(MAX_BATCHES);
            for _ in 0..workers::worker_count() {
                let (listed, judged) = (&listed, judged.clone());
                let builder = thread::Builder::new().stack_size(workers::STACK_BYTES);
                builder.spawn_scoped(scope, move || self.run_worker(listed, judge, &judged))?;
            }
            drop(judged);
            let taken = take_in_order(&receiver, &permitted, &mut take);
            // Threads that still send get an error, and end.
            drop((receiver, permitted));
            let problems = lister.join().unwrap_or_default();
            taken.map(|()| problems)
        })
    }

    fn run_worker(
        &self,
        listed: &Mutex<Receiver<ListedBatch>>,
        judge: &ObjectJudge<'_>,
        judged: &SyncSender<JudgedBatch>,
    ) {
        loop {
            let batch = listed.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = batch else { return };
            if judged.send(self.judge_batch(batch, judge)).is_err() {
                return;
            }
        }
    }

    fn judge_batch(&self, batch: ListedBatch, judge: &ObjectJudge<'_>) -> JudgedBatch {
        let ListedBatch { number, is_judged, is_in_graph, source, objects } = batch;
        let mut done =
            JudgedBatch { number, listed: objects.len(), rows: Vec::new(), kept: KeptObjects::default() };
        let keeps_results = self.arguments.reports.writes();
        for object in objects {
            let is_wanted = is_judged && self.extent.has_namespace(object.str_at(&["metadata", "namespace"]));
            let decision = if is_wanted { judge.decide(&object) } else { ObjectDecision::default() };
            if is_in_graph {
                done.kept.for_graph.push(object.clone());
            }
            if keeps_results && (is_wanted || is_in_graph) {
                done.kept.decided.push((object.clone(), decision.clone()));
            }
            if !is_wanted {
                continue;
            }
            let mut row = judge.row(object, decision, &source);
            if row.counts.all() > 0 {
                let prepared = self.outputs.iter().map(|output| (output.format.prepare)(&row)).collect();
                row.drop_patches();
                done.rows.push((row, prepared));
            }
        }
        done
    }
}

/// Hands batches to `take` by their numbers, and makes room for others.
fn take_in_order(
    receiver: &Receiver<JudgedBatch>,
    permitted: &Receiver<()>,
    take: &mut impl FnMut(JudgedBatch) -> Result<(), CommandFailure>,
) -> Result<(), CommandFailure> {
    let mut early: BTreeMap<usize, JudgedBatch> = BTreeMap::new();
    let mut expected = 0;
    for batch in receiver {
        early.insert(batch.number, batch);
        while let Some(ready) = early.remove(&expected) {
            expected += 1;
            let _ = permitted.recv();
            take(ready)?;
        }
    }
    Ok(())
}
