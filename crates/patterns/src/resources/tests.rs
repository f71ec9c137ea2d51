//! Findings as resources.

use kubewright_graph::{Graph, References};
use kubewright_value::{Budget, Source, json, yaml};

use super::super::{DetectionSettings, compile_pattern_document, detect};
use super::*;

const KEEPING: ResourcePlacement<'_> =
    ResourcePlacement { namespace: "results", beside_object: false, suppressed: false };

const PAIR: &str = "
version: kubepattern.it/v1
kind: Pattern
metadata: {name: Shared.Config, displayName: S, patternType: STRUCTURAL, severity: WARNING, category: Security}
spec:
  message: '{{a.name}} and {{b.name}}'
  topology: LEADER_FOLLOWER
  resources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}]
  actors: [a, b]
  minRelationshipPoints: 0.1
  commonRelationships:
  - {id: same, type: USES_CONFIG, required: false, shared: true, weight: 0.29, resourceIds: [a, b]}
  - {id: account, type: USES_SA, required: false, shared: true, weight: 1.71, resourceIds: [a, b]}
";

const PODS: &str = "
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: shop, uid: u-1}
spec: {serviceAccountName: x, containers: [{name: c, envFrom: [{configMapRef: {name: common}}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: shop}
spec: {serviceAccountName: y, containers: [{name: c, envFrom: [{configMapRef: {name: common}}]}]}
";

/// Returns the first finding of `pattern` among `objects`, as `write` has it.
#[track_caller]
fn first(
    pattern: &str,
    objects: &str,
    keeping: ResourcePlacement<'_>,
    write: fn(&Pattern, &PatternFinding, &Graph, ResourcePlacement<'_>) -> Value,
) -> Value {
    let documents = yaml::read(&Source::new("p.yaml", pattern)).documents;
    let (compiled, wrong) = compile_pattern_document(documents.first().expect("a document"));
    let pattern = compiled.unwrap_or_else(|| panic!("{:?}", wrong.first().map(ToString::to_string)));
    let objects = yaml::read(&Source::new("o.yaml", objects)).documents;
    let graph = Graph::build(objects.into_iter().map(|object| object.value), &References::default());
    let found =
        detect(&pattern, &graph, &DetectionSettings::default(), &mut Budget::default()).expect("findings");
    write(&pattern, found.findings.first().expect("a finding"), &graph, keeping)
}

#[test]
fn a_k8spattern_has_what_its_definition_demands() {
    let resource = first(PAIR, PODS, KEEPING, k8s_pattern);
    let digest = resource.str_at(&["metadata", "name"]);
    assert!(digest.starts_with("shared.config-") && digest.len() == "shared.config-".len() + 8, "{digest}");
    let spec = resource.get("spec").expect("a spec");
    assert_eq!(
        json::to_string(spec),
        r#"{"apiVersion":"kubepattern.it/v1","name":"Shared.Config","type":"STRUCTURAL","message":"one and two","severity":"WARNING","confidence":"LOW","category":"Security","scores":[{"category":"CommonRelationships","score":15}],"resources":[{"name":"one","namespace":"shop","role":"a","uid":"u-1"},{"name":"two","namespace":"shop","role":"b","uid":""}]}"#
    );
}

#[test]
fn a_resource_is_kept_where_it_is_told() {
    let namespace = |keeping| {
        let resource = first(PAIR, PODS, keeping, k8s_pattern);
        resource.str_at(&["metadata", "namespace"]).to_owned()
    };
    assert_eq!(namespace(KEEPING), "results");
    assert_eq!(namespace(ResourcePlacement { beside_object: true, ..KEEPING }), "shop");
}

#[test]
fn a_suppressed_finding_says_so() {
    for write in [k8s_pattern, smell] {
        let resource = first(PAIR, PODS, ResourcePlacement { suppressed: true, ..KEEPING }, write);
        assert_eq!(resource.at(&["spec", "suppress"]), Some(&true.into()));
    }
}

#[test]
fn a_category_that_the_definition_does_not_list_stands_in_an_annotation() {
    let resource = first(&PAIR.replace("Security", "architecture"), PODS, KEEPING, k8s_pattern);
    assert_eq!(resource.at(&["spec", "category"]), None);
    assert_eq!(resource.at(&["metadata", "annotations", CATEGORY_ANNOTATION]), Some(&"architecture".into()));
}

#[test]
fn a_smell_is_about_the_leader_and_has_one_of_four_severities() {
    let resource = first(PAIR, PODS, KEEPING, smell);
    let name = resource.str_at(&["metadata", "name"]);
    assert!(name.starts_with("shared.config-u-1-"), "{name}");
    assert_eq!(resource.at(&["spec", "severity"]), Some(&"MEDIUM".into()));
    assert_eq!(
        json::to_string(resource.at(&["spec", "target"]).expect("a target")),
        r#"{"apiVersion":"v1","kind":"Pod","name":"one","namespace":"shop","uid":"u-1"}"#
    );
}

#[test]
fn a_kind_without_objects_has_a_smell_of_its_own() {
    let pattern = "
apiVersion: kubepattern.dev/v1
kind: Pattern
metadata: {name: no-quota}
spec:
  displayName: N
  severity: HIGH
  category: Reliability
  message: there is no quota
  target: {kind: ResourceQuota, apiVersion: v1, plural: resourcequotas, emitOnEmpty: true}
";
    let resource = first(pattern, PODS, KEEPING, smell);
    assert_eq!(resource.at(&["metadata", "name"]), Some(&"no-quota-empty".into()));
    assert_eq!(resource.at(&["spec", "target", "kind"]), Some(&"ResourceQuota".into()));
}

#[test]
fn a_decimal_half_is_rounded_upwards() {
    for (percent, want) in [(14.499_999_999_999_998, 15_i64), (14.4, 14), (0.0, 0), (100.0, 100)] {
        assert_eq!(rounded_percent(percent), Value::from(want), "{percent}");
    }
}

#[test]
fn a_uid_that_no_cluster_gives_stands_in_no_name() {
    for uid in ["a/b", "A", "a\\nb", "-a", "a.", "\\u202e", &"a".repeat(64)] {
        let objects = PODS.replace("uid: u-1", &format!("uid: \"{uid}\""));
        let found = first(PAIR, &objects, KEEPING, smell);
        let name = found.at(&["metadata", "name"]).and_then(Value::as_str).unwrap();
        let end = name.strip_prefix("shared.config-").unwrap();
        assert!(end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    }
}
