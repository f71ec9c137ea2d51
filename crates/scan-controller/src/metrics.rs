//! The metrics of the scan, in the text format of Prometheus.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kubewright_serve::metrics::{Exposition, escape_label};

pub use table::{SCAN_METRICS, ScanMetricRow, scan_metrics_markdown};
pub(crate) use table::{ScanMetric, WriteVerb};

/// How many series of results there are at most; what comes after them is counted under `other`.
const MAX_RESULT_SERIES: usize = 10_000;

/// The counters and gauges of a scan.
#[derive(Debug)]
pub struct ScanMetrics {
    values: Vec<Vec<AtomicU64>>,
    results: Mutex<BTreeMap<ResultSeries, u64>>,
    unavailable: Mutex<BTreeSet<String>>,
    oldest_waiting: Mutex<Option<Instant>>,
}

/// The labels of a series of results: policy, rule, result.
pub(crate) type ResultSeries = (String, String, &'static str);

impl Default for ScanMetrics {
    fn default() -> Self {
        let values = |row: &ScanMetricRow| row.values.iter().map(|_| AtomicU64::new(0)).collect();
        Self {
            values: SCAN_METRICS.iter().map(values).collect(),
            results: Mutex::default(),
            unavailable: Mutex::default(),
            oldest_waiting: Mutex::default(),
        }
    }
}

impl ScanMetrics {
    /// Adds one to a counter without labels.
    pub(crate) fn count(&self, metric: ScanMetric) {
        self.count_at(metric, 0, 1);
    }

    /// Adds `count` to the series of a counter at `place` among the values of its label.
    pub(crate) fn count_at(&self, metric: ScanMetric, place: usize, count: u64) {
        if let Some(value) = self.at(metric, place) {
            value.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Counts a write of a report.
    pub(crate) fn written(&self, verb: WriteVerb) {
        self.count_at(ScanMetric::ReportWrites, verb as usize, 1);
    }

    /// Returns how many reports were created, replaced and deleted.
    #[must_use]
    pub fn report_writes(&self) -> u64 {
        let places = 0..self.values.get(ScanMetric::ReportWrites as usize).map_or(0, Vec::len);
        places.map(|place| self.value(ScanMetric::ReportWrites, place)).sum()
    }

    /// Sets a gauge, or its series at `place`.
    pub(crate) fn set(&self, metric: ScanMetric, place: usize, value: u64) {
        if let Some(gauge) = self.at(metric, place) {
            gauge.store(value, Ordering::Relaxed);
        }
    }

    /// Returns a value.
    #[must_use]
    pub(crate) fn value(&self, metric: ScanMetric, place: usize) -> u64 {
        self.at(metric, place).map_or(0, |value| value.load(Ordering::Relaxed))
    }

    /// Sets since when the oldest change waits that is not judged yet.
    pub(crate) fn set_oldest_waiting(&self, since: Option<Instant>) {
        *self.oldest_waiting.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Returns for how long the oldest change has waited.
    pub(crate) fn oldest_waiting(&self) -> Duration {
        let since = *self.oldest_waiting.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Notes the end of a pass over all objects.
    pub(crate) fn passed(&self, took: Duration, ended: SystemTime) {
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.set(ScanMetric::PassDuration, 0, milliseconds);
        let seconds = ended.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.set(ScanMetric::LastPass, 0, seconds);
    }

    /// Sets how many results there are of each policy, rule and result.
    pub(crate) fn set_results(&self, totals: impl Iterator<Item = (ResultSeries, u64)>) {
        let mut results = BTreeMap::new();
        for ((policy, rule, result), count) in totals {
            let key = match results.len() < MAX_RESULT_SERIES {
                true => (policy, rule, result),
                false => ("other".to_owned(), "other".to_owned(), result),
            };
            *results.entry(key).or_default() += count;
        }
        *self.results.lock().unwrap_or_else(PoisonError::into_inner) = results;
    }

    /// Sets the names of the kinds that cannot be read.
    pub(crate) fn set_unavailable(&self, kinds: BTreeSet<String>) {
        *self.unavailable.lock().unwrap_or_else(PoisonError::into_inner) = kinds;
    }

    /// Forgets what a scan counted that has ended; counters stay.
    pub(crate) fn reset_gauges(&self) {
        for metric in [ScanMetric::Objects, ScanMetric::ReportObjects, ScanMetric::ReportBytes] {
            (0..2).for_each(|place| self.set(metric, place, 0));
        }
        self.set(ScanMetric::CircuitOpen, 0, 0);
        self.set_oldest_waiting(None);
        self.set_results(std::iter::empty());
        self.set_unavailable(BTreeSet::new());
    }

    /// Returns all metrics in the text format of Prometheus.
    #[must_use]
    pub fn exposition(&self) -> String {
        let mut text = Exposition::default();
        for row in SCAN_METRICS {
            text.header(row.name, row.kind, row.help);
            self.expose(row, &mut text);
        }
        text.finish()
    }

    fn expose(&self, row: &ScanMetricRow, text: &mut Exposition) {
        match row.id {
            ScanMetric::Results => {
                let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
                for ((policy, rule, result), count) in results.iter() {
                    let (policy, rule) = (escape_label(policy), escape_label(rule));
                    let labels = format!("policy=\"{policy}\",rule=\"{rule}\",result=\"{result}\"");
                    text.sample(row.name, &labels, count);
                }
            }
            ScanMetric::UnavailableKinds => {
                for kind in self.unavailable.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                    text.sample(row.name, &format!("kind=\"{}\"", escape_label(kind)), 1);
                }
            }
            ScanMetric::OldestWaiting => {
                text.sample(row.name, "", format_args!("{:.3}", self.oldest_waiting().as_secs_f64()));
            }
            ScanMetric::PassDuration => {
                let took = Duration::from_millis(self.value(row.id, 0));
                text.sample(row.name, "", format_args!("{:.3}", took.as_secs_f64()));
            }
            _ => {
                for (place, value) in row.values.iter().enumerate() {
                    let labels = match *value {
                        "" => String::new(),
                        value => format!("{}=\"{value}\"", row.label),
                    };
                    text.sample(row.name, &labels, self.value(row.id, place));
                }
            }
        }
    }

    fn at(&self, metric: ScanMetric, place: usize) -> Option<&AtomicU64> {
        self.values.get(metric as usize)?.get(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_metrics_in_the_docs_are_those_of_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scanning.md");
        let (begin, end) = ("<!-- metrics: begin -->\n", "<!-- metrics: end -->");
        let docs = std::fs::read_to_string(path).unwrap();
        let (before, rest) = docs.split_once(begin).unwrap();
        let (table, after) = rest.split_once(end).unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, format!("{before}{begin}{}{end}{after}", scan_metrics_markdown())).unwrap();
            return;
        }
        assert_eq!(table, scan_metrics_markdown(), "run this test with UPDATE_DOCS=1");
    }

    #[test]
    fn dashboard_and_alerts_name_only_metrics_of_the_table() {
        let charts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts");
        for file in ["grafana/kubewright-scan.json", "kubewright/templates/prometheusrule.yaml"] {
            let text = std::fs::read_to_string(format!("{charts}/{file}")).unwrap();
            let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
            let named: Vec<&str> = words.filter(|word| word.starts_with("kubewright_")).collect();
            let is_known = |name: &&str| SCAN_METRICS.iter().any(|row| row.name == *name);
            assert!(named.len() >= 4 && named.iter().all(is_known), "{file}: {named:?}");
        }
    }

    #[test]
    fn every_metric_is_shown_with_all_values_of_its_label() {
        let metrics = ScanMetrics::default();
        metrics.written(WriteVerb::Delete);
        metrics.set_results([(("p\"".to_owned(), "r".to_owned(), "fail"), 3)].into_iter());
        metrics.passed(Duration::from_millis(1500), UNIX_EPOCH + Duration::from_secs(7));
        metrics.set_unavailable(BTreeSet::from(["v1/Node".to_owned()]));
        let text = metrics.exposition();
        for line in [
            "kubewright_scan_objects{state=\"judged\"} 0",
            "kubewright_scan_objects{state=\"waiting\"} 0",
            "kubewright_scan_judgements_total{cause=\"dependency\"} 0",
            "kubewright_scan_pass_duration_seconds 1.500",
            "kubewright_scan_last_pass_timestamp_seconds 7",
            "kubewright_scan_kind_unavailable{kind=\"v1/Node\"} 1",
            "kubewright_report_writes_total{verb=\"create\"} 0",
            "kubewright_report_writes_total{verb=\"delete\"} 1",
            "kubewright_results{policy=\"p\\\"\",rule=\"r\",result=\"fail\"} 3",
            "kubewright_leader 0",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line} is missing in {text}");
        }
    }

    #[test]
    fn results_beyond_the_limit_are_counted_together() {
        let metrics = ScanMetrics::default();
        let many =
            (0..MAX_RESULT_SERIES as u64 + 5).map(|n| ((format!("p{n:05}"), String::new(), "fail"), 1));
        metrics.set_results(many);
        assert!(metrics.exposition().contains("{policy=\"other\",rule=\"other\",result=\"fail\"} 5\n"));
    }
}
