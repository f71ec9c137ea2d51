//! Whether the scanner runs, one replica of it is active, and its reports can be stored.

use kubewright_golib::time::{RFC3339, parse_time};
use kubewright_report::cluster_report::LEFT_OUT_OBJECTS_ANNOTATION;
use kubewright_value::Value;

use super::finding::DoctorFindings;
use super::view::{ClusterView, served_report_api, view_text};

/// After how many seconds without renewal the Lease counts as lost. It lasts 15 s.
const LEASE_GRACE_SECONDS: i64 = 30;

pub(super) fn check_scan(view: &ClusterView, findings: &mut DoctorFindings) {
    match &view.scan_deployment {
        Err(error) => findings.unseen("scan", error),
        Ok(None) => findings.warn(
            "scan",
            "there is no scanner: objects are judged when they change, and results are in no report",
            "`kubewright install` without `--no-scan` prints it",
        ),
        Ok(Some(deployment)) => {
            check_scan_replicas(deployment, findings);
            check_scan_lease(view, findings);
            check_report_kinds(view, findings);
            check_report_cap(view, findings);
        }
    }
}

fn check_scan_replicas(deployment: &Value, findings: &mut DoctorFindings) {
    let number = |path: &[&str]| deployment.at(path).and_then(Value::as_i64).unwrap_or_default();
    let (wanted, ready) = (number(&["spec", "replicas"]), number(&["status", "readyReplicas"]));
    let logs = "`kubectl logs` and `kubectl describe pod` show why a replica is not ready";
    match (wanted, ready) {
        (0, _) => findings.warn(
            "scan",
            "scaled to 0 replicas, so reports are not updated",
            "`kubectl scale` it to 2",
        ),
        (_, 0) => findings.bad("scan", format!("none of {wanted} replicas is ready"), logs),
        (wanted, ready) if ready < wanted => {
            findings.warn("scan", format!("{ready} of {wanted} replicas are ready"), logs);
        }
        _ => findings.ok("scan", format!("{ready} of {wanted} replicas are ready")),
    }
}

fn check_scan_lease(view: &ClusterView, findings: &mut DoctorFindings) {
    let logs = "`kubectl logs` of the scanner shows why it cannot renew its Lease";
    let lease = match &view.scan_lease {
        Err(error) => return findings.unseen("scan leader", error),
        Ok(None) => return findings.bad("scan leader", "no replica has ever been active", logs),
        Ok(Some(lease)) => lease,
    };
    let holder = view_text(lease, &["spec", "holderIdentity"]);
    let renewed = parse_time(RFC3339, view_text(lease, &["spec", "renewTime"]));
    match renewed.map(|time| view.now.saturating_sub(time.unix())) {
        Ok(age) if !holder.is_empty() && age <= LEASE_GRACE_SECONDS => {
            findings.ok("scan leader", format!("`{holder}` is active"));
        }
        Ok(age) if !holder.is_empty() => findings.bad(
            "scan leader",
            format!("`{holder}` has not renewed its Lease for {age} s, so reports are not updated"),
            logs,
        ),
        _ => findings.bad("scan leader", "no replica is active, so reports are not updated", logs),
    }
}

fn check_report_kinds(view: &ClusterView, findings: &mut DoctorFindings) {
    let Ok(resources) = &view.resources else { return };
    match served_report_api(resources) {
        Some(api) => findings.ok("reports", format!("are stored as `{}`", api.api_version())),
        None => findings.warn(
            "reports",
            "cannot be stored: the cluster serves neither `openreports.io` nor `wgpolicyk8s.io`",
            "`kubewright install --crds --report-crds | kubectl apply -f -`",
        ),
    }
}

fn check_report_cap(view: &ClusterView, findings: &mut DoctorFindings) {
    match &view.summary_report {
        Err(error) => findings.unseen("report cap", error),
        Ok(Some(report)) if is_cap_reached(report) => {
            findings.warn(
                "report cap",
                "there are more failing objects than reports may be stored: `kubewright-summary` has the totals",
                "mend what fails most, or raise `--max-reports`",
            );
        }
        Ok(_) => {}
    }
}

/// Returns whether the report with the totals says that objects have no report of their own.
fn is_cap_reached(report: &Value) -> bool {
    let left_out = view_text(report, &["metadata", "annotations", LEFT_OUT_OBJECTS_ANNOTATION]);
    !matches!(left_out, "" | "0")
}
