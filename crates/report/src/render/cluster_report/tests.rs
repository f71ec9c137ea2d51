//! A PolicyReport from a decision alone, as a server that scans a cluster would make it.

use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, json, yaml};

use super::*;
use crate::{Columns, ObjectReview};

const POLICY: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: labels
  annotations: {policies.kyverno.io/severity: high, policies.kyverno.io/category: Ownership}
spec:
  rules:
  - name: has-team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: name a team, pattern: {metadata: {labels: {team: '?*'}}}}
";

/// Decides on `object` and returns its PolicyReport.
fn policy_report(object: &str) -> String {
    let rules = yaml::read(&Source::new("policy", POLICY)).documents;
    let engine = Engine::new(load_documents(&all_dialects(&DialectOptions::default()), &rules).rules);
    let object = json::parse(object).expect("an object");
    let request = AdmissionRequest::for_object(object.clone(), Operation::Create, "default");
    let decision = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    let document = Document::made(object, Source::new("cluster", ""));
    let review =
        ObjectReview { document: &document, request: &request, decision, changed: None, is_lenient: false };
    prepare_reports(
        ReportApi::WgPolicy,
        &ObjectRow::new(review, Columns { all_outcomes: true, ..Columns::default() }),
    )
}

#[test]
fn policy_report_is_made_from_a_decision() {
    let object =
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}}"#;
    let report = policy_report(object);
    for line in [
        "kind: PolicyReport",
        "  namespace: shop",
        "  fail: 1",
        "  policy: labels",
        "  rule: has-team",
        "  result: fail",
        "  severity: high",
        "  name: c",
    ] {
        assert!(report.lines().any(|own| own == line), "no line `{line}` in\n{report}");
    }
}
