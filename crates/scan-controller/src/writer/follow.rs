//! Our reports as a watch sees them: one that another client changes or deletes is restored.
//!
//! Events of our own writes come late and may be older than what is known. That is no harm: before a report is written
//! it is read, and nothing is written where it says what it should.

use std::collections::HashSet;

use kubewright_cluster::{Client, ResourceEvent, ResourceWatch, watch_resource};
use kubewright_report::cluster_report::ReportApi;
use kubewright_value::Value;
use tokio::sync::{Notify, mpsc};

use super::ClusterReportWriter;
use super::ledger::{ReportId, TrackedReport};
use super::ours::{is_ours, report_selector};
use super::stored::{report_id, report_resource};

/// How many events wait.
const MAX_WAITING_REPORTS: usize = 64;

/// Follows the reports of one resource for ever, and wakes `changed` when one is to be restored.
pub(crate) async fn follow_reports(
    writer: &ClusterReportWriter,
    client: Client,
    api: ReportApi,
    is_namespaced: bool,
    changed: &Notify,
) {
    let mut path = report_resource(api, is_namespaced).all();
    path.query.push(("labelSelector".into(), report_selector(writer.settings.is_compatible).into()));
    let watch = ResourceWatch { is_metadata_only: true, ..ResourceWatch::new(path) };
    let (sender, mut events) = mpsc::channel(MAX_WAITING_REPORTS);
    let mut listed: Option<HashSet<ReportId>> = None;
    let following = async {
        while let Some(event) = events.recv().await {
            if writer.observe(api, is_namespaced, event, &mut listed) {
                changed.notify_one();
            }
        }
    };
    tokio::join!(watch_resource(client, watch, sender), following);
}

impl ClusterReportWriter {
    /// Takes up an event. Returns whether something is to be written because of it.
    fn observe(
        &self,
        api: ReportApi,
        is_namespaced: bool,
        event: ResourceEvent,
        listed: &mut Option<HashSet<ReportId>>,
    ) -> bool {
        let mut state = self.state();
        if state.api != Some(api) {
            return false;
        }
        let ledger = &mut state.ledger;
        match event {
            ResourceEvent::InitialListStarted => *listed = Some(HashSet::new()),
            ResourceEvent::InitialObject(report) | ResourceEvent::Applied(report) => {
                let id = report_id(&report);
                if let Some(listed) = listed {
                    listed.insert(id.clone());
                }
                ledger.observe(&id, tracked(&report));
            }
            ResourceEvent::Deleted(report) => {
                let id = report_id(&report);
                let is_known =
                    ledger.stored(&id).is_none_or(|known| known.uid == TrackedReport::of(&report).uid);
                if is_known {
                    ledger.observe(&id, None);
                }
            }
            ResourceEvent::InitialListEnded => {
                let found = listed.take().unwrap_or_default();
                let is_gone = |id: &ReportId| id.namespace.is_empty() != is_namespaced && !found.contains(id);
                let gone: Vec<ReportId> = ledger.stored_ids().filter(|id| is_gone(id)).cloned().collect();
                gone.iter().for_each(|id| ledger.observe(id, None));
            }
            ResourceEvent::Failed(_) => {}
        }
        !ledger.is_done()
    }
}

fn tracked(report: &Value) -> Option<TrackedReport> {
    is_ours(report).then(|| TrackedReport::of(report))
}
