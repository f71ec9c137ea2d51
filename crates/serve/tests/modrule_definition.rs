//! The definition of ModRule, as a real API server takes it.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "modrule/contract.rs"]
mod contract;

use kubewright_controlplane::TestCluster;
use kubewright_dialects::DialectOptions;
use kubewright_value::{Value, json, yaml};

/// The cluster that all tests share, with the definition established.
fn cluster() -> Option<&'static TestCluster> {
    static READY: std::sync::OnceLock<()> = std::sync::OnceLock::new();
    let cluster = TestCluster::shared()?;
    READY.get_or_init(|| {
        let definitions = definitions();
        cluster.kubectl(&["apply", "-f", "-"], &definitions).expect_success();
        cluster.await_definitions().expect("established definitions");
        cluster.wait_until("rules can be stored", || {
            let rule = rule("{type: Reject, match: [{select: '$.kind'}]}");
            cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], &rule).is_success()
        });
    });
    Some(cluster)
}

fn definitions() -> String {
    let dialects = kubewright_dialects::all_dialects(&DialectOptions::default());
    let dialect = dialects.iter().find(|dialect| dialect.name() == "modrule").expect("the dialect");
    dialect.cluster_support().expect("it lives in clusters").custom_resource_definitions().join("\n---\n")
}

fn rule(spec: &str) -> String {
    format!(
        "{{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {{name: r, namespace: default}}, spec: {spec}}}"
    )
}

#[test]
fn the_definition_is_established_without_a_complaint() {
    let Some(cluster) = cluster() else { return };
    let found = cluster.kubectl(&["get", "crd", "modrules.api.kubemod.io", "-o", "json"], "").success();
    let found = json::parse(&found).expect("json");
    let conditions = found.at(&["status", "conditions"]).and_then(Value::as_array).expect("conditions");
    let is = |kind: &str, status: &str| {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        conditions.iter().any(|it| {
            text(it, "type").as_deref() == Some(kind) && text(it, "status").as_deref() == Some(status)
        })
    };
    assert!(is("Established", "True"), "{conditions:?}");
    assert!(is("NamesAccepted", "True"), "{conditions:?}");
    assert!(!is("NonStructuralSchema", "True"), "{conditions:?}");
    cluster.kubectl(&["get", "mr", "-A"], "").expect_success();
    let explained = cluster.kubectl(&["explain", "modrule.spec.match.matchFor"], "").success();
    assert!(explained.contains("selected values"), "{explained}");
}

#[test]
fn the_definition_can_be_applied_again_without_a_change() {
    let Some(cluster) = cluster() else { return };
    let again = cluster.kubectl(&["apply", "-f", "-"], &definitions()).success();
    assert_eq!(
        again.trim(),
        "customresourcedefinition.apiextensions.k8s.io/modrules.api.kubemod.io unchanged"
    );
}

#[test]
fn nothing_of_a_rule_is_pruned() {
    let Some(cluster) = cluster() else { return };
    let whole = rule(
        "{type: Patch, executionTier: -3, admissionOperations: [DELETE], targetNamespaceRegex: '^a$', rejectMessage: m,
          match: [{select: $.kind, matchValue: a, matchValues: [b, c], matchRegex: d, matchFor: All, negate: true}],
          matches: [{select: $.kind, matchValue: a, matchValues: [b, c], matchRegex: d, matchFor: All, negate: true}],
          patch: [{op: add, select: $.a, path: /a, value: b}]}",
    );
    check_kept(cluster, "the whole spec", &whole);
    let Some(mut examples) = contract::blocks() else { return };
    examples.retain(|text| text.contains("kind: ModRule") && text.contains("name:"));
    assert!(examples.len() > 8, "the document shows {} rules", examples.len());
    for example in examples {
        check_kept(cluster, &example, &example);
    }
}

/// Stores `rule`, as a dry run, and sees that everything that was written comes back.
#[track_caller]
fn check_kept(cluster: &TestCluster, name: &str, rule: &str) {
    let written = yaml::parse(rule).expect("yaml");
    let namespaced = ["create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"];
    let stored = cluster.kubectl(&namespaced, &homed(&written)).success();
    let stored = json::parse(&stored).expect("json");
    let (written, stored) = (written.get("spec").expect("a spec"), stored.get("spec").expect("a spec"));
    assert!(contains(stored, written), "{name}: {written}\nis stored as {stored}");
    assert!(contains(written, stored), "{name}: {written}\nis stored with more: {stored}");
}

/// Returns `rule` in a namespace that exists.
fn homed(rule: &Value) -> String {
    let mut rule = rule.clone();
    let metadata = rule.as_object_mut().and_then(|root| root.get_mut("metadata")).expect("metadata");
    metadata.as_object_mut().expect("an object").insert("namespace".into(), "default".into());
    json::to_string(&rule)
}

/// Returns whether everything in `part` is in `whole` too.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|found| contains(found, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len()
                && whole.iter().zip(part.iter()).all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

#[test]
fn what_is_stored_is_what_was_applied() {
    let Some(cluster) = cluster() else { return };
    let rule = rule("{type: Reject, match: [{select: $.kind}]}").replace("name: r,", "name: sparse,");
    cluster.kubectl(&["apply", "-f", "-"], &rule).expect_success();
    let stored = cluster.kubectl(&["get", "-o", "json", "-f", "-"], &rule).success();
    let list = json::parse(&stored).expect("json");
    // What comes from a pipe is shown as a list.
    let stored = list.get("items").and_then(|items| items.item(0)).expect("one object");
    let sent = yaml::parse(&rule).expect("yaml");
    assert_eq!(stored.get("spec"), sent.get("spec"));
    assert_eq!(stored.at(&["metadata", "labels"]), None);
    cluster.kubectl(&["delete", "-f", "-"], &rule).expect_success();
}

#[test]
fn what_the_schema_forbids_is_refused() {
    let Some(cluster) = cluster() else { return };
    let check = |spec: &str, want: &str| {
        let told = cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], &rule(spec)).failure();
        assert!(told.contains(want), "{told}");
    };
    check("{type: Fix, match: [{select: $.kind}]}", "spec.type: Unsupported value: \"Fix\"");
    check("{match: [{select: $.kind}]}", "spec.type: Required value");
    check("{type: Reject}", "spec.match: Required value");
    check("{type: Reject, match: []}", "spec.match");
    check("{type: Reject, match: [{matchValue: a}]}", "spec.match[0].select: Required value");
    check("{type: Reject, match: [{select: ''}]}", "spec.match[0].select");
    check(
        "{type: Reject, match: [{select: a, matchFor: Some}]}",
        "spec.match[0].matchFor: Unsupported value",
    );
    check(
        "{type: Reject, match: [{select: a}], admissionOperations: [CONNECT]}",
        "spec.admissionOperations[0]",
    );
    check("{type: Patch, match: [{select: a}], patch: [{op: test, path: /a}]}", "spec.patch[0].op");
    check("{type: Patch, match: [{select: a}], patch: [{op: add}]}", "spec.patch[0].path: Required value");
    check("{type: Reject, match: [{select: a}], executionTier: one}", "spec.executionTier");
}

#[test]
fn rules_are_listed_with_what_matters() {
    let Some(cluster) = cluster() else { return };
    cluster.create_namespace("columns");
    let rule =
        rule("{type: Reject, match: [{select: $.kind}], executionTier: 7}").replace("default", "columns");
    cluster.kubectl(&["create", "-f", "-"], &rule).expect_success();
    let listed = cluster.kubectl(&["get", "modrules", "-n", "columns"], "").success();
    let words: Vec<&str> = listed.split_whitespace().collect();
    assert_eq!(words.get(..7), Some(["NAME", "TYPE", "TIER", "READY", "LAST", "FAILURE", "AGE"].as_slice()));
    assert_eq!(words.get(7..10), Some(["r", "Reject", "7"].as_slice()));
}
