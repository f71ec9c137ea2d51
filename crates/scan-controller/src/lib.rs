//! The background scan: every object of a cluster judged, with the results in reports.
//!
//! `rule_source` watches and compiles rules in every replica. The leader ([`lease`]) runs a `term`: watches of all kinds
//! that rules judge or look up feed one bounded channel, the scan thread judges what a change can affect, and the
//! [`ClusterReportWriter`] brings the difference into the cluster. Nothing is written that does not pass the fence of the Lease.

mod answers;
mod background;
mod blocked_admissions;
mod controller;
mod event;
mod kinds;
pub mod lease;
pub mod metrics;
mod pages;
mod pattern_objects;
mod reporting;
mod rescan;
pub mod rule_kinds;
mod rule_source;
mod scan_input;
mod scan_thread;
mod scan_view;
mod settings;
mod status;
mod store_changes;
mod term;
mod violation_events;
mod watches;
mod writer;

pub use background::BackgroundSettings;
pub use blocked_admissions::{BlockedAdmission, BlockedAdmissions};
pub use controller::{ScanController, run_scan_controller};
pub use metrics::ScanMetrics;
pub use scan_view::{ScanPhase, ScanProgress, ScanView};
pub use settings::ScanControllerSettings;
pub use writer::{ClusterReportWriter, ReportGroup, ReportWriterSettings, WriteStep, report_managers};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
