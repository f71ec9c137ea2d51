//! The CustomResourceDefinitions of reports, for clusters in which no other program installed them.

use super::ReportApi;

/// The definitions of `openreports.io` Report and ClusterReport, two YAML documents.
pub const OPENREPORTS_DEFINITIONS: &str = include_str!("definitions/openreports.yaml");
/// The definitions of `wgpolicyk8s.io` PolicyReport and ClusterPolicyReport, two YAML documents.
pub const WGPOLICY_DEFINITIONS: &str = include_str!("definitions/wgpolicy.yaml");

impl ReportApi {
    /// Returns the CustomResourceDefinitions of the group, as YAML documents.
    #[must_use]
    pub fn definitions(self) -> &'static str {
        match self {
            Self::OpenReports => OPENREPORTS_DEFINITIONS,
            Self::WgPolicy => WGPOLICY_DEFINITIONS,
        }
    }
}
