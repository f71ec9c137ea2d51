//! Requests that the webhook hands over: who made them, and parts of objects of which nothing is stored.

use kubewright_value::{Map, Value, json};

use crate::objects::{QUIET, SOON};
use crate::stage::Stage;

/// The namespace of the Lease.
const HOME: &str = "kubewright-system";

/// Hands a request over, as the webhook does.
fn hand_over(stage: &Stage, name: &str, request: &str) {
    let handed = format!(r#"{{"request":{request},"roles":[],"clusterRoles":["view"]}}"#);
    store_handed(stage, name, handed);
}

/// Hands over an update that changes nothing.
fn hand_unchanged(stage: &Stage, name: &str, request: &str) {
    let handed = format!(r#"{{"request":{request},"roles":[],"clusterRoles":[],"unchanged":true}}"#);
    store_handed(stage, name, handed);
}

fn store_handed(stage: &Stage, name: &str, handed: String) {
    let data = json::to_string(&Map::from([("request", Value::from(handed))]).into());
    stage.apply(&format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"{HOME}","labels":{{"kubewright.dev/handed-request":"true"}}}},"data":{data}}}"#
    ));
}

fn is_waiting(stage: &Stage, name: &str) -> bool {
    stage.config_map(HOME, name).is_some()
}

/// Returns a request about a ConfigMap.
fn about_config_map(operation: &str, name: &str, uid: &str, user: &str) -> String {
    let key = if operation == "DELETE" { "oldObject" } else { "object" };
    format!(
        r#"{{"uid":"r-{name}","operation":"{operation}","kind":{{"group":"","version":"v1","kind":"ConfigMap"}},"resource":{{"group":"","version":"v1","resource":"configmaps"}},
        "name":"{name}","namespace":"handed","userInfo":{{"username":"{user}"}},"{key}":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"handed","labels":{{"app":"owned"}},"uid":"{uid}"}}}}}}"#
    )
}

#[test]
fn a_rule_learns_who_made_a_request_from_the_webhook() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("handed", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: owners}, spec: {background: false, rules: [{name: owner, \
         match: {any: [{resources: {kinds: [ConfigMap], selector: {matchLabels: {app: owned}}}, clusterRoles: [view]}]}, \
         generate: {synchronize: true, apiVersion: v1, kind: ConfigMap, name: owner, namespace: handed, \
         data: {data: {owner: '{{request.userInfo.username}}'}}}}]}}",
    );
    std::thread::sleep(QUIET);
    stage.put_config_map("handed", "trigger", "{app: owned}", "{}");
    std::thread::sleep(QUIET);
    assert!(stage.config_map("handed", "owner").is_none(), "a stored object does not say who made it");

    let uid = stage.config_map("handed", "trigger").unwrap_or_default();
    let uid = uid.str_at(&["metadata", "uid"]).to_owned();
    hand_over(&stage, "request-owner", &about_config_map("CREATE", "trigger", &uid, "nancy"));
    stage.within("a request does", SOON, || stage.data("handed", "owner", "owner") == "nancy");
    stage.within("it is deleted", SOON, || !is_waiting(&stage, "request-owner"));

    hand_over(&stage, "request-none", &about_config_map("CREATE", "refused", "no-such-uid", "ned"));
    stage.within("a request whose object is never stored is given up", 2 * SOON, || {
        !is_waiting(&stage, "request-none")
    });
    assert_eq!(stage.data("handed", "owner", "owner"), "nancy");
    stage.delete("configmap", "handed", "trigger");
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("handed", "owner", "owner"), "nancy", "the rule may not be about who deleted it");
    hand_over(&stage, "request-delete", &about_config_map("DELETE", "trigger", &uid, "nancy"));
    stage.within("what was made goes where the rule is about the request", SOON, || {
        stage.config_map("handed", "owner").is_none()
    });
    scan.stop();
}

#[test]
fn a_part_of_an_object_triggers_a_rule() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("handed", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: evictions}, spec: {background: false, rules: [{name: note, \
         match: {any: [{resources: {kinds: [Pod/eviction]}}]}, \
         generate: {apiVersion: v1, kind: ConfigMap, name: 'evicted-{{request.name}}', namespace: '{{request.namespace}}', data: {data: {a: b}}}}]}}",
    );
    std::thread::sleep(QUIET);
    let request = r#"{"uid":"r-eviction","operation":"CREATE","subResource":"eviction","kind":{"group":"policy","version":"v1","kind":"Eviction"},
        "resource":{"group":"","version":"v1","resource":"pods"},"name":"web","namespace":"handed","userInfo":{"username":"nancy"},
        "object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web","namespace":"handed"}}}"#;
    hand_over(&stage, "request-eviction", request);
    stage.within("an eviction is noted", SOON, || stage.data("handed", "evicted-web", "a") == "b");
    let made = stage.config_map("handed", "evicted-web").unwrap_or_default();
    let label = |key: &str| made.str_at(&["metadata", "labels", key]).to_owned();
    assert_eq!(label("generate.kyverno.io/trigger-kind"), "Eviction");
    assert_eq!(label("generate.kyverno.io/trigger-group"), "policy");
    scan.stop();
}

#[test]
fn a_rule_that_changes_others_learns_who_made_a_request() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("handed", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.put_config_map("handed", "target", "{}", "{}");
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: editors}, spec: {background: false, rules: [{name: editor, \
         match: {any: [{resources: {kinds: [ConfigMap], selector: {matchLabels: {app: owned}}}}]}, \
         mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: target, namespace: handed}], \
         patchStrategicMerge: {data: {editor: '{{request.userInfo.username}}'}}}}]}}",
    );
    std::thread::sleep(QUIET);
    stage.put_config_map("handed", "trigger", "{app: owned}", "{}");
    let uid = stage.config_map("handed", "trigger").unwrap_or_default();
    let uid = uid.str_at(&["metadata", "uid"]).to_owned();
    hand_over(&stage, "request-editor", &about_config_map("CREATE", "trigger", &uid, "nancy"));
    stage.within("the target names who asked", SOON, || stage.data("handed", "target", "editor") == "nancy");
    stage.within("the request is deleted", SOON, || !is_waiting(&stage, "request-editor"));
    scan.stop();
}

#[test]
fn an_update_that_changes_nothing_triggers_rules_that_change_others() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("handed", "{}");
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    stage.put_config_map("handed", "target", "{}", "{}");
    stage.put_config_map("handed", "trigger", "{app: owned}", "{}");
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: touches}, spec: {background: false, rules: [{name: touch, \
         match: {any: [{resources: {kinds: [ConfigMap], operations: [UPDATE], selector: {matchLabels: {app: owned}}}}]}, \
         mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: target, namespace: handed}], \
         patchStrategicMerge: {data: {touched: '{{request.object.metadata.name}}'}}}}]}}",
    );
    std::thread::sleep(QUIET);
    let uid = stage.config_map("handed", "trigger").unwrap_or_default();
    let uid = uid.str_at(&["metadata", "uid"]).to_owned();
    let request = about_config_map("UPDATE", "trigger", &uid, "nancy");
    hand_over(&stage, "request-other", &request);
    stage.within("a request for other rules is worked on", SOON, || !is_waiting(&stage, "request-other"));
    assert_eq!(stage.data("handed", "target", "touched"), "", "a watch tells of what is stored");
    hand_unchanged(&stage, "request-same", &request);
    stage.within("the target is changed", SOON, || stage.data("handed", "target", "touched") == "trigger");
    stage.within("the request is deleted", SOON, || !is_waiting(&stage, "request-same"));
    scan.stop();
}
