//! What `GET /metrics` answers: every row of the table with its samples.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Metrics;
use super::table::{METRICS, MetricId, MetricRow};
use super::text::{Exposition, escape_label};
use crate::ServerState;

/// Returns all metrics of a server in the text format of Prometheus.
pub(crate) fn exposition(state: &ServerState) -> String {
    let mut text = Exposition::default();
    for row in METRICS {
        expose_row(state, row, &mut text);
    }
    text.finish()
}

fn expose_row(state: &ServerState, row: &MetricRow, text: &mut Exposition) {
    let metrics = &state.metrics;
    let age = match row.id {
        MetricId::SnapshotAge => metrics.snapshot_age(),
        _ => Some(Duration::ZERO),
    };
    // The age is unknown until the caches have been in sync once.
    let Some(age) = age else { return };
    text.family(row);
    match row.id {
        MetricId::ReviewDuration => {
            let [validating, mutating] = &metrics.reviews;
            validating.expose(text, row.name, "webhook=\"validate\"");
            mutating.expose(text, row.name, "webhook=\"mutate\"");
        }
        MetricId::AdmissionRequests => metrics.requests.expose(text, row.name),
        MetricId::RuleResults => metrics.rules.expose(text, row.name),
        MetricId::Panics => text.sample(row.name, "", metrics.panics()),
        MetricId::LogLinesDropped => text.sample(row.name, "", state.log.dropped()),
        MetricId::TracesDropped => text.sample(row.name, "", state.traces.dropped()),
        MetricId::SnapshotAge => text.sample(row.name, "", format_args!("{:.3}", age.as_secs_f64())),
        MetricId::SnapshotGeneration => text.sample(row.name, "", state.snapshot.load().generation),
        MetricId::SnapshotObjects => metrics.expose_objects(text, row.name),
        MetricId::BuildInfo => {
            text.sample(row.name, concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
        }
        _ => metrics.expose_values(text, row),
    }
}

impl Metrics {
    fn expose_values(&self, text: &mut Exposition, row: &MetricRow) {
        if row.reasons.is_empty() {
            text.sample(row.name, "", self.value(row.id, 0));
        }
        for (place, reason) in row.reasons.iter().enumerate() {
            text.sample(row.name, &format!("reason=\"{reason}\""), self.value(row.id, place));
        }
    }

    fn expose_objects(&self, text: &mut Exposition, name: &str) {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in objects.iter() {
            text.sample(name, &format!("gvk=\"{}\"", escape_label(kind)), *count);
        }
    }

    fn snapshot_age(&self) -> Option<Duration> {
        let synced = Some(self.synced_at.load(Ordering::Relaxed)).filter(|synced| *synced > 0)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(now.saturating_sub(Duration::from_millis(synced)))
    }
}
