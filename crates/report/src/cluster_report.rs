//! Reports as objects of a cluster: `openreports.io` Report and ClusterReport, `wgpolicyk8s.io` PolicyReport and
//! ClusterPolicyReport.
//!
//! Pure functions from results to objects: [`report_objects`] makes the reports of one object, [`report_changes`]
//! compares them with what is stored, [`ReportCaps`] limits their number. One object has one report for each
//! [`ReportSource`], split where it would be too large. A report is replaced as a whole and never merged, so a row
//! exists if and only if the last decision says so.
//!
//! The same results give the same bytes: rows are sorted, ids are hashes, and a digest that leaves the timestamps out
//! says whether a stored report must be replaced.

mod api;
mod caps;
mod changes;
mod definitions;
mod finding;
mod name;
mod objects;
mod pattern_objects;
mod result;
mod rows;
mod status_filter;
mod summary;
mod timestamps;

pub use api::ReportApi;
pub use caps::{ReportCaps, ReportRank, ReportSelection, ReportWeight};
pub use changes::{ReportChange, StoredReport, report_changes};
pub use definitions::{OPENREPORTS_DEFINITIONS, WGPOLICY_DEFINITIONS};
pub use finding::{JudgedFinding, result_of_finding, scope_of_finding};
pub use name::{MANAGED_BY, MANAGED_BY_LABEL, REPORT_NAME_PREFIX, SUMMARY_REPORT_NAME, report_name};
pub(crate) use objects::named_report_objects;
pub use objects::{DIGEST_ANNOTATION, MAX_REPORT_BYTES, MAX_REPORT_ROWS, ReportObject, report_objects};
pub use pattern_objects::{
    FIELD_MANAGER, PatternObject, PatternObjectChange, PatternObjectKind, StoredPatternObject,
    pattern_object, pattern_object_changes,
};
pub use result::{
    ObjectResults, ReportResult, ReportScope, ReportSource, policy_and_rule, result_of_outcome,
};
pub use status_filter::StatusFilter;
pub use summary::{PolicyTotals, SUMMARY_SOURCE, SummaryTotals, summary_report};

#[cfg(test)]
mod tests;
