//! Findings as objects: what is sent, what is deleted, what suppresses.

use kubewright_engine::RuleStatus;
use kubewright_graph::{Graph, References};
use kubewright_patterns::{DetectionSettings, Pattern, PatternFindings, compile_pattern_document, detect};
use kubewright_value::{Budget, Source, yaml};

use super::*;
use crate::cluster_report::{result_of_finding, scope_of_finding};

const PATTERN: &str = "
version: kubepattern.it/v1
kind: Pattern
metadata: {name: shared-config, displayName: S, patternType: STRUCTURAL, severity: WARNING, category: Security}
spec:
  message: '{{a.name}} and {{b.name}}'
  topology: LEADER_FOLLOWER
  resources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}]
  actors: [a, b]
  minRelationshipPoints: 0.1
  commonRelationships:
  - {id: same, type: USES_CONFIG, required: false, shared: true, weight: 1, resourceIds: [a, b]}
";

const PODS: &str = "
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: shop, uid: 0b1ff0a2-6a6b-4a0e-9f0e-0123456789ab}
spec: {containers: [{name: c, envFrom: [{configMapRef: {name: common}}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: shop}
spec: {containers: [{name: c, envFrom: [{configMapRef: {name: common}}]}]}
";

struct Found {
    pattern: Pattern,
    graph: Graph,
    findings: PatternFindings,
}

fn found() -> Found {
    let documents = yaml::read(&Source::new("p.yaml", PATTERN)).documents;
    let (pattern, wrong) = compile_pattern_document(documents.first().expect("a document"));
    let pattern = pattern.unwrap_or_else(|| panic!("{:?}", wrong.first().map(ToString::to_string)));
    let objects = yaml::read(&Source::new("o.yaml", PODS)).documents;
    let graph = Graph::build(objects.into_iter().map(|object| object.value), &References::default());
    let findings =
        detect(&pattern, &graph, &DetectionSettings::default(), &mut Budget::default()).expect("findings");
    Found { pattern, graph, findings }
}

impl Found {
    fn judged(&self, suppression: Option<&'static str>) -> JudgedFinding<'_> {
        JudgedFinding {
            pattern: &self.pattern,
            finding: self.findings.findings.first().expect("a finding"),
            graph: &self.graph,
            suppression,
            is_failure: true,
            since: 1_700_000_000,
        }
    }
}

/// Returns `object` as an API server has it, with `spec.suppress` that a person set.
fn stored(object: &PatternObject, suppress: bool) -> StoredPatternObject {
    let mut value = object.value.clone();
    if let Some(spec) = part_of(&mut value, "spec") {
        spec.insert("suppress".into(), suppress.into());
    }
    StoredPatternObject::read(object.kind, &value)
}

#[test]
fn pattern_objects_never_have_the_field_by_which_people_suppress() {
    let found = found();
    for kind in PatternObjectKind::ALL {
        for suppression in [None, Some("known")] {
            let object = pattern_object(kind, &found.judged(suppression), "results", true);
            assert_eq!(object.value.at(&["spec", "suppress"]), None);
            assert_eq!(object.value.str_at(&["kind"]), kind.name());
            assert_eq!((object.namespace.as_str(), object.pattern.as_str()), ("shop", "shared-config"));
        }
    }
}

#[test]
fn pattern_objects_are_deleted_only_after_a_complete_search() {
    let found = found();
    let wanted = [pattern_object(PatternObjectKind::Smell, &found.judged(None), "results", false)];
    let same = [stored(&wanted[0], false)];
    assert_eq!(pattern_object_changes(&wanted, &same, |_| true), []);
    assert_eq!(pattern_object_changes(&wanted, &[], |_| true), [PatternObjectChange::Apply(&wanted[0])]);
    assert_eq!(pattern_object_changes(&[], &same, |name| name != "shared-config"), []);
    assert_eq!(pattern_object_changes(&[], &same, |_| true), [PatternObjectChange::Delete(&same[0])]);
    let foreign = [StoredPatternObject { is_managed: false, digest: "".into(), ..same[0].clone() }];
    assert_eq!(pattern_object_changes(&[], &foreign, |_| true), []);
    assert_eq!(pattern_object_changes(&wanted, &foreign, |_| true), []);
}

#[test]
fn suppressed_findings_are_skips_with_a_reason() {
    let found = found();
    let object = pattern_object(PatternObjectKind::K8sPattern, &found.judged(None), "results", true);
    assert_eq!(stored(&object, false).suppression_of(&object), None);
    let reason = stored(&object, true).suppression_of(&object).expect("it is suppressed");
    assert!(reason.starts_with("spec.suppress of K8sPattern shop/shared-config-"), "{reason}");
    let judged = JudgedFinding { suppression: Some(&reason), ..found.judged(None) };
    let row = result_of_finding(&judged);
    assert_eq!(row.result, RuleStatus::Skip);
    assert!(row.properties.contains(&("suppressed".into(), reason.clone())), "{row:?}");
}

#[test]
fn findings_are_rows_about_their_leader() {
    let found = found();
    let judged = found.judged(None);
    let row = result_of_finding(&judged);
    assert_eq!((row.result, row.severity.as_str()), (RuleStatus::Fail, "medium"));
    assert!(row.properties.contains(&("objects".into(), "b: Pod shop/two".into())), "{row:?}");
    let scope = scope_of_finding(judged.finding, judged.graph);
    assert_eq!((scope.kind.as_str(), scope.name.as_str()), ("Pod", "one"));
}
