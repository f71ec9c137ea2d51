//! The metrics of the server, in the text format of Prometheus.
//!
//! Counting is an addition to an atomic. Series whose labels come from outside are limited to `MAX_SERIES` in all;
//! what comes after them is counted under `other`.

mod exposition;
mod histogram;
mod requests;
mod rules;
mod table;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use exposition::exposition;
use histogram::Histogram;
pub(crate) use requests::RequestKey;
use requests::Requests;
pub(crate) use rules::AddressHasher;
use rules::RuleMeters;
pub use table::{METRICS, MetricRow, MetricType, metrics_markdown};
pub(crate) use table::{MetricId, OverloadReason, RuleErrorReason, UndecidedReason};
pub use text::{Exposition, escape_label};

/// How many series there may be whose labels come from outside.
const MAX_SERIES: usize = 10_000;

/// The counters and gauges of a server.
#[derive(Debug)]
pub struct Metrics {
    /// The values of the rows of [`METRICS`]: one for each reason, or one.
    series: Vec<Vec<AtomicU64>>,
    reviews: [Histogram; 2],
    requests: Requests,
    pub(crate) rules: RuleMeters,
    synced_at: AtomicU64,
    objects: Mutex<BTreeMap<String, u64>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let values = |row: &MetricRow| (0..row.reasons.len().max(1)).map(|_| AtomicU64::new(0)).collect();
        Self {
            series: METRICS.iter().map(values).collect(),
            reviews: Default::default(),
            requests: Requests::default(),
            rules: RuleMeters::default(),
            synced_at: AtomicU64::new(0),
            objects: Mutex::default(),
        }
    }
}

impl Metrics {
    /// Returns how many reviews panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.value(MetricId::Undecided, UndecidedReason::Panic as usize)
    }

    /// Returns how many reviews are in flight.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.value(MetricId::InFlight, 0)
    }

    /// Adds one to a counter.
    pub(crate) fn count(&self, metric: MetricId) {
        self.add(metric, 0);
    }

    /// Sets a gauge.
    pub(crate) fn set(&self, metric: MetricId, value: u64) {
        if let Some(gauge) = self.at(metric, 0) {
            gauge.store(value, Ordering::Relaxed);
        }
    }

    /// Counts a request that was rejected because of overload.
    pub(crate) fn overloaded(&self, reason: OverloadReason) {
        self.add(MetricId::RejectedOverload, reason as usize);
    }

    /// Counts a review that could not be decided.
    pub(crate) fn undecided(&self, reason: UndecidedReason) {
        self.add(MetricId::Undecided, reason as usize);
    }

    /// Counts a rule that ended in an error.
    pub(crate) fn rule_failed(&self, reason: RuleErrorReason) {
        self.add(MetricId::RuleErrors, reason as usize);
    }

    /// Counts a connection for reviews, until [`disconnected`](Self::disconnected).
    pub(crate) fn connected(&self) {
        self.add(MetricId::Connections, 0);
    }

    /// Takes a connection back.
    pub(crate) fn disconnected(&self) {
        if let Some(gauge) = self.at(MetricId::Connections, 0) {
            gauge.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sets the expiry of the serving certificate, in seconds since the Unix epoch.
    pub(crate) fn certificate_expires(&self, seconds: i64) {
        self.set(MetricId::CertificateExpiry, u64::try_from(seconds).unwrap_or_default());
    }

    /// Sets the last time at which all watch caches were known to be in sync.
    pub(crate) fn synced_at(&self, time: SystemTime) {
        let milliseconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.synced_at.store(u64::try_from(milliseconds).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Sets how many objects of `kind`, written `group/version/Kind`, are held in watch caches.
    pub(crate) fn objects_held(&self, kind: &str, count: u64) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if objects.len() < MAX_SERIES || objects.contains_key(kind) {
            objects.insert(kind.to_owned(), count);
        }
    }

    /// Observes the duration of a review.
    pub(crate) fn reviewed(&self, is_mutating: bool, time: Duration) {
        let [validating, mutating] = &self.reviews;
        if is_mutating { mutating } else { validating }.observe(time);
    }

    /// Counts a decided request.
    pub(crate) fn requested(&self, key: RequestKey) {
        self.requests.count(key);
    }

    fn add(&self, metric: MetricId, place: usize) {
        if let Some(counter) = self.at(metric, place) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn value(&self, metric: MetricId, place: usize) -> u64 {
        self.at(metric, place).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    fn at(&self, metric: MetricId, place: usize) -> Option<&AtomicU64> {
        self.series.get(metric as usize)?.get(place)
    }
}

#[cfg(test)]
mod tests;
