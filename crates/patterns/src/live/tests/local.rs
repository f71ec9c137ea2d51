//! A change is looked at where it can matter, and nowhere else.

use super::*;

/// Returns how many leaders and patterns were looked at again because of `change`.
fn looked_at(live: &mut LivePatterns, change: impl FnOnce(&mut LivePatterns)) -> (u64, u64) {
    live.refresh(0);
    let before = live.redetections();
    change(live);
    live.refresh(1);
    let after = live.redetections();
    (after.leaders - before.leaders, after.patterns - before.patterns)
}

fn insert(text: &'static str) -> impl FnOnce(&mut LivePatterns) {
    move |live| objects(text).iter().for_each(|object| live.insert(object))
}

fn with_services() -> LivePatterns {
    let orphans = shipped_patterns().iter().find(|shipped| shipped.name == "orphan-service");
    let mut live = live(vec![compiled(orphans.expect("the pattern").source())]);
    for (name, app) in [("web", "web"), ("api", "api"), ("db", "db")] {
        let service = format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: {name}, namespace: shop}}, spec: {{selector: {{app: {app}}}}}}}"
        );
        objects(&service).iter().for_each(|object| live.insert(object));
    }
    insert(
        "{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, spec: {containers: [{name: c}]}, status: {podIP: 10.0.0.1}}",
    )(&mut live);
    live
}

#[test]
fn an_unrelated_change_looks_at_nothing() {
    let mut live = with_services();
    let other = "{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: shop, labels: {app: other}}, spec: {containers: [{name: c}]}}";
    assert_eq!(looked_at(&mut live, insert(other)), (0, 0));
    let status = "{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: web}}, spec: {containers: [{name: c}]}, status: {podIP: 10.0.0.2}}";
    assert_eq!(looked_at(&mut live, insert(status)), (0, 0));
    assert_eq!(live.redetections().unread_changes, 1);
}

#[test]
fn a_changed_label_looks_at_the_services_that_selected_it_or_do_now() {
    let mut live = with_services();
    let changed = "{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, labels: {app: api}}, spec: {containers: [{name: c}]}}";
    assert_eq!(looked_at(&mut live, insert(changed)), (2, 0));
}

#[test]
fn a_removed_pod_looks_at_its_service() {
    let mut live = with_services();
    let name =
        ObjectName { group: "".into(), kind: "Pod".into(), namespace: "shop".into(), name: "web-1".into() };
    assert_eq!(looked_at(&mut live, |live| live.remove(&name)), (1, 0));
}

#[test]
fn kinds_that_no_pattern_reads_are_said() {
    let one = live(vec![compiled(
        "version: kubepattern.it/v1
kind: Pattern
metadata: {name: p, displayName: P, patternType: STRUCTURAL, severity: INFO, category: Reliability}
spec: {message: m, topology: SINGLE, resources: [{resource: Pod, id: pod, leader: true}], actors: [pod]}",
    )]);
    assert!(one.reads_kind("", "Pod"));
    assert!(!one.reads_kind("", "ConfigMap"));
    assert!(one.names_kind("", "Pod") && !one.names_kind("", "ConfigMap"));
    assert!(!live(Vec::new()).reads_kind("", "Pod"));
    let all = live(shipped());
    assert!(all.reads_kind("apps", "ReplicaSet") && all.reads_kind("discovery.k8s.io", "EndpointSlice"));
    assert!(!all.reads_kind("", "Event"));
    assert!(all.names_kind("", "Service") && !all.names_kind("example.org", "Widget"));
}

#[test]
fn names_of_objects_that_are_gone_are_forgotten() {
    let mut live = with_services();
    live.refresh(0);
    let pod = |at: usize| {
        let text = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: web-{at}, namespace: shop, uid: uid-{at}, labels: {{app: web}}}}, spec: {{containers: [{{name: c}}]}}}}"
        );
        objects(&text).remove(0)
    };
    for at in 10..60_010 {
        let pod = pod(at);
        live.insert(&pod);
        live.remove(&ObjectName::of(&pod));
        if at % 1_000 == 0 {
            assert!(live.refresh(1).is_empty());
        }
    }
    assert!(live.graph().name_count() < 110_000, "{}", live.graph().name_count());
}
