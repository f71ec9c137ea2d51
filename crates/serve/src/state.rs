//! The state that all parts of the server share.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use kubewright_engine::{ClosedWorld, Query, World};
use kubewright_value::{Text, Value};
use tokio::sync::{Semaphore, mpsc};

use crate::admission_policies::GenerationProgress;
use crate::blocked::{BLOCKED_PAGE, BlockedRequests};
use crate::handover::HandoverQueue;
use crate::health::{HealthPage, HealthPages, Method, Readiness};
use crate::http::{Bounds, ConnectionTable};
use crate::lane::{Lane, LargeRuntime};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::review::Overruns;
use crate::traces::Traces;
use crate::webhooks::WebhookProgress;
use crate::{Certificates, Notice, ServeSettings, Snapshot, workers};

/// What all parts of the server share. Made by [`ServerState::new`], changed where a cluster is there, then shared.
pub struct ServerState {
    /// The settings.
    pub settings: ServeSettings,
    /// The rules. Swapped whole; a review keeps the one it began with.
    pub snapshot: ArcSwap<Snapshot>,
    /// What is served, and what the API server should believe.
    pub certificates: Certificates,
    /// The queue of notices for Events and statuses. If it is full, notices are dropped and counted.
    pub notices: mpsc::Sender<Vec<Notice>>,
    /// What rules may read without a lookup.
    pub world: Box<dyn World + Send>,
    /// Answers queries that the world cannot answer.
    pub lookup: Box<dyn Lookup>,
    /// The client of the cluster, if there is one.
    pub client: Option<kubewright_cluster::Client>,
    /// The kinds that the cluster serves, if there is one.
    pub discovery: Option<Arc<kubewright_cluster::Discovery>>,
    /// The roles of the requesting user.
    pub roles: Box<dyn Roles>,
    /// How far the API server is with enforcing rules itself.
    pub admission_policies: ArcSwap<GenerationProgress>,
    /// Which rules the API server asks about.
    pub(crate) webhook_progress: WebhookProgress,
    /// Requests that the controller is to know.
    pub(crate) handovers: HandoverQueue,
    /// The metrics.
    pub metrics: Metrics,
    /// The log.
    pub log: Log,
    /// Where reviews are traced.
    pub traces: Traces,
    /// Whether reviews should be sent here.
    pub readiness: Readiness,
    /// The last requests that rules refused.
    pub blocked: BlockedRequests,
    pub(crate) bounds: Bounds,
    pub(crate) connections: ConnectionTable,
    /// Which reviews kept others waiting.
    pub(crate) overruns: Overruns,
    /// Where reviews with large bodies are read, decided and answered.
    pub(crate) large: LargeRuntime,
    /// Where reviews are decided that are not quick, for a moment each.
    pub(crate) medium: Lane,
    /// Where reviews are decided that take until their deadlines.
    pub(crate) slow: Lane,
    /// The lane of rule object checks and dry runs, so that they do not delay reviews.
    pub(crate) side: Lane,
    /// One dry run takes place at a time, so that there is a thread left to check rule objects.
    pub(crate) dry_runs: Arc<Semaphore>,
    /// A few more may wait.
    pub(crate) waiting_dry_runs: Semaphore,
}

/// How many reviews may wait in a lane, and how much else.
const MEDIUM_PLACES: usize = 64;
const SLOW_PLACES: usize = 16;
const SIDE_PLACES: usize = 8;
const SIDE_THREADS: usize = 2;
const MAX_DRY_RUNS: usize = 5;

/// What [`Lookup::look_up`] returns.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Result<Option<Value>, String>> + Send + 'a>>;

/// Finds out what rules ask for and the world does not know.
pub trait Lookup: Send + Sync {
    /// Returns whether lookups are possible at all.
    fn is_there(&self) -> bool {
        true
    }

    /// Returns what there is, or `None` where there is nothing; an error is that of the rule. Not awaited longer than
    /// until `deadline`.
    fn look_up<'a>(&'a self, query: &'a Query, deadline: Instant) -> Looking<'a>;
}

/// Knows which roles are bound to users and groups.
pub trait Roles: Send + Sync {
    /// Returns the roles, each `namespace:name`, and the cluster roles of `user`, who is as in an AdmissionReview and asks
    /// for something in `namespace`; nothing while they are not known.
    fn of(&self, user: &Value, namespace: &str) -> Option<(Vec<Text>, Vec<Text>)>;
}

/// Lookups and roles of a server without a cluster: nothing can be looked up.
#[derive(Debug, Clone, Copy)]
pub struct NoCluster;

impl Lookup for NoCluster {
    fn is_there(&self) -> bool {
        false
    }

    fn look_up<'a>(&'a self, _: &'a Query, _: Instant) -> Looking<'a> {
        Box::pin(async { Err("there is no cluster to ask".to_owned()) })
    }
}

impl Roles for NoCluster {
    fn of(&self, _: &Value, _: &str) -> Option<(Vec<Text>, Vec<Text>)> {
        Some((Vec::new(), Vec::new()))
    }
}

impl ServerState {
    /// Returns the state of a server that knows no rule and no cluster yet.
    #[must_use]
    pub fn new(settings: ServeSettings, notices: mpsc::Sender<Vec<Notice>>) -> Self {
        Self {
            snapshot: ArcSwap::from_pointee(Snapshot::empty()),
            notices,
            world: Box::new(ClosedWorld::default()),
            lookup: Box::new(NoCluster),
            client: None,
            discovery: None,
            roles: Box::new(NoCluster),
            admission_policies: ArcSwap::default(),
            webhook_progress: WebhookProgress::default(),
            handovers: HandoverQueue::default(),
            metrics: Metrics::default(),
            certificates: Certificates::default(),
            log: Log::to_stderr(settings.log_level),
            traces: settings.otlp_endpoint.as_deref().and_then(|at| Traces::to(at).ok()).unwrap_or_default(),
            readiness: Readiness::default(),
            blocked: BlockedRequests::default(),
            bounds: Bounds::new(settings.max_in_flight),
            connections: ConnectionTable::new(settings.max_connections),
            overruns: Overruns::default(),
            large: LargeRuntime::default(),
            medium: Lane::new("medium", workers(), MEDIUM_PLACES),
            // Half of the machine at most: the other reviews go on.
            slow: Lane::new("slow", (workers() / 2).max(1), SLOW_PLACES),
            side: Lane::new("side", SIDE_THREADS, SIDE_PLACES),
            dry_runs: Arc::new(Semaphore::new(1)),
            waiting_dry_runs: Semaphore::new(MAX_DRY_RUNS),
            settings,
        }
    }

    /// Returns whether anything shows each rule that a request passes: metrics only count them.
    pub(crate) fn shows_passes(&self) -> bool {
        self.traces.is_on() || self.settings.has_success_events
    }
}

impl HealthPages for ServerState {
    fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    fn exposition(&self) -> String {
        crate::metrics::exposition(self)
    }

    fn page(&self, method: &Method, path: &str, _: &[u8]) -> Option<HealthPage> {
        let is_found = method == Method::GET && path == BLOCKED_PAGE;
        is_found.then(|| HealthPage {
            status: 200,
            content_type: "application/json",
            body: self.blocked.to_json(),
        })
    }
}

impl fmt::Debug for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("settings", &self.settings).finish_non_exhaustive()
    }
}
