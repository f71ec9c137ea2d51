use kubewright_graph::References;
use kubewright_value::{Source, yaml};

use super::super::compile_pattern_document;
use super::*;

const POD: &str = "{resource: Pod, id: pod}";
const PODS: &str = "kind: Pod, apiVersion: v1";

/// Returns the hint for a leader that is a `kind` called `legacy` in `shop`, in the relationship `relationship` with a Pod.
#[track_caller]
fn hint(relationship: &str, leader: &str, other: &str, objects: &[String]) -> String {
    let kind = leader.split(',').next().unwrap_or_default();
    let text = format!(
        "version: kubepattern.it/v1\nkind: Pattern\nmetadata: {{name: p, displayName: P, patternType: CUSTOM, severity: INFO, category: Security}}\n\
         spec:\n  message: m\n  topology: SINGLE\n  actors: [l]\n  resources: [{{resource: {kind}, id: l, leader: true}}, {other}]\n  \
         relationships: [{{id: r, type: {relationship}, resourceIds: [l, pod], required: true, shared: true}}]\n"
    );
    let read = |text: &str| yaml::read(&Source::new("t.yaml", text)).documents;
    let (pattern, wrong) = compile_pattern_document(read(&text).first().expect("a document"));
    let pattern = pattern.unwrap_or_else(|| panic!("{wrong:?}"));
    let rest = leader.split_once(',').map_or("", |(_, rest)| rest);
    let mut all = vec![format!("{{kind: {kind}, metadata: {{name: legacy, namespace: shop}}, {rest}}}")];
    all.extend_from_slice(objects);
    let values = read(&all.join("\n---\n")).into_iter().map(|document| document.value);
    let graph = Graph::build(values, &References::default());
    let leader =
        graph.ids().find(|id| graph.node(*id).is_some_and(|node| node.name == "legacy")).expect("it");
    let found = near_misses(&pattern, "r", leader, &graph, 2, &mut Budget::default()).expect("enough budget");
    found.map_or_else(|| "nothing".to_owned(), |found| found.hint(&graph))
}

fn pod(name: &str, namespace: &str, labels: &str) -> String {
    format!("{{{PODS}, metadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}}}")
}

/// A Service that wants `selector`.
fn service(selector: &str) -> String {
    format!("Service, apiVersion: v1, spec: {{selector: {{{selector}}}}}")
}

#[test]
fn a_pod_with_another_value_of_the_label_is_near() {
    let pods =
        [pod("web", "shop", "app: web"), pod("v2", "shop", "app: legacy-v2"), pod("x", "shop", "tier: db")];
    assert_eq!(
        hint("EXPOSES", &service("app: legacy"), POD, &pods),
        "3 Pods in `shop`, nearest: `v2` has app=legacy-v2 instead of app=legacy; `web` has app=web instead of app=legacy"
    );
}

#[test]
fn what_fits_but_for_one_label_is_nearer_than_what_fits_but_for_two() {
    let pods = [pod("a", "shop", "app: legacy-1, tier: x"), pod("b", "shop", "tier: web")];
    assert_eq!(
        hint("EXPOSES", &service("app: legacy, tier: web"), POD, &pods),
        "2 Pods in `shop`, nearest: `b` has no app=legacy; \
         `a` has app=legacy-1 instead of app=legacy and tier=x instead of tier=web"
    );
}

#[test]
fn what_has_nothing_of_it_is_only_counted() {
    let service = service("app: legacy");
    assert_eq!(hint("EXPOSES", &service, POD, &[pod("a", "shop", "tier: web")]), "1 Pod in `shop`");
    assert_eq!(hint("EXPOSES", &service, POD, &[]), "no Pod in `shop`");
}

#[test]
fn what_fits_in_another_namespace_or_is_filtered_out_is_near() {
    let service = service("app: legacy");
    let filtered = "{resource: Pod, id: pod, filters: {matchAll: [{key: spec.nodeName, operator: EXISTS}]}}";
    assert_eq!(
        hint("EXPOSES", &service, POD, &[pod("a", "other", "app: legacy")]),
        "no Pod in `shop`, nearest: `a` in `other` would match"
    );
    assert_eq!(
        hint("EXPOSES", &service, filtered, &[pod("a", "shop", "app: legacy")]),
        "1 Pod in `shop`, nearest: `a`, which the filter of `pod` leaves out"
    );
}

#[test]
fn expressions_of_selectors_are_read() {
    let budget = "PodDisruptionBudget, apiVersion: policy/v1, spec: {selector: {matchLabels: {app: a}, matchExpressions: [{key: t, operator: In, values: [x, w]}, {key: old, operator: DoesNotExist}]}}";
    assert_eq!(
        hint("PROTECTS", budget, POD, &[pod("p", "shop", "app: a, t: z, old: \"1\"")]),
        "1 Pod in `shop`, nearest: `p` has t=z instead of t in (x, w) and old=1 instead of !old"
    );
}

#[test]
fn a_selector_that_nearly_selects_the_leader_is_found_from_the_other_side() {
    let leader = "Pod, apiVersion: v1";
    let service = "{kind: Service, apiVersion: v1, metadata: {name: s, namespace: shop}, spec: {selector: {app: a, t: b}}}";
    let other = "{resource: Service, id: pod}";
    assert_eq!(hint("EXPOSES", leader, other, &[service.to_owned()]), "1 Service in `shop`");
    let workload = "Deployment, apiVersion: apps/v1, spec: {template: {metadata: {labels: {app: b, t: b}}}}";
    assert_eq!(
        hint("EXPOSES", workload, other, &[service.to_owned()]),
        "1 Service in `shop`, nearest: `s` wants app=a instead of app=b"
    );
}

#[test]
fn an_object_that_is_named_and_not_there_is_told() {
    let leader =
        "Pod, apiVersion: v1, spec: {containers: [{name: c, envFrom: [{configMapRef: {name: app-config}}]}]}";
    let other = "{resource: ConfigMap, id: pod}";
    let here = "{kind: ConfigMap, apiVersion: v1, metadata: {name: conf, namespace: shop}}".to_owned();
    assert_eq!(
        hint("USES_CONFIG", leader, other, &[here]),
        "1 ConfigMap in `shop`, nearest: `app-config` is referred to and absent"
    );
    assert_eq!(hint("USES_CONFIG", "Pod, apiVersion: v1", other, &[]), "nothing");
}

#[test]
fn an_object_that_is_linked_and_does_not_fit_is_told_with_the_reason() {
    let leader = "Pod, apiVersion: v1, spec: {containers: [{name: c, volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, secret: {secretName: s}}]}";
    let secret = "{kind: Secret, apiVersion: v1, metadata: {name: s, namespace: shop}}".to_owned();
    let (plain, filtered) = (
        "{resource: Secret, id: pod}",
        "{resource: Secret, id: pod, filters: {matchAll: [{key: type, operator: EXISTS}]}}",
    );
    let check = |relationship: &str, other: &str, why: &str| {
        let want = format!("1 Secret in `shop`, nearest: `s`{why}");
        assert_eq!(hint(relationship, leader, other, std::slice::from_ref(&secret)), want);
    };
    check("MOUNTS", filtered, ", which the filter of `pod` leaves out");
    let wrong = ", but with another direction, strength or field";
    check("MOUNTS, direction: BACKWARD", plain, wrong);
    check("MOUNTS, strength: OPTIONAL", plain, wrong);
    check("MOUNTS, via: \"*.env*\"", plain, wrong);
    let criteria = "MOUNTS, criteria: [{path: metadata.name, otherPath: metadata.name, operator: EQUALS}]";
    check(criteria, plain, ", but the criteria do not hold");
}
