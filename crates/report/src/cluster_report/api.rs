//! The two API groups of reports.

use std::fmt;

/// An API group of reports. Both have the same fields; OpenReports is the successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportApi {
    /// `openreports.io/v1alpha1`: Report and ClusterReport.
    OpenReports,
    /// `wgpolicyk8s.io/v1alpha2`: PolicyReport and ClusterPolicyReport.
    WgPolicy,
}

impl ReportApi {
    /// Both groups, the preferred one first.
    pub const ALL: [Self; 2] = [Self::OpenReports, Self::WgPolicy];

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenReports => "openreports",
            Self::WgPolicy => "wgpolicy",
        }
    }

    /// Returns the API group.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::OpenReports => "openreports.io",
            Self::WgPolicy => "wgpolicyk8s.io",
        }
    }

    /// Returns the version in the group.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::OpenReports => "v1alpha1",
            Self::WgPolicy => "v1alpha2",
        }
    }

    /// Returns the `apiVersion` of its objects.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::OpenReports => "openreports.io/v1alpha1",
            Self::WgPolicy => "wgpolicyk8s.io/v1alpha2",
        }
    }

    /// Returns the kind of reports in a namespace, or of those without one.
    #[must_use]
    pub fn kind(self, is_namespaced: bool) -> &'static str {
        match (self, is_namespaced) {
            (Self::OpenReports, true) => "Report",
            (Self::OpenReports, false) => "ClusterReport",
            (Self::WgPolicy, true) => "PolicyReport",
            (Self::WgPolicy, false) => "ClusterPolicyReport",
        }
    }

    /// Returns the resource of reports in a namespace, or of those without one.
    #[must_use]
    pub fn resource(self, is_namespaced: bool) -> &'static str {
        match (self, is_namespaced) {
            (Self::OpenReports, true) => "reports",
            (Self::OpenReports, false) => "clusterreports",
            (Self::WgPolicy, true) => "policyreports",
            (Self::WgPolicy, false) => "clusterpolicyreports",
        }
    }
}

impl fmt::Display for ReportApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
