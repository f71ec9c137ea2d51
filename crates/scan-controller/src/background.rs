//! What rules do in the background: objects that they make, copy and keep, existing objects that they change, and objects
//! that they delete by schedule or by the age that a label gives them.
//!
//! Nothing is stored about work that waits. Triggers are noticed by watches, what was made is found by its labels, and what
//! is to be done follows from what the rules say now (`plan.rs`): so it does not matter when a process ends. The parts are
//! a `worker` with its `state`, which has no input and output, and `job`s, of which some run at a time; `cleanup` and `ttl`
//! are tasks of their own. Every write passes the fence of the Lease (`send.rs`).

mod cleanup;
mod compare;
mod downstream;
mod evaluate;
mod handed;
mod job;
mod labels;
mod mark;
mod memo;
mod own_writes;
mod permissions;
mod plan;
mod policies;
mod problems;
mod queue;
mod resources;
mod send;
mod state;
mod times;
mod ttl;
mod watches;
mod worker;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use kubewright_cluster::{Client, DiscoveredResources};
use kubewright_scan::{KindKey, ObjectKey};
use kubewright_serve::ClusterLookup;
use kubewright_serve::log::Log;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::job::JobContext;
use self::mark::read_mark;
use self::memo::LookupMemo;
use self::policies::BackgroundPolicies;
use self::problems::PolicyProblems;
use self::send::ObjectSender;
use self::state::BackgroundState;
use self::worker::Worker;
use crate::ScanMetrics;
use crate::lease::{LeaseFence, LeaseSettings};
use crate::rule_source::LoadedRules;

/// How rules work in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundSettings {
    /// Whether they do.
    pub is_enabled: bool,
    /// On how many triggers is worked at a time, and so how many writes are under way.
    pub parallel_writes: usize,
}

impl Default for BackgroundSettings {
    fn default() -> Self {
        Self { is_enabled: true, parallel_writes: 16 }
    }
}

/// What the work in the background needs of a term.
#[derive(Clone)]
pub(crate) struct BackgroundParts {
    pub(crate) client: Client,
    pub(crate) lookup: Arc<ClusterLookup>,
    pub(crate) rules: watch::Receiver<Option<Arc<LoadedRules>>>,
    pub(crate) served: watch::Receiver<Option<Arc<DiscoveredResources>>>,
    pub(crate) fence: Arc<LeaseFence>,
    pub(crate) lease: LeaseSettings,
    pub(crate) metrics: Arc<ScanMetrics>,
    pub(crate) log: Arc<Log>,
    pub(crate) is_stopping: Arc<AtomicBool>,
    pub(crate) parallel_writes: usize,
    /// Whether Events are found as those of Kyverno.
    pub(crate) is_compatible: bool,
}

/// What reaches the worker besides events of watches.
#[derive(Debug)]
pub(crate) enum WorkerInput {
    Policies(Arc<BackgroundPolicies>),
    Served(Arc<DiscoveredResources>),
    /// A kind of which there are objects that rules made.
    Made(KindKey),
}

/// How many inputs wait.
const MAX_WORKER_INPUTS: usize = 16;

/// Begins to work in the background. The tasks end by themselves when the term stops.
pub(crate) fn begin_background(parts: &BackgroundParts) -> Vec<JoinHandle<()>> {
    vec![tokio::spawn(run_background(parts.clone()))]
}

async fn run_background(parts: BackgroundParts) {
    let mark = read_mark(&parts.client, &parts.lease).await;
    let sender = ObjectSender::new(&parts.client, Arc::clone(&parts.fence), Arc::clone(&parts.metrics));
    let context = Arc::new(JobContext {
        state: Mutex::new(BackgroundState::new(mark)),
        sender,
        lookup: Arc::clone(&parts.lookup),
        problems: PolicyProblems::default(),
        namespace: parts.lease.namespace.clone(),
        memo: LookupMemo::default(),
    });
    let (sender, inputs) = mpsc::channel(MAX_WORKER_INPUTS);
    let followers = [
        tokio::spawn(follow_policies(parts.rules.clone(), sender.clone())),
        tokio::spawn(follow_served(parts.served.clone(), sender.clone())),
        tokio::spawn(cleanup::run_cleanup(parts.clone(), Arc::clone(&context))),
        tokio::spawn(ttl::run_ttl(parts.clone(), Arc::clone(&context))),
        tokio::spawn(handed::run_handed(parts.clone(), Arc::clone(&context))),
        tokio::spawn(permissions::run_permission_checks(parts.clone(), Arc::clone(&context))),
    ];
    let _followers = AbortAll(followers.iter().map(JoinHandle::abort_handle).collect());
    Worker::new(parts, context, (sender, inputs)).run().await;
}

/// Ends tasks with their owner.
struct AbortAll(Vec<tokio::task::AbortHandle>);

impl Drop for AbortAll {
    fn drop(&mut self) {
        self.0.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

async fn follow_policies(
    mut rules: watch::Receiver<Option<Arc<LoadedRules>>>,
    inputs: mpsc::Sender<WorkerInput>,
) {
    loop {
        let loaded = rules.borrow_and_update().clone();
        if let Some(loaded) = loaded
            && inputs.send(WorkerInput::Policies(Arc::new(arranged(&loaded)))).await.is_err()
        {
            return;
        }
        if rules.changed().await.is_err() {
            return;
        }
    }
}

/// Arranges the policies among `loaded` rules.
pub(crate) fn arranged(loaded: &LoadedRules) -> BackgroundPolicies {
    let documents: HashMap<_, _> = loaded
        .documents
        .iter()
        .map(|document| (ObjectKey::of(&document.value), document.value.clone()))
        .collect();
    BackgroundPolicies::of(loaded.rules.background(), &loaded.versions, documents)
}

async fn follow_served(
    mut served: watch::Receiver<Option<Arc<DiscoveredResources>>>,
    inputs: mpsc::Sender<WorkerInput>,
) {
    loop {
        let known = served.borrow_and_update().clone();
        if let Some(known) = known
            && inputs.send(WorkerInput::Served(known)).await.is_err()
        {
            return;
        }
        if served.changed().await.is_err() {
            return;
        }
    }
}
