//! Our reports in the cluster, by one list of metadata a kind.

use std::collections::HashMap;
use std::ops::ControlFlow;

use kubewright_cluster::{Client, Error, GroupVersionResource};
use kubewright_k8s::ApiPath;
use kubewright_report::cluster_report::{DIGEST_ANNOTATION, ReportApi};
use kubewright_value::Value;

use super::ledger::{ReportId, TrackedReport};
use super::ours::{is_ours, report_selector};

/// How many reports one page has.
const REPORT_PAGE_OBJECTS: u32 = 1_000;

/// Returns our reports of a group.
pub(super) async fn list_reports(
    client: &Client,
    api: ReportApi,
    is_compatible: bool,
) -> Result<HashMap<ReportId, TrackedReport>, Error> {
    let mut found = HashMap::new();
    for is_namespaced in [true, false] {
        let mut path = report_resource(api, is_namespaced).all();
        path.query.push(("labelSelector".into(), report_selector(is_compatible).into()));
        let visit = |report: Value| {
            if is_ours(&report) {
                found.insert(report_id(&report), TrackedReport::of(&report));
            }
            ControlFlow::Continue(())
        };
        client.visit_list(&path, REPORT_PAGE_OBJECTS, true, visit).await?;
    }
    Ok(found)
}

/// Returns the address of a report.
pub(super) fn report_path(api: ReportApi, id: &ReportId) -> ApiPath {
    report_resource(api, !id.namespace.is_empty()).named(&id.namespace, &id.name)
}

pub(super) fn report_resource(api: ReportApi, is_namespaced: bool) -> GroupVersionResource {
    GroupVersionResource::new(api.group(), api.version(), api.resource(is_namespaced))
}

pub(super) fn report_id(report: &Value) -> ReportId {
    let text = |key: &str| report.str_at(&["metadata", key]).into();
    ReportId { namespace: text("namespace"), name: text("name") }
}

impl TrackedReport {
    /// Reads what is needed from the metadata of a report.
    pub(super) fn of(report: &Value) -> Self {
        let metadata = report.get("metadata").cloned().unwrap_or_default();
        let owner = metadata.get("ownerReferences").and_then(|owners| owners.item(0)).cloned();
        let owner = owner.unwrap_or_default();
        Self {
            digest: metadata.str_at(&["annotations", DIGEST_ANNOTATION]).into(),
            uid: metadata.str_at(&["uid"]).into(),
            resource_version: metadata.str_at(&["resourceVersion"]).into(),
            owner: (owner.str_at(&["apiVersion"]).into(), owner.str_at(&["kind"]).into()),
        }
    }
}
