//! The background scan: every object of a cluster judged, with the results in reports.

pub mod lease;
pub mod metrics;
mod writer;

pub use metrics::ScanMetrics;
pub use writer::{
    ReportGroup, ReportLimits, ReportWriter, ReportWriterSettings, WriteStep,
};
