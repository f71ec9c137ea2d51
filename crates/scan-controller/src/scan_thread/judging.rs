//! A batch of objects: judged in parallel, with what rules look up answered in between.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_engine::{Query, QueryAnswer};
use kubewright_scan::{Judgement, JudgementCause, ObjectKey, Observation};
use kubewright_serve::{Lookup as _, workers};
use kubewright_value::Value;
use kubewright_value::workers::map_in_parallel;

use super::{ScanThread, seconds_since_1970};
use crate::metrics::ScanMetric;

/// How often objects of a batch are judged because each time something else had to be looked up. Each image of a Pod takes
/// up to three lookups.
const MAX_LOOKUP_ROUNDS: usize = 32;

/// How long one lookup may take, and how many are made at once.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
const PARALLEL_LOOKUPS: usize = 16;

/// The objects that are judged next, each in its last state.
#[derive(Debug, Default)]
pub(super) struct JudgementBatch {
    items: Vec<Option<BatchItem>>,
    places: HashMap<ObjectKey, usize>,
    oldest: Option<Instant>,
}

#[derive(Debug, Clone)]
struct BatchItem {
    object: Value,
    cause: JudgementCause,
}

impl JudgementBatch {
    /// Adds an object in place of an earlier state of it.
    pub(super) fn add(&mut self, key: ObjectKey, object: Value, cause: JudgementCause, since: Instant) {
        self.oldest = Some(self.oldest.map_or(since, |oldest| oldest.min(since)));
        let earlier = self.places.insert(key, self.items.len());
        let earlier = earlier.and_then(|place| self.items.get_mut(place)).and_then(Option::take);
        // An object that must be judged in any case must be so in its newer state too.
        let cause = earlier.map_or(cause, |earlier| earlier.cause.max(cause));
        self.items.push(Some(BatchItem { object, cause }));
    }

    /// Removes an object that is gone.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        if let Some(item) = self.places.remove(key).and_then(|place| self.items.get_mut(place)) {
            *item = None;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    fn take(&mut self) -> Vec<BatchItem> {
        let items = std::mem::take(self).items;
        items.into_iter().flatten().collect()
    }
}

impl ScanThread {
    /// Judges the batch and passes changed results on.
    pub(super) fn flush(&mut self) {
        if self.batch.len() > 0 {
            self.last_oldest = self.batch.oldest;
            self.context.metrics.set_oldest_waiting(self.batch.oldest);
            let items = self.batch.take();
            self.judge_all(items);
        }
        self.publish_changes();
    }

    fn judge_all(&mut self, mut items: Vec<BatchItem>) {
        for round in 0..=MAX_LOOKUP_ROUNDS {
            let judgements = self.judge_in_parallel(&items);
            let queries: BTreeSet<Query> = judgements
                .iter()
                .flatten()
                .flat_map(|judgement| judgement.unanswered().iter().cloned())
                .collect();
            let waiting = self.record(items, judgements);
            if waiting.is_empty() {
                return;
            }
            match round < MAX_LOOKUP_ROUNDS {
                true => self.look_up(&queries.into_iter().collect::<Vec<_>>()),
                false => queries.into_iter().for_each(|query| {
                    self.context.world.learn(query, QueryAnswer::Failed("too many lookups".into()));
                }),
            }
            items = waiting;
        }
        let keys: Vec<ObjectKey> = items.iter().map(|item| ObjectKey::of(&item.object)).collect();
        self.rescans.add_keys(keys, JudgementCause::Clock, Instant::now());
    }

    fn judge_in_parallel(&self, items: &[BatchItem]) -> Vec<Option<Judgement>> {
        let scanner = self.scanner();
        let (scanner, world) = (&*scanner, &*self.context.world);
        map_in_parallel(items, workers(), |item| {
            // Rules that panic are caught one by one; this is the last resort.
            catch_unwind(AssertUnwindSafe(|| scanner.judge(&item.object, item.cause, world))).ok()
        })
    }

    /// Stores judgements, and returns the objects that could not be judged yet.
    fn record(&self, items: Vec<BatchItem>, judgements: Vec<Option<Judgement>>) -> Vec<BatchItem> {
        let now = seconds_since_1970();
        let mut scanner = self.scanner_mut();
        let mut waiting = Vec::new();
        for (item, judgement) in items.into_iter().zip(judgements) {
            let Some(judgement) = judgement else {
                self.context.metrics.count(ScanMetric::Panics);
                continue;
            };
            let observation = scanner.record(judgement, now);
            if matches!(observation, Observation::NeedsAnswers(_) | Observation::Outdated) {
                waiting.push(item);
            }
        }
        waiting
    }

    fn look_up(&self, queries: &[Query]) {
        let (lookup, world) = (&self.context.lookup, &self.context.world);
        self.runtime.block_on(async {
            for chunk in queries.chunks(PARALLEL_LOOKUPS) {
                let asked: Vec<_> = chunk
                    .iter()
                    .cloned()
                    .map(|query| {
                        let lookup = Arc::clone(lookup);
                        tokio::spawn(async move {
                            let deadline = Instant::now() + LOOKUP_TIMEOUT;
                            let asking = lookup.look_up(&query, deadline);
                            let answer = match tokio::time::timeout(LOOKUP_TIMEOUT, asking).await {
                                Ok(Ok(Some(value))) => QueryAnswer::Found(value),
                                Ok(Ok(None)) => QueryAnswer::Absent,
                                Ok(Err(why)) => QueryAnswer::Failed(why.into()),
                                Err(_) => QueryAnswer::Failed("the lookup timed out".into()),
                            };
                            (query, answer)
                        })
                    })
                    .collect();
                for asked in asked {
                    if let Ok((query, answer)) = asked.await {
                        world.learn(query, answer);
                    }
                }
            }
        });
    }

    /// Passes changed results on to the writer.
    pub(super) fn publish_changes(&self) {
        let changed = self.scanner_mut().take_changed();
        if changed.is_empty() {
            return;
        }
        for change in &changed {
            match &change.results {
                Some(results) => {
                    self.context.writer.set_results(results);
                    if let Some(violations) = &self.context.violations {
                        let is_first_pass = !self.context.status.is_complete();
                        violations.add(results, seconds_since_1970(), is_first_pass);
                    }
                }
                None => self.context.writer.remove_results(&change.scope, change.source),
            }
        }
        self.context.changed.notify_one();
    }
}
