//! The controller: takes part in the election, and scans while it is the leader.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Config, Discovery};
use kubewright_serve::health::{Readiness, serve_health};
use kubewright_serve::log::{Log, LogLevel};
use kubewright_serve::{ServeError, asked_to_stop, make_namespace, workers};
use tokio::sync::watch;

use crate::blocked_admissions::follow_blocked_admissions;
use crate::lease::{Leadership, LeaseFence, run_leader_election};
use crate::metrics::ScanMetric;
use crate::pages::ScanPages;
use crate::rule_source::RuleSource;
use crate::status::ScanStatus;
use crate::term::{ScanTerm, TermParts};
use crate::{BlockedAdmissions, ScanControllerSettings, ScanMetrics, ScanView};

/// What is waited for before the process is ready.
const RULES_CONDITION: &str = "rules";
const FIRST_PASS_CONDITION: &str = "the first pass";

/// How often the term is looked at.
const SUPERVISION_INTERVAL: Duration = Duration::from_millis(500);

/// The pause before a scan that has failed begins again.
const RESTART_PAUSE: Duration = Duration::from_secs(2);

/// Scans the cluster of `config` until the process is asked to stop. A controller that is not in the cluster may have
/// to make the namespace of its Lease first. `begun` is called once the controller answers.
///
/// # Errors
/// When it cannot begin, or `begun` returns an error.
pub fn run_scan_controller(
    settings: ScanControllerSettings,
    config: Config,
    makes_namespace: bool,
    begun: impl FnOnce(&Client, ScanView) -> Result<(), ServeError>,
) -> Result<(), ServeError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers()).enable_all().build()?;
    runtime.block_on(async {
        let client = Client::new(config)?;
        if makes_namespace {
            make_namespace(&client, &settings.lease.namespace).await;
        }
        let controller = ScanController::start(settings, client.clone())?;
        begun(&client, controller.view())?;
        controller.run(asked_to_stop()).await;
        Ok(())
    })
}

/// A controller that answers on its port and takes part in the election.
pub struct ScanController {
    parts: TermParts,
    readiness: Arc<Readiness>,
    blocked: Arc<BlockedAdmissions>,
    stop_election: watch::Sender<bool>,
    election: tokio::task::JoinHandle<()>,
}

impl ScanController {
    /// Begins to answer on the health port, to watch rules and to take part in the election.
    ///
    /// # Errors
    /// When the address cannot be listened on, or there can be no thread.
    ///
    /// # Panics
    /// Outside of a runtime.
    pub fn start(settings: ScanControllerSettings, client: Client) -> Result<Self, ServeError> {
        let log = Arc::new(Log::to_stderr(settings.lookups.log_level));
        let listener = TcpListener::bind(settings.health_address)
            .map_err(|error| ServeError::Listen(settings.health_address, error))?;
        let address = listener.local_addr()?;
        let readiness = Arc::new(Readiness::default());
        readiness.wait_for(RULES_CONDITION);
        let (loaded, rules) = watch::channel(None);
        let discovery = Arc::new(Discovery::new(client.clone()));
        let parts = TermParts {
            source: RuleSource::start(&client, &settings, &log),
            client: client.clone(),
            discovery: Arc::clone(&discovery),
            rules,
            fence: Arc::default(),
            status: Arc::default(),
            metrics: Arc::default(),
            log: Arc::clone(&log),
            settings: settings.clone(),
        };
        serve_health(Arc::new(pages(&parts, &readiness)), listener)?;
        let line = log.always(LogLevel::Info, "listening").shown("healthAddress", address);
        line.text("identity", &settings.lease.identity).write();
        tokio::spawn(Arc::clone(&parts.source).compile_changes(discovery, loaded));
        let blocked = Arc::<BlockedAdmissions>::default();
        tokio::spawn(follow_blocked_admissions(client.clone(), Arc::clone(&blocked), Arc::clone(&log)));
        let (stop_election, stopping) = watch::channel(false);
        let fence = Arc::clone(&parts.fence);
        let election = tokio::spawn(run_leader_election(client, settings.lease, fence, log, stopping));
        Ok(Self { parts, readiness, blocked, stop_election, election })
    }

    /// Scans while this replica is the leader, until `stop` is there; then gives the Lease back.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut leadership = self.parts.fence.leadership();
        let mut running: Option<(u64, ScanTerm)> = None;
        let mut stop = std::pin::pin!(stop);
        loop {
            let wanted = match *leadership.borrow_and_update() {
                Leadership::Leader { term } => Some(term),
                Leadership::Standby => None,
            };
            self.parts.status.set_leader(&self.parts.fence.holder().borrow(), wanted.is_some());
            running = self.supervise(running, wanted).await;
            self.update_readiness(running.is_some());
            tokio::select! {
                () = &mut stop => break,
                _ = leadership.changed() => {}
                () = tokio::time::sleep(SUPERVISION_INTERVAL) => {}
            }
        }
        self.readiness.stop();
        self.parts.log.line(LogLevel::Info, "stopping").write();
        if let Some((_, term)) = running {
            term.stop().await;
        }
        // Only now may another replica begin: nothing is written any more.
        self.stop_election.send_replace(true);
        let _ = (&mut self.election).await;
        self.parts.log.line(LogLevel::Info, "stopped").write();
        self.parts.log.flush();
    }

    /// Returns the metrics.
    #[must_use]
    pub fn metrics(&self) -> Arc<ScanMetrics> {
        Arc::clone(&self.parts.metrics)
    }

    /// Returns a view of the scan, for pages about it.
    #[must_use]
    pub fn view(&self) -> ScanView {
        ScanView {
            progress: self.parts.status.progress(),
            report_version: self.parts.status.report_version().subscribe(),
            blocked: Arc::clone(&self.blocked),
        }
    }

    /// Ends a scan that belongs to another term or has failed, and begins the one of `wanted`.
    async fn supervise(
        &self,
        running: Option<(u64, ScanTerm)>,
        wanted: Option<u64>,
    ) -> Option<(u64, ScanTerm)> {
        let is_right = |(term, scan): &(u64, ScanTerm)| Some(*term) == wanted && !scan.has_failed();
        let running = match running {
            Some(running) if is_right(&running) => return Some(running),
            Some((_, scan)) => {
                if scan.has_failed() {
                    self.parts.metrics.count(ScanMetric::Panics);
                    self.parts.log.line(LogLevel::Error, "scan failed and begins again").write();
                    tokio::time::sleep(RESTART_PAUSE).await;
                }
                scan.stop().await;
                None
            }
            None => None,
        };
        let term = wanted?;
        match ScanTerm::start(self.parts.clone()).await {
            Ok(scan) => Some((term, scan)),
            Err(error) => {
                self.parts.log.line(LogLevel::Error, "scan not started").shown("problem", error).write();
                running
            }
        }
    }

    fn update_readiness(&self, is_scanning: bool) {
        if self.parts.rules.borrow().is_some() {
            self.readiness.done(RULES_CONDITION);
        }
        match is_scanning && !self.parts.status.is_complete() {
            true => self.readiness.wait_for(FIRST_PASS_CONDITION),
            false => self.readiness.done(FIRST_PASS_CONDITION),
        }
    }
}

fn pages(parts: &TermParts, readiness: &Arc<Readiness>) -> ScanPages {
    let namespaces = &parts.settings.lookups.exception_namespaces;
    let exception_namespace = namespaces.iter().find(|namespace| *namespace != "*");
    ScanPages {
        readiness: Arc::clone(readiness),
        metrics: Arc::<ScanMetrics>::clone(&parts.metrics),
        status: Arc::<ScanStatus>::clone(&parts.status),
        fence: Arc::<LeaseFence>::clone(&parts.fence),
        rules: parts.rules.clone(),
        exception_namespace: exception_namespace.cloned().unwrap_or_default(),
    }
}
