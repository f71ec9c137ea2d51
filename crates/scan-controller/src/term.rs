//! One term of a leader: everything that scans and writes, started in the order in which the parts need each other.
//!
//! A replica that is not the leader keeps no objects: a second set of watches would cost the API server and the memory of
//! a scan twice, and a new leader reads everything again in about the time that the lease of the old one takes to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use kubewright_cluster::GroupVersionResource;
use kubewright_cluster::{
    Client, DiscoveredResources, Discovery, ResourceEvent, ResourceWatch, watch_resource,
};
use kubewright_scan::Scanner;
use kubewright_serve::log::{Log, LogLevel};
use kubewright_serve::{CachedWorld, ClusterLookup};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Sender};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use crate::answers::ScanWorld;
use crate::background::{BackgroundParts, begin_background};
use crate::event::ControllerEvents;
use crate::lease::LeaseFence;
use crate::pattern_objects::run_pattern_objects;
use crate::reporting::run_reporting;
use crate::rule_source::{LoadedRules, RuleSource};
use crate::scan_input::{MAX_WAITING_INPUTS, ScanInput};
use crate::scan_thread::{ScanContext, ScanThread};
use crate::status::ScanStatus;
use crate::store_changes::follow_store_changes;
use crate::violation_events::{ViolationEvents, run_violation_events};
use crate::{ClusterReportWriter, ScanControllerSettings, ScanMetrics};

/// How long caches are waited for before the scan begins without them.
const CACHES_TIMEOUT: Duration = Duration::from_secs(10);

/// After how long is asked again which resources there are, in case a change was not announced.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(300);

/// How long changes of definitions are collected.
const DISCOVERY_DEBOUNCE: Duration = Duration::from_secs(1);

/// How long a write may go on after the scan was told to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What lasts longer than one term.
#[derive(Clone)]
pub(crate) struct TermParts {
    pub(crate) client: Client,
    pub(crate) settings: ScanControllerSettings,
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) source: Arc<RuleSource>,
    pub(crate) rules: watch::Receiver<Option<Arc<LoadedRules>>>,
    pub(crate) fence: Arc<LeaseFence>,
    pub(crate) status: Arc<ScanStatus>,
    pub(crate) metrics: Arc<ScanMetrics>,
    pub(crate) log: Arc<Log>,
}

/// A scan that runs.
pub(crate) struct ScanTerm {
    is_stopping: Arc<AtomicBool>,
    changed: Arc<Notify>,
    tasks: Vec<AbortHandle>,
    reporting: tokio::task::JoinHandle<()>,
    background: Vec<tokio::task::JoinHandle<()>>,
    thread: Option<JoinHandle<()>>,
    status: Arc<ScanStatus>,
    metrics: Arc<ScanMetrics>,
}

impl ScanTerm {
    /// Starts to scan.
    pub(crate) async fn start(parts: TermParts) -> std::io::Result<Self> {
        let TermParts { client, settings, discovery, source, rules, fence, status, metrics, log } = parts;
        await_caches(&source).await;
        status.set_scanning(true);
        metrics.reset_gauges();
        let lookup =
            ClusterLookup::new(&client, &discovery, &source.stores, &settings.lookups).without_memory();
        let writer = ClusterReportWriter::new(
            &client,
            settings.reports.clone(),
            Arc::clone(&fence),
            Arc::clone(&metrics),
        );
        writer.set_version(status.report_version());
        let events =
            settings.has_violation_events.then(|| ViolationEvents::new(settings.reports.is_compatible));
        let (violations, notices) = events.map(|(events, notices)| (Arc::new(events), notices)).unzip();
        let context = ScanContext {
            client: client.clone(),
            scanner: Arc::new(RwLock::new(Scanner::new(settings.scan.clone()))),
            world: Arc::new(ScanWorld::new(CachedWorld(Arc::clone(&source.stores)))),
            lookup: Arc::new(lookup),
            writer: Arc::new(writer),
            changed: Arc::new(Notify::new()),
            status: Arc::clone(&status),
            metrics: Arc::clone(&metrics),
            log,
            pattern_objects: Arc::default(),
            violations: violations.clone(),
            namespace: settings.lease.namespace.clone(),
            interval: settings.interval,
            is_stopping: Arc::new(AtomicBool::new(false)),
        };
        let (inputs, received) = mpsc::channel(MAX_WAITING_INPUTS);
        let (resources, known_resources) = watch::channel(None);
        let background = BackgroundParts {
            client: client.clone(),
            lookup: Arc::clone(&context.lookup),
            rules: rules.clone(),
            served: known_resources,
            fence: Arc::clone(&fence),
            lease: settings.lease.clone(),
            metrics: Arc::clone(&metrics),
            log: Arc::clone(&context.log),
            is_stopping: Arc::clone(&context.is_stopping),
            parallel_writes: settings.background.parallel_writes,
            is_compatible: settings.reports.is_compatible,
        };
        let background = match settings.background.is_enabled {
            true => begin_background(&background),
            false => Vec::new(),
        };
        let served = Arc::new(Notify::new());
        let events = ControllerEvents::new(client.clone(), settings.lease.clone());
        let reporting = tokio::spawn(run_reporting(context.clone(), Arc::clone(&served), events));
        let (stores, scanner) = (Arc::clone(&source.stores), Arc::clone(&context.scanner));
        let mut tasks = vec![
            tokio::spawn(follow_rules(rules, inputs.clone())),
            tokio::spawn(run_pattern_objects(context.clone(), Arc::clone(&discovery))),
            tokio::spawn(follow_discovery(
                client,
                discovery,
                Arc::clone(&context.log),
                ServedResources { changed: served, known: resources },
                inputs.clone(),
            )),
            tokio::spawn(follow_requests(fence.requested_scan(), inputs.clone())),
            tokio::spawn(follow_store_changes(stores, Arc::clone(&context.lookup), scanner, inputs.clone())),
        ];
        if let (Some(violations), Some(notices)) = (violations, notices) {
            let identity = settings.lease.identity.clone();
            let (client, fence) = (context.client.clone(), Arc::clone(&fence));
            tasks.push(tokio::spawn(run_violation_events(violations, notices, client, fence, identity)));
        }
        let (is_stopping, changed) = (Arc::clone(&context.is_stopping), Arc::clone(&context.changed));
        let scan = ScanThread::new(context, Handle::current(), inputs);
        let thread = std::thread::Builder::new().name("scan".to_owned()).spawn(move || scan.run(received))?;
        let tasks = tasks.iter().map(tokio::task::JoinHandle::abort_handle).collect();
        Ok(Self { is_stopping, changed, tasks, reporting, background, thread: Some(thread), status, metrics })
    }

    /// Returns whether the scan thread has ended, which it never does by itself.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the scan: a write that is under way is finished.
    pub(crate) async fn stop(mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.changed.notify_one();
        self.tasks.iter().for_each(AbortHandle::abort);
        if tokio::time::timeout(STOP_TIMEOUT, &mut self.reporting).await.is_err() {
            self.reporting.abort();
        }
        for mut task in std::mem::take(&mut self.background) {
            if tokio::time::timeout(STOP_TIMEOUT, &mut task).await.is_err() {
                task.abort();
            }
        }
        if let Some(thread) = self.thread.take() {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        self.status.set_scanning(false);
        self.metrics.reset_gauges();
    }
}

/// A scan that is not stopped does not go on without its owner.
impl Drop for ScanTerm {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.tasks.iter().for_each(AbortHandle::abort);
        self.reporting.abort();
        self.background.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// Waits until what rules read from caches is known, so that it need not be looked up.
async fn await_caches(source: &RuleSource) {
    let waiting = async {
        while !source.stores.are_caches_synced() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let _ = tokio::time::timeout(CACHES_TIMEOUT, waiting).await;
}

async fn follow_rules(mut rules: watch::Receiver<Option<Arc<LoadedRules>>>, inputs: Sender<ScanInput>) {
    loop {
        let loaded = rules.borrow_and_update().clone();
        if let Some(loaded) = loaded
            && inputs.send(ScanInput::Rules(loaded)).await.is_err()
        {
            return;
        }
        if rules.changed().await.is_err() {
            return;
        }
    }
}

/// Begins a full pass whenever one is requested.
async fn follow_requests(mut requests: watch::Receiver<kubewright_value::Text>, inputs: Sender<ScanInput>) {
    requests.mark_unchanged();
    while requests.changed().await.is_ok() {
        if inputs.send(ScanInput::ScanNow).await.is_err() {
            return;
        }
    }
}

/// Who is told which resources there are.
struct ServedResources {
    /// Woken when they have changed.
    changed: Arc<Notify>,
    known: watch::Sender<Option<Arc<DiscoveredResources>>>,
}

/// Asks which resources there are whenever a definition changes, and tells `served`.
async fn follow_discovery(
    client: Client,
    discovery: Arc<Discovery>,
    log: Arc<Log>,
    served: ServedResources,
    inputs: Sender<ScanInput>,
) {
    let definitions =
        GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions").all();
    let watch = ResourceWatch { is_metadata_only: true, ..ResourceWatch::new(definitions) };
    let (sender, mut events) = mpsc::channel(16);
    let watching = tokio::spawn(watch_resource(client, watch, sender));
    let _watching = AbortOnEnd(watching.abort_handle());
    let mut known = None;
    loop {
        match discovery.refreshed().await {
            Ok(resources) if known.as_ref() != Some(&resources) => {
                served.changed.notify_one();
                served.known.send_replace(Some(Arc::clone(&resources)));
                known = Some(Arc::clone(&resources));
                if inputs.send(ScanInput::Served(resources)).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => {
                log.line(LogLevel::Warn, "resources not known").shown("problem", &error).write();
                tokio::time::sleep(DISCOVERY_DEBOUNCE).await;
                continue;
            }
        }
        await_definition(&mut events).await;
        // A definition is served a moment after it is stored.
        tokio::time::sleep(DISCOVERY_DEBOUNCE).await;
        while events.try_recv().is_ok() {}
    }
}

/// Waits for a change of definitions, but not for ever.
async fn await_definition(events: &mut mpsc::Receiver<ResourceEvent>) {
    let changing = async {
        while let Some(event) = events.recv().await {
            if !matches!(event, ResourceEvent::Failed(_) | ResourceEvent::InitialListStarted) {
                return;
            }
        }
        std::future::pending::<()>().await;
    };
    let _ = tokio::time::timeout(DISCOVERY_INTERVAL, changing).await;
}

struct AbortOnEnd(AbortHandle);

impl Drop for AbortOnEnd {
    fn drop(&mut self) {
        self.0.abort();
    }
}
