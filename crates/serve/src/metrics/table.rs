//! The table of metrics: name, type, labels and help of everything that `/metrics` shows.
//!
//! The exposition and the table in `docs/operations.md` follow from it, so that a new metric is a row here, a call
//! where it is counted, and a run of the test with `UPDATE_DOCS=1`.

use std::fmt;

/// The type of a metric, in the words of Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations by size.
    Histogram,
}

impl fmt::Display for MetricType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        })
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct MetricRow {
    pub(crate) id: MetricId,
    /// The name that Prometheus reads.
    pub name: &'static str,
    /// The type.
    pub kind: MetricType,
    /// The names of the labels.
    pub labels: &'static [&'static str],
    /// The values of the label `reason`, where there is one.
    pub reasons: &'static [&'static str],
    /// The help text: one sentence.
    pub help: &'static str,
}

/// Defines the reasons of a counter: an enum, and the values of its label.
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            const LABELS: &'static [&'static str] = &[$($text),*];
        }
    };
}

/// Defines [`MetricId`] and [`METRICS`] from rows.
macro_rules! metrics {
    ($($id:ident: $kind:ident $name:literal [$($label:literal),*] $(by $reasons:ident)? $help:literal;)*) => {
        /// The metrics, in the order of [`METRICS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum MetricId { $($id,)* }

        /// Every metric of the server, in the order in which `/metrics` shows them.
        pub const METRICS: &[MetricRow] = &[$(MetricRow {
            id: MetricId::$id,
            name: $name,
            kind: MetricType::$kind,
            labels: &[$($label),*],
            reasons: metrics!(@reasons $($reasons)?),
            help: $help,
        },)*];
    };
    (@reasons) => { &[] };
    (@reasons $reasons:ident) => { $reasons::LABELS };
}

reasons! {
    /// Why a request was rejected before it was decided.
    OverloadReason {
        /// As many reviews are in flight as are allowed.
        InFlight = "in_flight",
        /// Bodies or answers use as much memory as they may.
        Memory = "memory",
        /// The queue of a lane is full.
        SlowLane = "slow_lane",
    }
}

reasons! {
    /// Why a review could not be decided.
    UndecidedReason {
        /// The review panicked.
        Panic = "panic",
        /// The deadline passed.
        Deadline = "deadline",
        /// The rules needed more steps than one review may take.
        Steps = "steps",
        /// The rules are not loaded yet.
        Unsynced = "unsynced",
    }
}

reasons! {
    /// Why a rule ended in an error.
    RuleErrorReason {
        /// The rule does not fit the object.
        Evaluation = "evaluation",
        /// The rule reached a limit.
        Limit = "limit",
        /// A lookup failed.
        Lookup = "lookup",
    }
}

metrics! {
    ReviewDuration: Histogram "kubewright_admission_review_duration_seconds" ["webhook"]
        "Duration of reviews, from the complete body to the answer.";
    AdmissionRequests: Counter "kubewright_admission_requests_total" ["allowed", "webhook", "kind", "operation"]
        "Admission requests that were decided.";
    RuleResults: Counter "kubewright_rule_results_total" ["dialect", "policy", "rule", "result", "cause"]
        "Results of rules.";
    RejectedOverload: Counter "kubewright_rejected_overload_total" ["reason"] by OverloadReason
        "Requests rejected at once because the server was overloaded.";
    Undecided: Counter "kubewright_undecided_total" ["reason"] by UndecidedReason
        "Reviews answered with an HTTP error because they could not be decided.";
    RuleErrors: Counter "kubewright_rule_errors_total" ["reason"] by RuleErrorReason
        "Rules that ended in an error.";
    Panics: Counter "kubewright_panics_total" []
        "Reviews that panicked. Every panic is a bug in kubewright.";
    BadRequests: Counter "kubewright_bad_requests_total" []
        "Requests refused because of their path, size, content type or syntax.";
    SlowReviews: Counter "kubewright_slow_reviews_total" []
        "Reviews decided in a lane of their own because they were large or took many steps.";
    ReviewOverruns: Counter "kubewright_review_overruns_total" []
        "Reviews that exceeded their time slice and delayed others; reviews of the same kind use a lane for 30 s.";
    ConnectionsEvicted: Counter "kubewright_connections_evicted_total" []
        "Connections closed to make room for new ones, the longest unused first.";
    Lookups: Counter "kubewright_lookups_total" []
        "Lookups of rules in the cluster, in services and in registries.";
    ExceptionsUsed: Counter "kubewright_exceptions_used_total" []
        "Rules skipped because of a policy exception.";
    NoticesDropped: Counter "kubewright_notices_dropped_total" []
        "Events and statuses dropped because the queue was full.";
    LogLinesDropped: Counter "kubewright_log_lines_dropped_total" []
        "Log lines dropped because standard error was not read fast enough.";
    TracesDropped: Counter "kubewright_traces_dropped_total" []
        "Reviews that were not traced because the collector did not accept them.";
    HandshakesFailed: Counter "kubewright_tls_handshakes_failed_total" []
        "Connections that ended before the TLS handshake was complete.";
    WebhookRewrites: Counter "kubewright_webhook_config_rewrites_total" []
        "Webhook configurations restored after a change by another client.";
    InFlight: Gauge "kubewright_in_flight" []
        "Reviews in flight.";
    Connections: Gauge "kubewright_connections" []
        "Open connections for reviews.";
    CertificateExpiry: Gauge "kubewright_certificate_expiry_timestamp_seconds" []
        "Expiry of the serving certificate, in seconds since the Unix epoch.";
    SnapshotAge: Gauge "kubewright_snapshot_age_seconds" []
        "Seconds since all watch caches were known to be in sync.";
    SnapshotGeneration: Gauge "kubewright_snapshot_generation" []
        "Number of times the rules were loaded.";
    SnapshotObjects: Gauge "kubewright_snapshot_objects" ["gvk"]
        "Objects held in watch caches, by kind.";
    BuildInfo: Gauge "kubewright_build_info" ["version"]
        "Version of kubewright; the value is always 1.";
}

/// Returns the table as Markdown, as `docs/operations.md` has it.
#[must_use]
pub fn metrics_markdown() -> String {
    let mut text = String::from("| name | type | labels | meaning |\n|---|---|---|---|\n");
    for row in METRICS {
        let labels: Vec<String> = row.labels.iter().map(|label| format!("`{label}`")).collect();
        let mut labels = labels.join(", ");
        if !row.reasons.is_empty() {
            labels = format!("{labels}: {}", row.reasons.join(", "));
        }
        text.push_str(&format!("| `{}` | {} | {labels} | {} |\n", row.name, row.kind, row.help));
    }
    text
}
