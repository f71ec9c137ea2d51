//! Where reports go, how many there may be, and findings of patterns, against a real API server.

use kubewright_report::cluster_report::{ReportApi, ReportCaps};
use kubewright_scan_controller::ReportGroup;
use kubewright_value::{Source, Value, yaml};

use crate::SECOND;
use crate::stage::{Stage, policy};

#[test]
fn too_many_reports_are_announced_and_the_totals_stay_true() {
    let Some(stage) = Stage::start() else { return };
    stage.namespace("shop", "{}");
    stage.apply(&policy("require-team", "team is missing", ""));
    for number in 0..6 {
        stage.service("shop", &format!("web-{number}"), "{}");
    }
    let caps = ReportCaps { objects: 4, ..ReportCaps::default() };
    let scan = stage.scan_with("one", |settings| settings.reports.caps = caps);
    let summary = || stage.list("openreports.io", "v1alpha1", "clusterreports").into_iter().next();
    stage.within("there is a summary", 30 * SECOND, || summary().is_some());
    let summary_report = summary().expect("a summary");
    assert_eq!(summary_report.str_at(&["metadata", "name"]), "kubewright-summary");
    assert_eq!(summary_report.at(&["summary", "fail"]).and_then(Value::as_i64), Some(6));
    stage.within("three reports fit beside it", 10 * SECOND, || stage.reports().len() == 3);
    assert_eq!(scan.metric("kubewright_report_circuit_open"), 1);
    let series = "kubewright_results{policy=\"require-team\",rule=\"rule\",result=\"fail\"}";
    stage.within("the totals are true", 5 * SECOND, || scan.has_metric(series, 6));
    stage.within("an Event says so", 10 * SECOND, || {
        let events = stage.list("", "v1", "events");
        events.iter().any(|event| event.str_at(&["reason"]) == "ReportCapReached")
    });
    for number in 0..4 {
        stage.service("shop", &format!("web-{number}"), "{team: a}");
    }
    stage.within("all results fit again", 20 * SECOND, || {
        summary().is_none()
            && stage.reports().len() == 2
            && scan.metric("kubewright_report_circuit_open") == 0
    });
    scan.stop();
}

#[test]
fn reports_survive_their_definitions_and_move_to_another_group() {
    let Some(stage) = Stage::start() else { return };
    stage.namespace("shop", "{}");
    stage.apply(&policy("require-team", "team is missing", ""));
    stage.service("shop", "web", "{}");
    let scan = stage.scan("one");
    stage.within("there is a report", 30 * SECOND, || stage.reports().len() == 1);
    stage.cluster.delete(&["crd", "reports.openreports.io", "clusterreports.openreports.io"], "");
    stage.service("shop", "api", "{}");
    stage.within("the reports are gone", 30 * SECOND, || stage.reports().is_empty());
    stage.apply(ReportApi::OpenReports.definitions());
    stage.within("all reports are back", 60 * SECOND, || stage.reports().len() == 2);
    stage.kubectl(&["delete", "reports", "--all", "-n", "shop"]);
    stage.within("deleted reports are restored", 20 * SECOND, || stage.reports().len() == 2);
    scan.stop();

    stage.apply(ReportApi::WgPolicy.definitions());
    let scan =
        stage.scan_with("two", |settings| settings.reports.group = ReportGroup::Only(ReportApi::WgPolicy));
    stage.within("the reports are in the other group", 60 * SECOND, || {
        stage.list("wgpolicyk8s.io", "v1alpha2", "policyreports").len() == 2 && stage.reports().is_empty()
    });
    scan.stop();
    let scan = stage.scan_with("three", |settings| settings.reports.group = ReportGroup::Off);
    stage.within("there are no reports", 60 * SECOND, || {
        stage.list("wgpolicyk8s.io", "v1alpha2", "policyreports").is_empty()
    });
    scan.stop();
}

const FINDING_DEFINITION: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: \
     k8spatterns.kubepattern.it}, spec: {group: kubepattern.it, scope: Namespaced, names: {kind: K8sPattern, plural: \
     k8spatterns}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, \
     x-kubernetes-preserve-unknown-fields: true}}}]}}";

const INGRESS: &str = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shop, namespace: shop}, spec: \
     {defaultBackend: {service: {name: web, port: {number: 80}}}}}";

#[test]
fn findings_of_patterns_are_objects_and_rows_and_suppression_survives() {
    let Some(stage) = Stage::start() else { return };
    stage.namespace("shop", "{}");
    stage.apply(FINDING_DEFINITION);
    stage.apply(INGRESS);
    let pattern = include_str!("../../../../patterns/dangling-ingress/pattern.yaml");
    let pattern = yaml::read(&Source::new("pattern.yaml", pattern)).documents;
    let scan = stage.scan_with("one", |settings| settings.rules = pattern.clone());
    let findings = || stage.list("kubepattern.it", "v1", "k8spatterns");
    stage.within("a finding is an object", 60 * SECOND, || findings().len() == 1);
    stage.within("and a row", 10 * SECOND, || stage.rows("shop").len() == 1);
    let report = stage.reports().remove(0);
    assert_eq!(report.str_at(&["source"]), "kubewright-patterns");

    let name = findings().remove(0).str_at(&["metadata", "name"]).to_owned();
    let suppress = r#"{"spec":{"suppress":true}}"#;
    stage.kubectl(&["patch", "k8spatterns", &name, "-n", "shop", "--type=merge", "-p", suppress]);
    stage.within("a suppressed finding is a skip", 20 * SECOND, || {
        stage.rows("shop").iter().all(|row| row.starts_with("skip "))
    });
    scan.stop();
    let scan = stage.scan_with("two", |settings| settings.rules = pattern.clone());
    stage.within("the first pass ends", 30 * SECOND, || scan.is_ready());
    std::thread::sleep(4 * SECOND);
    let found = findings().remove(0);
    assert_eq!(found.at(&["spec", "suppress"]).and_then(Value::as_bool), Some(true));
    assert!(stage.rows("shop").iter().all(|row| row.starts_with("skip ")), "{:?}", stage.rows("shop"));

    stage.service("shop", "web", "{}");
    stage.within("a finding that is gone has neither", 20 * SECOND, || {
        findings().is_empty() && stage.rows("shop").is_empty()
    });
    scan.stop();
}
