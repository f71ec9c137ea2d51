//! Which objects have the rows of Pods and of the workloads that made them.

use kubewright_scan::{ReportOn, ScanSettings};

use super::cluster::SimulatedCluster;
use super::rules::REQUIRE_APP;

/// Returns the rows of `kind`, controlled by `owner` (apiVersion and kind), which violates a rule for Pods.
fn rows(report_on: ReportOn, kind: &str, owner: &str) -> usize {
    let (api_version, owner) = owner.rsplit_once('/').expect("a version and a kind");
    let group = match kind {
        "Pod" => "v1",
        "Job" => "batch/v1",
        _ => "apps/v1",
    };
    let spec = if kind == "Pod" {
        "spec: {containers: []}"
    } else {
        "spec: {template: {metadata: {}, spec: {containers: []}}}"
    };
    let object = format!(
        "apiVersion: {group}\nkind: {kind}\nmetadata:\n  name: x\n  namespace: a\n  ownerReferences:\n  \
         - {{apiVersion: {api_version}, kind: {owner}, name: o, uid: u, controller: true}}\n{spec}\n"
    );
    let settings = ScanSettings { report_on, ..ScanSettings::default() };
    let cluster = SimulatedCluster::new(settings, REQUIRE_APP, &object);
    // It is counted in any case.
    assert_eq!(cluster.scanner.totals().rules.values().map(|counts| counts.fail).sum::<usize>(), 1);
    cluster.rows().len()
}

#[test]
fn rows_of_controlled_objects_are_left_to_the_owner_that_the_rule_covers() {
    for (kind, owner, want) in [
        ("Pod", "apps/v1/ReplicaSet", 0),
        ("Pod", "apps/v1/StatefulSet", 0),
        ("Pod", "batch/v1/Job", 0),
        ("ReplicaSet", "apps/v1/Deployment", 0),
        ("Job", "batch/v1/CronJob", 0),
        // No rule is about these.
        ("Pod", "example.com/v1/Game", 1),
        ("ReplicaSet", "argoproj.io/v1alpha1/Rollout", 1),
        // A kind of the same name in another group.
        ("Pod", "example.com/v1/ReplicaSet", 1),
    ] {
        assert_eq!(rows(ReportOn::Roots, kind, owner), want, "{kind} of {owner}");
        assert_eq!(rows(ReportOn::All, kind, owner), 1, "{kind} of {owner}");
    }
}

#[test]
fn rules_without_a_form_for_workloads_report_on_the_pod() {
    let rule = REQUIRE_APP
        .replace("severity: high", "severity: high, pod-policies.kyverno.io/autogen-controllers: none");
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  namespace: a\n  ownerReferences:\n  \
               - {apiVersion: apps/v1, kind: ReplicaSet, name: o, uid: u, controller: true}\nspec: {containers: []}\n";
    let cluster = SimulatedCluster::new(ScanSettings::default(), &rule, pod);
    assert_eq!(cluster.rows(), ["Pod a/x require-app/app fail"]);
}
