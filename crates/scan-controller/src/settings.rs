//! The settings of a scan.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use kubewright_scan::ScanSettings;
use kubewright_serve::ServeSettings;
use kubewright_value::Document;

use crate::lease::LeaseSettings;
use crate::{BackgroundSettings, ReportWriterSettings};

/// The settings of a scan that runs all the time.
#[derive(Debug, Clone)]
pub struct ScanControllerSettings {
    /// The Lease that says which replica scans.
    pub lease: LeaseSettings,
    /// Where health, metrics and the pages for dashboards are answered, without TLS.
    pub health_address: SocketAddr,
    /// In which time every object is judged again, whether something has changed or not.
    pub interval: Duration,
    /// How rules work in the background.
    pub background: BackgroundSettings,
    /// How reports are written.
    pub reports: ReportWriterSettings,
    /// Which objects and results have rows.
    pub scan: ScanSettings,
    /// Rules besides those of the cluster.
    pub rules: Vec<Document>,
    /// Whether rules of the cluster are read.
    pub has_cluster_rules: bool,
    /// Whether rules that run at admission only judge stored objects too.
    pub runs_admission_rules: bool,
    /// Whether Events are written about objects that a rule begins to object to.
    pub has_violation_events: bool,
    /// Which rule languages and exceptions count, what rules may look up, and the log. Other settings of the webhook are
    /// not used.
    pub lookups: ServeSettings,
}

impl Default for ScanControllerSettings {
    fn default() -> Self {
        Self {
            lease: LeaseSettings::default(),
            health_address: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 8080)),
            interval: Duration::from_secs(3600),
            background: BackgroundSettings::default(),
            reports: ReportWriterSettings::default(),
            scan: ScanSettings::default(),
            rules: Vec::new(),
            has_cluster_rules: true,
            runs_admission_rules: false,
            has_violation_events: false,
            lookups: ServeSettings::default(),
        }
    }
}
