//! Writes reports: only differences, at a bounded rate, and only while this replica is the leader.
//!
//! A start reads the names and digests of our reports by one list of metadata, so that nothing is written where nothing
//! has changed. A report that is replaced is read before: its rows keep the time since when they are so, and its version
//! makes a write of another replica a conflict. Nothing is changed or deleted that lacks our label or the form of our
//! names.

mod bucket;
mod follow;
mod ledger;
mod ours;
mod send;
mod stored;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kubewright_cluster::{CallLimits, Client, Discovery, Error};
use kubewright_report::cluster_report::{
    ObjectResults, ReportApi, ReportCaps, ReportObject, ReportScope, ReportSource, SUMMARY_REPORT_NAME,
    SummaryTotals, report_name, report_objects, summary_report,
};

use crate::ScanMetrics;
use crate::lease::LeaseFence;
use crate::metrics::{ScanMetric, WriteVerb};
use crate::scan_view::ReportVersion;
use bucket::TokenBucket;
pub(crate) use follow::follow_reports;
pub(crate) use ledger::ReportId;
use ledger::{ReportLedger, ReportTask};
pub use ours::report_managers;
use send::WriteEnd;
pub(crate) use send::delete_exactly;

/// How long one write may take. With the renew deadline of the Lease it ends before another replica may write.
const WRITE_TIMEOUT: Duration = Duration::from_secs(4);

/// How long is waited after a write that failed; doubles up to the longest.
const FIRST_WRITE_BACKOFF: Duration = Duration::from_millis(200);
const MAX_WRITE_BACKOFF: Duration = Duration::from_secs(5);

/// How reports are written.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportWriterSettings {
    /// Which API group is written.
    pub group: ReportGroup,
    /// How many reports there may be.
    pub caps: ReportCaps,
    /// How many writes there are in a second.
    pub writes_per_second: f64,
    /// How many there may be at once after a quiet time.
    pub burst: f64,
    /// Whether reports have the label by which programs find those of Kyverno.
    pub is_compatible: bool,
}

impl Default for ReportWriterSettings {
    fn default() -> Self {
        Self {
            group: ReportGroup::Served,
            caps: ReportCaps::default(),
            writes_per_second: 20.0,
            burst: 50.0,
            is_compatible: false,
        }
    }
}

/// Which API group reports are written to. Ours are removed from the other one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportGroup {
    /// The preferred one of those that the cluster serves.
    #[default]
    Served,
    /// This one, if the cluster serves it.
    Only(ReportApi),
    /// None.
    Off,
}

/// Writes reports.
#[derive(Debug)]
pub struct ClusterReportWriter {
    client: Client,
    discovery: Arc<Discovery>,
    settings: ReportWriterSettings,
    fence: Arc<LeaseFence>,
    metrics: Arc<ScanMetrics>,
    bucket: tokio::sync::Mutex<TokenBucket>,
    state: Mutex<WriterState>,
}

#[derive(Debug)]
struct WriterState {
    api: Option<ReportApi>,
    ledger: ReportLedger,
    /// Our reports in the group that is not written.
    elsewhere: Vec<(ReportApi, ReportId)>,
    /// The report with the totals, where there are more results than reports may hold.
    summary: Option<ReportObject>,
    backoff: Duration,
    /// Why the last write that failed did.
    problem: Option<String>,
}

/// What [`ClusterReportWriter::write_next`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteStep {
    /// Something was written, or turned out to be as it should be.
    Done,
    /// There is nothing to write.
    Idle,
    /// This replica may not write now.
    Fenced,
    /// A write failed, and is to be tried again after this time.
    Failed(Duration),
    /// The API group of the reports is no longer served: [`ClusterReportWriter::load`] looks again.
    Unserved,
}

impl ClusterReportWriter {
    /// Returns a writer that knows nothing of the cluster yet.
    #[must_use]
    pub fn new(
        client: &Client,
        settings: ReportWriterSettings,
        fence: Arc<LeaseFence>,
        metrics: Arc<ScanMetrics>,
    ) -> Self {
        let client = client.limited(CallLimits {
            time: WRITE_TIMEOUT,
            // What the API server asks for is waited for between writes, where the lease is looked at again.
            throttle_wait: Duration::ZERO,
            ..Default::default()
        });
        let bucket = TokenBucket::new(settings.writes_per_second, settings.burst, Instant::now());
        let state = WriterState {
            api: None,
            ledger: ReportLedger::new(settings.caps),
            elsewhere: Vec::new(),
            summary: None,
            backoff: FIRST_WRITE_BACKOFF,
            problem: None,
        };
        Self {
            discovery: Arc::new(Discovery::new(client.clone())),
            client,
            settings,
            fence,
            metrics,
            bucket: tokio::sync::Mutex::new(bucket),
            state: Mutex::new(state),
        }
    }

    /// Lets `version` count changes of the reports in the cluster.
    pub(crate) fn set_version(&self, version: &ReportVersion) {
        self.state().ledger.version = version.clone();
    }

    /// Finds out which group is served, and which of our reports there are. Returns the group that is written from now
    /// on; where it is another one than before, the caller gives all results again.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn load(&self) -> Result<Option<ReportApi>, Error> {
        let resources = self.discovery.refreshed().await?;
        let is_served = |api: ReportApi| {
            [true, false].iter().all(|is_namespaced| {
                resources.of_resource(api.group(), api.resource(*is_namespaced)).is_some()
            })
        };
        let api = match self.settings.group {
            ReportGroup::Off => None,
            ReportGroup::Only(api) => Some(api).filter(|api| is_served(*api)),
            ReportGroup::Served => ReportApi::ALL.into_iter().find(|api| is_served(*api)),
        };
        let mut elsewhere = Vec::new();
        for other in ReportApi::ALL.into_iter().filter(|other| Some(*other) != api && is_served(*other)) {
            let found = stored::list_reports(&self.client, other, self.settings.is_compatible).await?;
            elsewhere.extend(found.into_keys().map(|id| (other, id)));
        }
        let found = match api {
            Some(api) => stored::list_reports(&self.client, api, self.settings.is_compatible).await?,
            None => Default::default(),
        };
        let mut state = self.state();
        if state.api != api {
            state.ledger.clear_wanted();
        }
        state.api = api;
        state.elsewhere = elsewhere;
        state.ledger.replace_stored(found);
        Ok(api)
    }

    /// Takes up the results of an object; without a row it has no report.
    pub fn set_results(&self, results: &ObjectResults) {
        let mut state = self.state();
        let Some(api) = state.api else { return };
        match results.results.is_empty() {
            true => state.ledger.unwant(&first_report_id(&results.scope, results.source)),
            false => {
                let reports = report_objects(api, results);
                state.ledger.want(results, &reports);
            }
        }
    }

    /// Takes up that an object has no results of a source any more.
    pub fn remove_results(&self, scope: &ReportScope, source: ReportSource) {
        self.state().ledger.unwant(&first_report_id(scope, source));
    }

    /// Lets those of our reports be deleted that nothing asked for, about objects of an `apiVersion` and kind for which
    /// `is_scanned`. Called when everything was scanned.
    pub fn prune(&self, is_scanned: impl Fn(&str, &str) -> bool) {
        self.prune_within(|_, api_version, kind| is_scanned(api_version, kind));
    }

    /// Does what [`prune`](Self::prune) does for a part of the cluster: `is_scanned` is also given the namespace, which is
    /// empty for objects without one.
    pub fn prune_within(&self, is_scanned: impl Fn(&str, &str, &str) -> bool) {
        let of_owner = |id: &ReportId, report: &ledger::TrackedReport| {
            let (api_version, kind) = &report.owner;
            is_scanned(&id.namespace, api_version, kind)
        };
        self.state().ledger.prune(of_owner);
    }

    /// Decides which reports are left out because there are too many. Returns whether any are.
    pub fn apply_limits(&self) -> bool {
        let mut state = self.state();
        let is_over = state.ledger.apply_limits();
        let (objects, bytes) = state.ledger.totals();
        self.metrics.set(ScanMetric::ReportObjects, 0, objects as u64);
        self.metrics.set(ScanMetric::ReportBytes, 0, bytes as u64);
        self.metrics.set(ScanMetric::CircuitOpen, 0, u64::from(is_over));
        is_over
    }

    /// Sets the totals that the summary report shows; without any there is none. Their numbers of reported and left out
    /// objects are set here.
    pub fn set_summary(&self, totals: Option<SummaryTotals>) {
        let mut state = self.state();
        let (reported_objects, left_out_objects) = state.ledger.reported();
        let totals = totals.map(|totals| SummaryTotals { reported_objects, left_out_objects, ..totals });
        state.summary = state.api.zip(totals).map(|(api, totals)| summary_report(api, &totals));
    }

    /// Takes why a write failed, if one did since the last call.
    pub fn take_problem(&self) -> Option<String> {
        self.state().problem.take()
    }

    /// Returns the group that is written.
    #[must_use]
    pub fn api(&self) -> Option<ReportApi> {
        self.state().api
    }

    /// Returns whether everything is written.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let state = self.state();
        state.ledger.is_done() && state.elsewhere.is_empty()
    }

    /// Does one thing that is to be done. `results_of` returns the results of the moment.
    pub async fn write_next(
        &self,
        results_of: impl Fn(&ReportScope, ReportSource) -> Option<ObjectResults>,
    ) -> WriteStep {
        let (api, elsewhere, task) = {
            let mut state = self.state();
            let elsewhere = state.elsewhere.pop();
            let task = if elsewhere.is_some() { None } else { state.ledger.next_task() };
            (state.api, elsewhere, task)
        };
        if let Some((other, id)) = elsewhere {
            let ended = self.delete_elsewhere(other, &id).await;
            return self.step_after(ended, |state| state.elsewhere.push((other, id.clone())));
        }
        let (api, task) = match (api, task) {
            (None, _) => return WriteStep::Idle,
            (Some(api), Some(task)) => (api, task),
            (Some(api), None) => return self.write_summary(api).await,
        };
        let ended = match &task {
            ReportTask::Delete(id, report) => self.delete(api, id, report).await,
            ReportTask::Write(scope, source) => match results_of(scope, *source) {
                Some(results) => self.write(api, &results).await,
                None => WriteEnd::Done,
            },
        };
        self.step_after(ended, |state| state.ledger.retry(&task))
    }

    /// Writes everything that is to be written, for as long as it takes; for a process that ends afterwards.
    ///
    /// # Errors
    /// Nothing could be written for `patience`.
    pub async fn write_all(
        &self,
        patience: Duration,
        results_of: impl Fn(&ReportScope, ReportSource) -> Option<ObjectResults>,
    ) -> Result<(), String> {
        let mut last_success = Instant::now();
        loop {
            match self.write_next(&results_of).await {
                WriteStep::Idle => return Ok(()),
                WriteStep::Done => last_success = Instant::now(),
                WriteStep::Unserved => return Err("the cluster no longer serves reports".to_owned()),
                WriteStep::Fenced => return Err("another process writes the reports".to_owned()),
                WriteStep::Failed(_) if last_success.elapsed() > patience => {
                    return Err("the API server does not accept the reports".to_owned());
                }
                WriteStep::Failed(pause) => tokio::time::sleep(pause).await,
            }
        }
    }

    async fn write_summary(&self, api: ReportApi) -> WriteStep {
        let id = ReportId { namespace: "".into(), name: SUMMARY_REPORT_NAME.into() };
        let (wanted, stored) = {
            let state = self.state();
            (state.summary.clone(), state.ledger.stored(&id).cloned())
        };
        let ended = match (wanted, stored) {
            (Some(wanted), Some(stored)) if wanted.digest == stored.digest => return WriteStep::Idle,
            (None, None) => return WriteStep::Idle,
            (Some(wanted), _) => self.write_one(api, &id, &wanted).await,
            (None, Some(stored)) => self.delete(api, &id, &stored).await,
        };
        self.step_after(ended, |_| {})
    }

    fn step_after(&self, ended: WriteEnd, retry: impl FnOnce(&mut WriterState)) -> WriteStep {
        let mut state = self.state();
        match ended {
            WriteEnd::Done => {
                state.backoff = FIRST_WRITE_BACKOFF;
                WriteStep::Done
            }
            WriteEnd::Fenced => {
                retry(&mut state);
                WriteStep::Fenced
            }
            WriteEnd::Unserved => {
                retry(&mut state);
                WriteStep::Unserved
            }
            WriteEnd::Failed(asked) => {
                retry(&mut state);
                self.metrics.count(ScanMetric::ReportWriteErrors);
                let pause = state.backoff.max(asked.unwrap_or_default());
                state.backoff = (state.backoff * 2).min(MAX_WRITE_BACKOFF);
                WriteStep::Failed(pause)
            }
        }
    }

    /// Waits for a token, and returns whether this replica may write then.
    async fn may_write(&self) -> bool {
        loop {
            let taken = self.bucket.lock().await.take(Instant::now());
            match taken {
                Ok(()) => return self.fence.is_open(),
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    fn written(&self, verb: WriteVerb) {
        self.metrics.written(verb);
    }

    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn first_report_id(scope: &ReportScope, source: ReportSource) -> ReportId {
    let name = report_name(scope, source);
    ReportId { namespace: scope.namespace.clone(), name: name.into() }
}
