//! What is done from time to time: rescans begin, timers, full passes, and metrics.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use kubewright_scan::{FullPassList, JudgementCause, JudgementCounts, ObjectKey};
use kubewright_serve::log::LogLevel;

use super::handling::kind_name;
use super::{ScanThread, seconds_since_1970};
use crate::metrics::ScanMetric;
use crate::rescan::{RescanScope, run_rescan};

/// How often timers, inputs and gauges are looked at.
const SLOW_TICK_INTERVAL: Duration = Duration::from_secs(1);

impl ScanThread {
    pub(super) fn tick(&mut self, waiting_inputs: usize) {
        self.last_tick = Instant::now();
        if self.last_slow_tick.elapsed() >= SLOW_TICK_INTERVAL {
            self.last_slow_tick = Instant::now();
            self.watch_inputs();
            self.rescan_due();
            self.continue_full_pass();
            self.update_totals(waiting_inputs);
        }
        self.find_patterns();
        self.begin_rescans();
        self.update_gauges(waiting_inputs);
    }

    /// Looks for patterns where objects have changed, once all objects are known.
    fn find_patterns(&self) {
        if !self.context.status.is_complete() || !self.unsynced.is_empty() {
            return;
        }
        let mut scanner = self.scanner_mut();
        let changes = scanner.refresh_patterns(seconds_since_1970());
        if changes.is_empty() {
            return;
        }
        self.context.pattern_objects.update(&scanner, &changes, &self.context.namespace);
        drop(scanner);
        self.publish_changes();
    }

    fn begin_rescans(&mut self) {
        let now = Instant::now();
        for order in self.rescans.begin(now) {
            let Some(kind) = self.watches.kind(&order.kind).filter(|kind| kind.is_judged) else {
                self.rescans.ended(&order.kind, false, now);
                continue;
            };
            let (client, inputs) = (self.context.client.clone(), self.inputs.clone());
            self.runtime.spawn(run_rescan(client, kind.resource.clone(), order, inputs));
        }
    }

    /// Watches what decisions looked up since the last time.
    fn watch_inputs(&mut self) {
        let inputs = self.scanner().watched_inputs();
        if inputs != self.watched_inputs {
            self.watched_inputs = inputs;
            self.reconcile_watches();
        }
    }

    fn rescan_due(&mut self) {
        let due = self.scanner().due(seconds_since_1970());
        let due = due.into_iter().filter(|key| !self.rescans.is_busy(&kubewright_scan::KindKey::of(key)));
        let due: Vec<ObjectKey> = due.collect();
        self.rescans.add_keys(due, JudgementCause::Clock, Instant::now());
    }

    fn continue_full_pass(&mut self) {
        if !self.context.status.is_complete() {
            return;
        }
        let period = i64::try_from(self.context.interval.as_secs()).unwrap_or(i64::MAX);
        let slice = self.scanner_mut().full_pass_slice(seconds_since_1970(), period);
        for FullPassList { kind, target } in slice {
            let scope = match target.namespace {
                Some(namespace) => {
                    RescanScope::Some { namespaces: BTreeSet::from([namespace]), keys: BTreeSet::new() }
                }
                None => RescanScope::All,
            };
            self.rescans.add(kind, scope, JudgementCause::FullPass, Instant::now());
        }
        if self.pass_begun.elapsed() >= self.context.interval && self.rescans.is_empty() {
            self.passed(self.pass_begun.elapsed());
            self.pass_begun = Instant::now();
            self.context.log.line(LogLevel::Info, "full pass complete").write();
        }
    }

    /// Notes the end of a pass over all objects.
    pub(super) fn passed(&self, took: Duration) {
        let now = SystemTime::now();
        self.context.metrics.passed(took, now);
        self.context.status.passed(now);
    }

    fn update_totals(&self, waiting_inputs: usize) {
        let scanner = self.scanner();
        let totals = scanner.totals();
        let counts = scanner.judgement_counts();
        drop(scanner);
        let metrics = &self.context.metrics;
        metrics.set(ScanMetric::Objects, 0, totals.objects as u64);
        let pending = (waiting_inputs + self.rescans.waiting_objects()) as u64;
        // Of objects that no rule is about nothing is kept, but they were read.
        let judged = match self.context.status.is_complete() {
            true => totals.objects as u64,
            false => counts.object + counts.unchanged,
        };
        self.context.status.set_judged(judged, pending);
        let JudgementCounts { object, rule, dependency, clock, full_pass, unchanged } = counts;
        // A full pass is due because of the time, too.
        for (place, count) in [object, rule, dependency, clock + full_pass].into_iter().enumerate() {
            metrics.set(ScanMetric::Judgements, place, count);
        }
        metrics.set(ScanMetric::SkippedSame, 0, unchanged);
        let results = totals.rules.iter().flat_map(|(rule, counts)| {
            let series = [
                ("pass", counts.pass),
                ("fail", counts.fail),
                ("warn", counts.warn),
                ("error", counts.error),
                ("skip", counts.skip),
            ];
            series.into_iter().filter(|(_, count)| *count > 0).map(|(result, count)| {
                ((rule.policy.to_string(), rule.rule.to_string(), result), count as u64)
            })
        });
        metrics.set_results(results);
        let unavailable = self.context.status.unavailable();
        metrics.set_unavailable(unavailable.keys().map(kind_name).collect());
    }

    fn update_gauges(&self, waiting_inputs: usize) {
        let metrics = &self.context.metrics;
        metrics.set(ScanMetric::Objects, 1, (waiting_inputs + self.rescans.waiting_objects()) as u64);
        // What still waits came after what was handled last.
        let queued = self.last_oldest.filter(|_| waiting_inputs > 0);
        metrics.set_oldest_waiting(self.rescans.oldest().into_iter().chain(queued).min());
    }
}
