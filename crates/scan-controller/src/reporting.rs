//! The task that writes reports, and says when there are too many of them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use kubewright_report::cluster_report::{
    ObjectResults, PolicyTotals, ReportScope, ReportSource, SummaryTotals,
};
use kubewright_scan::{KindKey, ObjectKey, Scanner};
use kubewright_serve::log::LogLevel;
use tokio::sync::Notify;

use crate::WriteStep;
use crate::event::ControllerEvents;
use crate::scan_thread::{ScanContext, seconds_since_1970};

/// How long changes are collected before they are written.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// How often is looked whether there is something to write, though no change was announced.
const IDLE_INTERVAL: Duration = Duration::from_secs(2);

/// How often is looked whether the cluster serves reports, while it does not.
const SERVED_INTERVAL: Duration = Duration::from_secs(10);

/// How often the summary is written anew.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(10);

/// The pause of a replica that may not write.
const FENCED_PAUSE: Duration = Duration::from_millis(500);

/// Writes reports until the scan is to end. `served` is woken when the API server serves other resources.
pub(crate) async fn run_reporting(context: ScanContext, served: Arc<Notify>, events: ControllerEvents) {
    let mut reporting = Reporting {
        context,
        events,
        is_loaded: false,
        is_pruned: false,
        loaded_at: Instant::now(),
        summary_at: None,
        is_over: false,
    };
    let changed = Arc::clone(&reporting.context.changed);
    while !reporting.is_stopping() {
        reporting.write_due().await;
        tokio::select! {
            () = changed.notified() => tokio::time::sleep(DEBOUNCE).await,
            () = served.notified() => reporting.is_loaded = false,
            () = tokio::time::sleep(IDLE_INTERVAL) => {}
        }
    }
}

struct Reporting {
    context: ScanContext,
    events: ControllerEvents,
    /// Whether it is known which reports there are.
    is_loaded: bool,
    /// Whether reports were deleted that nothing asked for, since they were loaded.
    is_pruned: bool,
    loaded_at: Instant,
    summary_at: Option<Instant>,
    /// Whether there are more results than reports may hold.
    is_over: bool,
}

impl Reporting {
    /// Writes everything that is to be written.
    async fn write_due(&mut self) {
        let is_unserved = self.context.writer.api().is_none();
        if is_unserved && self.loaded_at.elapsed() >= SERVED_INTERVAL {
            self.is_loaded = false;
        }
        if !self.is_loaded && !self.load().await {
            return;
        }
        self.prune();
        self.apply_limits().await;
        while !self.is_stopping() {
            match self.write_next().await {
                WriteStep::Done => {}
                WriteStep::Idle => return,
                WriteStep::Fenced => return tokio::time::sleep(FENCED_PAUSE).await,
                WriteStep::Failed(pause) => tokio::time::sleep(pause).await,
                WriteStep::Unserved => {
                    self.is_loaded = false;
                    return;
                }
            }
        }
    }

    async fn write_next(&self) -> WriteStep {
        let scanner = &self.context.scanner;
        let results_of = |scope: &ReportScope, source: ReportSource| {
            let scanner = scanner.read().unwrap_or_else(PoisonError::into_inner);
            results_in(&scanner, scope, source)
        };
        self.context.writer.write_next(results_of).await
    }

    /// Finds out which reports there are. Returns whether that is known.
    async fn load(&mut self) -> bool {
        let before = self.context.writer.api();
        match self.context.writer.load().await {
            Ok(api) => {
                if api != before || !self.is_pruned {
                    let name = api.map_or("off", |api| api.name());
                    self.context.log.line(LogLevel::Info, "reports loaded").text("group", name).write();
                }
                let scanner = self.context.scanner.read().unwrap_or_else(PoisonError::into_inner);
                scanner.results().for_each(|results| self.context.writer.set_results(&results));
                drop(scanner);
                (self.is_loaded, self.is_pruned, self.loaded_at) = (true, false, Instant::now());
                true
            }
            Err(error) => {
                self.context.log.line(LogLevel::Warn, "reports not read").shown("problem", &error).write();
                tokio::time::sleep(FENCED_PAUSE).await;
                false
            }
        }
    }

    /// Lets reports be deleted that nothing asked for, once everything was judged.
    fn prune(&mut self) {
        let status = &self.context.status;
        if self.is_pruned || !status.is_complete() {
            return;
        }
        self.context.writer.prune(|api_version, kind| {
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            !status.is_unavailable(&KindKey { group: group.into(), kind: kind.into() })
        });
        self.is_pruned = true;
    }

    async fn apply_limits(&mut self) {
        let is_over = self.context.writer.apply_limits();
        if is_over != self.is_over {
            self.is_over = is_over;
            let message = match is_over {
                true => "report cap reached: reports of less severe results are left out",
                false => "all results have reports again",
            };
            self.context.log.line(LogLevel::Warn, message).write();
            if is_over {
                self.events.write("ReportCapReached", message).await;
            }
            self.summary_at = None;
        }
        let is_due = self.summary_at.is_none_or(|at| at.elapsed() >= SUMMARY_INTERVAL);
        if is_due && self.context.status.is_complete() {
            self.summary_at = Some(Instant::now());
            self.context.writer.set_summary(is_over.then(|| self.totals()));
        }
    }

    fn totals(&self) -> SummaryTotals {
        let scanner = self.context.scanner.read().unwrap_or_else(PoisonError::into_inner);
        let mut policies: Vec<PolicyTotals> = Vec::new();
        for (rule, counts) in scanner.totals().rules {
            let source = match rule.dialect {
                "pattern" => ReportSource::Patterns,
                _ => ReportSource::Rules,
            };
            match policies.last_mut().filter(|last| last.policy == rule.policy && last.source == source) {
                Some(last) => last.counts += counts,
                None => policies.push(PolicyTotals { policy: rule.policy, source, counts }),
            }
        }
        SummaryTotals { policies, since: seconds_since_1970(), ..SummaryTotals::default() }
    }

    fn is_stopping(&self) -> bool {
        self.context.is_stopping.load(Ordering::Relaxed)
    }
}

/// Returns the results of the moment of one object.
fn results_in(scanner: &Scanner, scope: &ReportScope, source: ReportSource) -> Option<ObjectResults> {
    match source {
        ReportSource::Patterns => scanner.pattern_results_of(scope),
        ReportSource::Rules => {
            let group = scope.api_version.split_once('/').map_or("", |(group, _)| group);
            let key = ObjectKey {
                group: group.into(),
                kind: scope.kind.clone(),
                namespace: scope.namespace.clone(),
                name: scope.name.clone(),
            };
            // An object of the same name may have taken its place.
            scanner.results_of(&key).filter(|results| results.scope == *scope)
        }
    }
}
