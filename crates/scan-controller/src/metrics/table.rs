//! The table of the metrics of a scan: name, type, labels and help of everything that `/metrics` shows.

use kubewright_serve::metrics::MetricType;

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct ScanMetricRow {
    pub(crate) id: ScanMetric,
    /// The name that Prometheus reads.
    pub name: &'static str,
    /// The type.
    pub kind: MetricType,
    /// The name of the label, or several; empty without one.
    pub label: &'static str,
    /// The values of the label where they are known before; one empty text without a label.
    pub values: &'static [&'static str],
    /// The help text: one sentence.
    pub help: &'static str,
}

/// Defines [`ScanMetric`] and [`SCAN_METRICS`] from rows.
macro_rules! scan_metrics {
    ($($id:ident: $kind:ident $name:literal [$label:literal $(: $($value:literal),+)?] $help:literal;)*) => {
        /// The metrics, in the order of [`SCAN_METRICS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum ScanMetric { $($id,)* }

        /// Every metric of the scan, in the order in which `/metrics` shows them.
        pub const SCAN_METRICS: &[ScanMetricRow] = &[$(ScanMetricRow {
            id: ScanMetric::$id,
            name: $name,
            kind: MetricType::$kind,
            label: $label,
            values: scan_metrics!(@values $($($value),+)?),
            help: $help,
        },)*];
    };
    (@values) => { &[""] };
    (@values $($value:literal),+) => { &[$($value),+] };
}

/// What was done to a report; the place of the label of [`ScanMetric::ReportWrites`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteVerb {
    Create,
    Update,
    Delete,
}

scan_metrics! {
    Objects: Gauge "kubewright_scan_objects" ["state": "judged", "waiting"]
        "Objects that are judged, and changes that wait to be judged.";
    OldestWaiting: Gauge "kubewright_scan_oldest_waiting_seconds" [""]
        "Seconds that the oldest change has waited to be judged; 0 without one.";
    PassDuration: Gauge "kubewright_scan_pass_duration_seconds" [""]
        "Duration of the last pass over all objects.";
    LastPass: Gauge "kubewright_scan_last_pass_timestamp_seconds" [""]
        "End of the last pass over all objects, in seconds since the Unix epoch.";
    Judgements: Counter "kubewright_scan_judgements_total" ["cause": "object", "rule", "dependency", "clock"]
        "Objects judged, by what made it necessary.";
    SkippedSame: Counter "kubewright_scan_skipped_same_total" [""]
        "Objects that were not judged because nothing that rules read had changed.";
    UnavailableKinds: Gauge "kubewright_scan_kind_unavailable" ["kind"]
        "Kinds that cannot be read and are not scanned; the value is always 1.";
    Panics: Counter "kubewright_scan_panics_total" [""]
        "Judgements that panicked. Every panic is a bug in kubewright.";
    ReportObjects: Gauge "kubewright_report_objects" [""]
        "Reports of this scan in the cluster.";
    ReportBytes: Gauge "kubewright_report_bytes" [""]
        "Bytes of these reports as JSON.";
    ReportWrites: Counter "kubewright_report_writes_total" ["verb": "create", "update", "delete"]
        "Writes of reports.";
    ReportWriteErrors: Counter "kubewright_report_write_errors_total" [""]
        "Writes of reports that failed and are tried again.";
    CircuitOpen: Gauge "kubewright_report_circuit_open" [""]
        "1 while there are more results than reports may hold; the summary report has the totals.";
    Results: Gauge "kubewright_results" ["policy, rule, result"]
        "Results of all objects, by policy, rule and result.";
    BackgroundWrites: Counter "kubewright_background_writes_total" ["verb": "create", "update", "delete"]
        "Objects that rules wrote in the background.";
    BackgroundWriteErrors: Counter "kubewright_background_write_errors_total" [""]
        "Writes in the background that the API server refused or could not do.";
    BackgroundWaiting: Gauge "kubewright_background_waiting_triggers" [""]
        "Triggers of rules that wait to be worked on.";
    BackgroundDownstreams: Gauge "kubewright_background_downstreams" [""]
        "Objects that rules made and that are known by their labels.";
    BackgroundProblems: Gauge "kubewright_background_policies_with_problems" [""]
        "Policies that do not do in the background what they say; their statuses name the reason.";
    BackgroundDeletions: Counter "kubewright_background_deletions_total" ["cause": "schedule", "ttl"]
        "Objects deleted by the schedule of a policy, or by the age that a label gave them.";
    Leader: Gauge "kubewright_leader" [""]
        "1 while this replica is the leader.";
}

/// Returns the table as Markdown.
#[must_use]
pub fn scan_metrics_markdown() -> String {
    let mut text = String::from("| name | type | labels | meaning |\n|---|---|---|---|\n");
    for row in SCAN_METRICS {
        let labels = match (row.label, row.values) {
            ("", _) => String::new(),
            (label, [""]) => format!("`{}`", label.replace(", ", "`, `")),
            (label, values) => format!("`{label}`: {}", values.join(", ")),
        };
        text.push_str(&format!("| `{}` | {} | {labels} | {} |\n", row.name, row.kind, row.help));
    }
    text
}
