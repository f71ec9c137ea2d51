//! What must be written so that the stored reports are the wanted ones.

use std::collections::HashMap;

use kubewright_value::{Text, Value};

use super::{DIGEST_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL, REPORT_NAME_PREFIX, ReportApi, ReportObject};

/// A stored report, as its metadata describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredReport {
    /// The API group that it belongs to.
    pub api: ReportApi,
    /// The name.
    pub name: Text,
    /// Empty for a report without one.
    pub namespace: Text,
    /// What it says, as its annotation states; empty if it has none.
    pub digest: Text,
    /// The version that a write or a delete names, so that it fails if the report was changed meanwhile.
    pub resource_version: Text,
    /// The uid, which a delete names.
    pub uid: Text,
    /// Whether we wrote it: its label and its name say so.
    pub is_managed: bool,
}

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum ReportChange<'r> {
    /// There is no such report.
    Create(&'r ReportObject),
    /// The stored report says something else.
    Replace {
        /// The report to be stored.
        wanted: &'r ReportObject,
        /// The report that is stored.
        stored: &'r StoredReport,
    },
    /// The stored report is about nothing any more.
    Delete(&'r StoredReport),
}

impl StoredReport {
    /// Reads a stored report, or an object that has only its `metadata`.
    #[must_use]
    pub fn read(api: ReportApi, object: &Value) -> Self {
        let text = |key: &str| Text::from(object.str_at(&["metadata", key]));
        let name = text("name");
        let label = object.str_at(&["metadata", "labels", MANAGED_BY_LABEL]);
        Self {
            api,
            is_managed: label == MANAGED_BY && name.starts_with(REPORT_NAME_PREFIX),
            name,
            namespace: text("namespace"),
            digest: object.str_at(&["metadata", "annotations", DIGEST_ANNOTATION]).into(),
            resource_version: text("resourceVersion"),
            uid: text("uid"),
        }
    }

    fn key(&self) -> ReportKey<'_> {
        (self.api, &self.namespace, &self.name)
    }
}

/// What tells stored reports apart.
type ReportKey<'r> = (ReportApi, &'r str, &'r str);

/// Returns what makes `stored` into `wanted`: reports are created, replaced where their digests differ, and deleted.
///
/// `stored` are all reports that `wanted` is compared with: those of one object, or of a whole cluster. A report that
/// another program wrote is neither replaced nor deleted, even if it has the name of a wanted one.
#[must_use]
pub fn report_changes<'r>(wanted: &'r [ReportObject], stored: &'r [StoredReport]) -> Vec<ReportChange<'r>> {
    let mut by_key: HashMap<ReportKey<'_>, &StoredReport> =
        stored.iter().map(|report| (report.key(), report)).collect();
    let mut changes = Vec::new();
    for wanted in wanted {
        match by_key.remove(&(wanted.api, wanted.namespace.as_str(), wanted.name.as_str())) {
            None => changes.push(ReportChange::Create(wanted)),
            Some(stored) if !stored.is_managed || stored.digest == wanted.digest => {}
            Some(stored) => changes.push(ReportChange::Replace { wanted, stored }),
        }
    }
    // In the order of the list, because that of the map is not the same every time.
    let is_left = |report: &&StoredReport| report.is_managed && by_key.contains_key(&report.key());
    changes.extend(stored.iter().filter(is_left).map(ReportChange::Delete));
    changes
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::super::tests::{failed, results_of};
    use super::*;
    use crate::cluster_report::report_objects;

    /// Returns `report` as an API server stores it, with `label` and `digest`.
    fn stored_as(report: &ReportObject, label: &str, digest: &str) -> StoredReport {
        let text = format!(
            r#"{{"metadata": {{"name": "{}", "namespace": "{}", "resourceVersion": "5", "uid": "u",
                "labels": {{"app.kubernetes.io/managed-by": "{label}"}},
                "annotations": {{"kubewright.dev/digest": "{digest}"}}}}}}"#,
            report.name, report.namespace
        );
        StoredReport::read(report.api, &json::parse(&text).expect("an object"))
    }

    #[test]
    fn report_changes_write_only_differences() {
        let wanted = report_objects(ReportApi::OpenReports, &results_of(vec![failed("a", "r")]));
        let report = wanted.first().expect("a report");
        assert_eq!(report_changes(&wanted, &[]), [ReportChange::Create(report)]);
        assert_eq!(report_changes(&wanted, &[stored_as(report, "kubewright", &report.digest)]), []);
        let old = [stored_as(report, "kubewright", "0")];
        let replaced = ReportChange::Replace { wanted: report, stored: &old[0] };
        assert_eq!(report_changes(&wanted, &old), [replaced]);
        assert_eq!(report_changes(&[], &old), [ReportChange::Delete(&old[0])]);
    }

    #[test]
    fn report_changes_never_touch_reports_of_other_programs() {
        let wanted = report_objects(ReportApi::OpenReports, &results_of(vec![failed("a", "r")]));
        let report = wanted.first().expect("a report");
        let without_label = stored_as(report, "kyverno", "0");
        let other_name =
            ReportObject { name: "0b1ff0a2-6a6b-4a0e-9f0e-0123456789ab".to_owned(), ..report.clone() };
        let without_prefix = stored_as(&other_name, "kubewright", "0");
        for foreign in [without_label, without_prefix] {
            assert_eq!(report_changes(&[], std::slice::from_ref(&foreign)), []);
            let changes = report_changes(&wanted, std::slice::from_ref(&foreign)).len();
            assert_eq!(changes, usize::from(foreign.name != report.name));
        }
    }

    #[test]
    fn report_changes_move_reports_to_the_other_group() {
        let old = report_objects(ReportApi::WgPolicy, &results_of(vec![failed("a", "r")]));
        let wanted = report_objects(ReportApi::OpenReports, &results_of(vec![failed("a", "r")]));
        let stored = [stored_as(&old[0], "kubewright", &old[0].digest)];
        let changes = [ReportChange::Create(&wanted[0]), ReportChange::Delete(&stored[0])];
        assert_eq!(report_changes(&wanted, &stored), changes);
    }
}
