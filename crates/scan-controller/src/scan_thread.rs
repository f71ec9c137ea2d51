//! The scan thread: takes what watches and rescans bring, judges it, and passes changed results on.
//!
//! Inputs are handled in the order in which they come. Objects are collected until something else comes or there are
//! enough, then judged in parallel; of several states of one object only the last one is judged.

mod handling;
mod judging;
mod ticking;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kubewright_cluster::{Client, DiscoveredResources};
use kubewright_scan::{KindKey, Scanner, WatchedInput};
use kubewright_serve::ClusterLookup;
use kubewright_serve::log::Log;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender};

use self::judging::JudgementBatch;
use crate::answers::ScanWorld;
use crate::pattern_objects::WantedPatternObjects;
use crate::rescan::RescanQueue;
use crate::rule_source::LoadedRules;
use crate::scan_input::ScanInput;
use crate::status::ScanStatus;
use crate::violation_events::ViolationEvents;
use crate::watches::KindWatches;
use crate::{ClusterReportWriter, ScanMetrics};

/// How many objects are judged together.
const MAX_BATCH_OBJECTS: usize = 256;

/// How often is looked what is due.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// What all parts of a scan share.
#[derive(Clone)]
pub(crate) struct ScanContext {
    pub(crate) client: Client,
    pub(crate) scanner: Arc<RwLock<Scanner>>,
    pub(crate) world: Arc<ScanWorld>,
    pub(crate) lookup: Arc<ClusterLookup>,
    pub(crate) writer: Arc<ClusterReportWriter>,
    /// Woken when results have changed.
    pub(crate) changed: Arc<Notify>,
    pub(crate) status: Arc<ScanStatus>,
    pub(crate) metrics: Arc<ScanMetrics>,
    pub(crate) log: Arc<Log>,
    /// Findings of patterns as objects.
    pub(crate) pattern_objects: Arc<WantedPatternObjects>,
    /// Events about new violations, where they are asked for.
    pub(crate) violations: Option<Arc<ViolationEvents>>,
    /// The namespace of findings about objects without one.
    pub(crate) namespace: String,
    /// The period of full passes.
    pub(crate) interval: Duration,
    /// Set when the scan is to end.
    pub(crate) is_stopping: Arc<AtomicBool>,
}

/// The state of the scan thread.
pub(crate) struct ScanThread {
    context: ScanContext,
    runtime: Handle,
    inputs: Sender<ScanInput>,
    watches: KindWatches,
    rescans: RescanQueue,
    batch: JudgementBatch,
    rules: Option<Arc<LoadedRules>>,
    served: Option<Arc<DiscoveredResources>>,
    /// The kinds whose first list is not complete yet.
    unsynced: BTreeSet<KindKey>,
    watched_inputs: BTreeSet<WatchedInput>,
    begun: Instant,
    pass_begun: Instant,
    /// Since when the oldest input of the last batch had waited.
    last_oldest: Option<Instant>,
    last_tick: Instant,
    last_slow_tick: Instant,
}

impl ScanThread {
    pub(crate) fn new(context: ScanContext, runtime: Handle, inputs: Sender<ScanInput>) -> Self {
        let now = Instant::now();
        Self {
            watches: KindWatches::new(context.client.clone(), runtime.clone(), inputs.clone()),
            context,
            runtime,
            inputs,
            rescans: RescanQueue::default(),
            batch: JudgementBatch::default(),
            rules: None,
            served: None,
            unsynced: BTreeSet::new(),
            watched_inputs: BTreeSet::new(),
            begun: now,
            pass_begun: now,
            last_oldest: None,
            last_tick: now,
            last_slow_tick: now,
        }
    }

    /// Scans until it is told to stop.
    pub(crate) fn run(mut self, mut inputs: Receiver<ScanInput>) {
        while !self.context.is_stopping.load(Ordering::Relaxed) {
            let waiting = async { tokio::time::timeout(TICK_INTERVAL, inputs.recv()).await };
            if let Ok(first) = self.runtime.block_on(waiting) {
                let Some(first) = first else { return };
                self.handle(first);
                while self.batch.len() < MAX_BATCH_OBJECTS
                    && let Ok(next) = inputs.try_recv()
                {
                    self.handle(next);
                }
            }
            self.flush();
            if self.last_tick.elapsed() >= TICK_INTERVAL {
                self.tick(inputs.len());
            }
            self.context.status.progressed();
        }
    }

    fn scanner(&self) -> RwLockReadGuard<'_, Scanner> {
        self.context.scanner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn scanner_mut(&self) -> RwLockWriteGuard<'_, Scanner> {
        self.context.scanner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time in seconds since 1970.
pub(crate) fn seconds_since_1970() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
