//! The plugin's responses, and that exceptions from the UI are exceptions.

use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, Value, yaml};

use super::*;

const POLICIES: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: labels
  annotations:
    policies.kyverno.io/title: Required labels
    policies.kyverno.io/severity: HIGH
    policies.kyverno.io/category: Ownership
    policies.kyverno.io/subject: Pod, Label
  uid: 5a64f8d7
spec:
  rules:
  - name: has-team
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: name a team, pattern: {metadata: {labels: {team: '?*'}}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: replicas}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE, UPDATE]}]}
  validations: [{expression: object.spec.replicas > 1, message: two replicas}]
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: no-latest, namespace: shop}
spec: {type: Reject, match: [{select: $.kind, matchValue: Pod}]}
";

fn documents() -> Vec<Document> {
    yaml::read(&Source::new("policies.yaml", POLICIES)).documents
}

fn policies() -> Vec<PluginPolicy> {
    let pattern = PluginPolicy {
        policy_kind: PluginPolicyKind::Pattern,
        kind: "Pattern".into(),
        name: "naked-pod".into(),
        ..PluginPolicy::read(&documents()[0].value).expect("a policy")
    };
    let read = documents().into_iter().filter_map(|document| PluginPolicy::read(&document.value));
    read.chain([pattern]).collect()
}

fn request(kind: &str, policies: &str) -> String {
    format!(
        r#"{{"resource": {{"apiVersion": "apps/v1", "kind": "{kind}", "name": "web", "namespace": "shop"}}, "policies": [{policies}]}}"#
    )
}

/// Returns the YAML that the UI shows for a request.
#[track_caller]
fn exception(kind: &str, requested: &str) -> String {
    let response = policy_exceptions(&policies(), request(kind, requested).as_bytes(), "");
    response.expect("an exception").str_at(&["resource"]).to_owned()
}

/// Returns what the policies say about a Deployment called `name`, each as `policy status`, where `exception` holds.
fn judged(exception: &str, name: &str) -> Vec<String> {
    let exceptions = yaml::read(&Source::new("exception.yaml", exception)).documents;
    let options = DialectOptions { exceptions, ..DialectOptions::default() };
    let engine = Engine::new(load_documents(&all_dialects(&options), &documents()).rules);
    let object = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: shop}}, spec: {{replicas: 1, template: {{spec: {{containers: []}}}}}}}}"
    );
    let object = yaml::parse(&object).expect("an object");
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let decision = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    let judged = decision
        .outcomes
        .iter()
        .filter(|outcome| outcome.status != RuleStatus::Skip || !outcome.exceptions.is_empty());
    judged.map(|outcome| format!("{} {}", outcome.rule.policy, outcome.status)).collect()
}

#[test]
fn exceptions_from_the_ui_hold_for_the_object_and_no_other() {
    let both = r#"{"name": "labels", "rules": [{"name": "autogen-has-team", "props": {}}]}, {"name": "replicas", "rules": []}"#;
    let exception = exception("Deployment", both);
    assert_eq!(judged("", "web"), ["labels fail", "replicas fail"]);
    assert_eq!(judged(&exception, "web"), ["labels skip", "replicas skip"], "{exception}");
    assert_eq!(judged(&exception, "web-admin"), ["labels fail", "replicas fail"], "{exception}");
}

#[test]
fn exceptions_without_rules_are_from_all_rules() {
    let exception = exception("CronJob", r#"{"name": "labels"}"#);
    for name in ["- has-team", "- autogen-has-team", "- autogen-cronjob-has-team"] {
        assert!(exception.lines().any(|line| line.trim() == name), "no `{name}` in\n{exception}");
    }
}

#[test]
fn findings_are_excepted_by_annotations() {
    let text = exception("Deployment", r#"{"name": "naked-pod"}"#);
    assert!(text.contains("kubewright.dev/ignore-patterns: naked-pod\n"), "{text}");
    assert_eq!(yaml::parse(&text).expect("YAML").str_at(&["metadata", "name"]), "web");
}

#[track_caller]
fn check_refused(body: &str, status: u16, message: &str) {
    let error = policy_exceptions(&policies(), body.as_bytes(), "").expect_err("it is refused");
    assert_eq!((error.status, error.message.as_str()), (status, message));
}

#[test]
fn exceptions_that_cannot_be_made_are_refused() {
    check_refused("{", 400, "the body is not JSON: found the end, expected a key in double quotes at 1:2");
    check_refused(&request("Pod", ""), 400, "`policies` is empty");
    check_refused(&request("Pod", r#"{"name": "gone"}"#), 404, "there is no policy `gone`");
    check_refused(
        &request("Pod", r#"{"name": "shop/no-latest"}"#),
        400,
        "ModRule `shop/no-latest` has no exceptions: change what the policy is about",
    );
    check_refused(
        &request("Pod' || true", r#"{"name": "labels"}"#),
        400,
        "`resource.kind` is not a valid name",
    );
    let many = vec![r#"{"name": "labels"}"#; 101].join(",");
    check_refused(&request("Pod", &many), 400, "`policies` has more than 100 items");
    check_refused(&" ".repeat(MAX_PLUGIN_REQUEST_BYTES + 1), 413, "the body has more than 262144 bytes");
}

#[test]
fn policies_have_pages_by_the_names_of_reports() {
    let list = policy_list(&policies());
    let names: Vec<&str> =
        list.as_array().expect("a list").iter().map(|item| item.str_at(&["name"])).collect();
    assert_eq!(names, ["replicas", "no-latest", "labels", "naked-pod"]);
    let page = policy_details(&policies(), "labels").expect("a page");
    assert_eq!((page.str_at(&["title"]), page.str_at(&["severity"])), ("Required labels", "high"));
    let content = page.str_at(&["code", "content"]);
    assert!(content.contains("has-team") && !content.contains("5a64f8d7"), "{content}");
    let subjects = page.at(&["engine", "subjects"]).and_then(Value::as_array).map(<[Value]>::len);
    assert_eq!(subjects, Some(2));
    assert!(policy_details(&policies(), "shop/no-latest").is_some());
    assert_eq!(policy_details(&policies(), "no-latest"), None);
}
