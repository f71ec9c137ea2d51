//! What the server counts, as Prometheus reads it.
//!
//! Counting is an addition to an atomic. What is counted by a name that comes from outside has at most [`MAX_SERIES`]
//! series together; what comes after them is counted under `other`.

mod histogram;
mod requests;
mod rules;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use histogram::Histogram;
pub(crate) use requests::RequestKey;
use requests::Requests;
use rules::RuleMeters;
use text::Exposition;

use crate::ServerState;

/// How many series there may be whose labels come from outside.
const MAX_SERIES: usize = 10_000;

/// Why a review was turned away unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverloadReason {
    /// As many reviews are under way as may be.
    InFlight,
    /// The bodies of reviews take as much memory as they may.
    Memory,
    /// As many slow reviews wait as may.
    SlowLane,
}

const OVERLOADS: [&str; 3] = ["in_flight", "memory", "slow_lane"];

/// Why a review could not be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndecidedReason {
    /// A rule made the program fail.
    Panic,
    /// There was no time left.
    Deadline,
    /// The rules wanted more steps than all rules may take.
    Steps,
    /// The rules are not loaded yet.
    Unsynced,
}

const TROUBLES: [&str; 4] = ["panic", "deadline", "steps", "unsynced"];

/// Why a rule could not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleErrorReason {
    /// It does not fit the object.
    Evaluation,
    /// It reached a limit.
    Limit,
    /// What it asked for was not to be had.
    Lookup,
}

const RULE_ERRORS: [&str; 3] = ["evaluation", "limit", "lookup"];

/// Everything that is counted.
#[derive(Debug, Default)]
pub struct Metrics {
    reviews: [Histogram; 2],
    requests: Requests,
    in_flight: AtomicUsize,
    overloads: [AtomicU64; OVERLOADS.len()],
    troubles: [AtomicU64; TROUBLES.len()],
    rule_errors: [AtomicU64; RULE_ERRORS.len()],
    pub(crate) rules: RuleMeters,
    refused_requests: AtomicU64,
    slow: AtomicU64,
    overruns: AtomicU64,
    evicted: AtomicU64,
    lookups: AtomicU64,
    exceptions: AtomicU64,
    notices_dropped: AtomicU64,
    connections: AtomicUsize,
    handshakes_failed: AtomicU64,
    rewrites: AtomicU64,
    certificate_expiry: AtomicI64,
    synced_at: AtomicU64,
    objects: Mutex<BTreeMap<String, u64>>,
}

impl Metrics {
    /// A webhook configuration was written anew.
    pub fn webhook_rewritten(&self) {
        self.rewrites.fetch_add(1, Ordering::Relaxed);
    }

    /// The serving certificate is valid until `seconds` after 1970.
    pub fn certificate_expires(&self, seconds: i64) {
        self.certificate_expiry.store(seconds, Ordering::Relaxed);
    }

    /// What is known of the cluster was as it is there at `time`.
    pub fn synced_at(&self, time: SystemTime) {
        let milliseconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.synced_at.store(u64::try_from(milliseconds).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// There are `count` objects of a kind, written `group/version/Kind`, in memory.
    pub fn objects_held(&self, kind: &str, count: u64) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if objects.len() < MAX_SERIES || objects.contains_key(kind) {
            objects.insert(kind.to_owned(), count);
        }
    }

    /// A notice found no room.
    pub fn notice_dropped(&self) {
        self.notices_dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many reviews failed because a rule made the program fail.
    #[must_use]
    pub fn panics(&self) -> u64 {
        counter_value(&self.troubles, UndecidedReason::Panic as usize)
    }

    /// Returns how many reviews are under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn reviewed(&self, is_mutating: bool, time: Duration) {
        let [validating, mutating] = &self.reviews;
        if is_mutating { mutating } else { validating }.observe(time);
    }

    pub(crate) fn requested(&self, key: RequestKey) {
        self.requests.count(key);
    }

    pub(crate) fn in_flight_changed(&self, now: usize) {
        self.in_flight.store(now, Ordering::Relaxed);
    }

    pub(crate) fn overloaded(&self, reason: OverloadReason) {
        increment(&self.overloads, reason as usize);
    }

    pub(crate) fn troubled(&self, trouble: UndecidedReason) {
        increment(&self.troubles, trouble as usize);
    }

    pub(crate) fn rule_failed(&self, reason: RuleErrorReason) {
        increment(&self.rule_errors, reason as usize);
    }

    pub(crate) fn refused_request(&self) {
        self.refused_requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn went_slow(&self) {
        self.slow.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn overran(&self) {
        self.overruns.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connection_evicted(&self) {
        self.evicted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn looked_up(&self) {
        self.lookups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn exceptions_used(&self, count: usize) {
        self.exceptions.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn handshake_failed(&self) {
        self.handshakes_failed.fetch_add(1, Ordering::Relaxed);
    }
}

fn increment(counters: &[AtomicU64], place: usize) {
    if let Some(counter) = counters.get(place) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn counter_value(counters: &[AtomicU64], place: usize) -> u64 {
    counters.get(place).map_or(0, |counter| counter.load(Ordering::Relaxed))
}

/// Returns everything that is counted, as Prometheus reads it.
pub(crate) fn exposition(state: &ServerState) -> String {
    let metrics = &state.metrics;
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let mut text = Exposition::default();
    let name = "kubewright_admission_review_duration_seconds";
    text.family(name, "histogram", "How long reviews took, from the whole body to the answer.");
    let [validating, mutating] = &metrics.reviews;
    validating.expose(&mut text, name, "webhook=\"validate\"");
    mutating.expose(&mut text, name, "webhook=\"mutate\"");
    metrics.requests.expose(&mut text);
    metrics.rules.expose(&mut text);

    exposed_reasons(metrics, &mut text);
    let mut counter = |name: &str, help: &str, value: u64| text.single(name, "counter", help, value);
    counter("kubewright_panics_total", "Reviews in which a rule made the program fail.", metrics.panics());
    let bad = "Requests refused before they were read: size, type, syntax.";
    counter("kubewright_bad_requests_total", bad, load(&metrics.refused_requests));
    let slow = "Reviews that took so many steps that they were decided apart from the others.";
    counter("kubewright_slow_reviews_total", slow, load(&metrics.slow));
    let overruns = "Reviews that took longer than their steps should, and kept others waiting.";
    counter("kubewright_review_overruns_total", overruns, load(&metrics.overruns));
    let evicted = "Connections closed, the longest unused first, to make room for new ones.";
    counter("kubewright_connections_evicted_total", evicted, load(&metrics.evicted));
    counter("kubewright_lookups_total", "Questions of rules put to the API server.", load(&metrics.lookups));
    let exceptions = "Rules that left an object alone because of an exception.";
    counter("kubewright_exceptions_used_total", exceptions, load(&metrics.exceptions));
    let notices = "Events and statuses that were not written because too many were waiting.";
    counter("kubewright_notices_dropped_total", notices, load(&metrics.notices_dropped));
    let lines = "Lines of the log that were dropped because nobody read them.";
    counter("kubewright_log_lines_dropped_total", lines, state.log.dropped());
    let spans = "Reviews that were not traced because the collector did not take them.";
    counter("kubewright_traces_dropped_total", spans, state.traces.dropped());
    let handshakes = "Connections that ended before TLS was set up.";
    counter("kubewright_tls_handshakes_failed_total", handshakes, load(&metrics.handshakes_failed));
    let rewrites = "Webhook configurations written anew because they were not as they should be.";
    counter("kubewright_webhook_config_rewrites_total", rewrites, load(&metrics.rewrites));

    let mut gauge = |name: &str, help: &str, value: u64| text.single(name, "gauge", help, value);
    gauge("kubewright_in_flight", "Reviews under way.", metrics.in_flight() as u64);
    let connections = metrics.connections.load(Ordering::Relaxed) as u64;
    gauge("kubewright_connections", "Connections for reviews.", connections);
    let expiry = metrics.certificate_expiry.load(Ordering::Relaxed);
    let help = "When the serving certificate ends, in seconds after 1970.";
    gauge("kubewright_certificate_expiry_timestamp_seconds", help, u64::try_from(expiry).unwrap_or(0));
    exposed_snapshot(state, &mut text);
    text.family("kubewright_build_info", "gauge", "The version of this program.");
    text.sample("kubewright_build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
    text.finish()
}

fn exposed_reasons(metrics: &Metrics, text: &mut Exposition) {
    let mut counted = |name: &str, help: &str, reasons: &[&str], counters: &[AtomicU64]| {
        text.family(name, "counter", help);
        for (place, reason) in reasons.iter().enumerate() {
            text.sample(name, &format!("reason=\"{reason}\""), counter_value(counters, place));
        }
    };
    let overloads = "Reviews and connections turned away because there were too many.";
    counted("kubewright_rejected_overload_total", overloads, &OVERLOADS, &metrics.overloads);
    let undecided = "Reviews answered with an HTTP error because they could not be decided.";
    counted("kubewright_undecided_total", undecided, &TROUBLES, &metrics.troubles);
    let errors = "Rules that could not answer.";
    counted("kubewright_rule_errors_total", errors, &RULE_ERRORS, &metrics.rule_errors);
}

fn exposed_snapshot(state: &ServerState, text: &mut Exposition) {
    let metrics = &state.metrics;
    let synced = metrics.synced_at.load(Ordering::Relaxed);
    if synced > 0 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = now.saturating_sub(Duration::from_millis(synced)).as_secs_f64();
        let name = "kubewright_snapshot_age_seconds";
        text.family(name, "gauge", "How long ago what is known of the cluster was surely as it is there.");
        text.sample(name, "", format_args!("{age:.3}"));
    }
    let snapshot = state.snapshot.load();
    text.single(
        "kubewright_snapshot_generation",
        "gauge",
        "How often the rules were loaded.",
        snapshot.generation,
    );
    let name = "kubewright_snapshot_objects";
    text.family(name, "gauge", "Objects held in memory, by kind.");
    let objects = metrics.objects.lock().unwrap_or_else(PoisonError::into_inner);
    for (kind, count) in objects.iter() {
        text.sample(name, &format!("gvk=\"{}\"", text::escape_label(kind)), *count);
    }
}

#[cfg(test)]
mod tests;
