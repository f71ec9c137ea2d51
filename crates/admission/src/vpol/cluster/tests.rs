//! Tests of policies in a cluster.

use kubewright_engine::{Dialect, FailurePolicy, KindOrResource, ResponseWording, RuleReport};
use kubewright_value::{Document, Value, yaml};

use crate::PolicyDialect;
use crate::policies::POLICY_LANGUAGES;

const POLICY: &str = "
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: no-latest}
spec:
  failurePolicy: Ignore
  webhookConfiguration: {timeoutSeconds: 3}
  matchConstraints:
    resourceRules:
      - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
    - expression: object.spec.containers.all(c, !c.image.endsWith(':latest'))
";

fn dialect() -> PolicyDialect {
    PolicyDialect::of(&crate::vpol::LANGUAGE, &[], kubewright_cel::Inputs::default())
}

fn document(text: &str) -> Document {
    Document::written(yaml::parse(text).expect("YAML"), "policy.yaml")
}

#[test]
fn every_kind_has_a_definition_that_stores_what_is_applied() {
    let all: Vec<&str> = POLICY_LANGUAGES.into_iter().flat_map(super::policy_definitions).collect();
    assert_eq!(all.len(), 11);
    for text in all {
        let definition = yaml::parse(text).expect("a definition is YAML");
        let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).expect("versions");
        let names: Vec<&str> = versions.iter().map(|version| version.str_at(&["name"])).collect();
        assert_eq!(names, ["v1", "v1beta1", "v1alpha1"]);
        assert!(!text.contains("default:"), "a default would be drift");
        assert!(!text.contains("REQUIRED"), "{text}");
    }
}

#[test]
fn the_webhook_asks_for_pods_and_their_controllers() {
    let compiled = dialect().compile(&document(POLICY), &[]);
    let [plan] = compiled.webhooks.as_slice() else { panic!("one webhook, not {:?}", compiled.webhooks) };
    assert_eq!(plan.failure_policy, FailurePolicy::Ignore);
    assert_eq!(plan.timeout_seconds, 3);
    let resources: Vec<&str> = plan
        .rules
        .iter()
        .map(|rule| match &rule.name {
            KindOrResource::Kind(name) | KindOrResource::Resource(name) => name.as_str(),
        })
        .collect();
    let expected = ["pods", "daemonsets", "deployments", "replicasets", "statefulsets", "cronjobs", "jobs"];
    assert_eq!(resources, expected);
}

#[test]
fn a_policy_for_the_scanner_alone_has_no_webhook() {
    let text = POLICY.replace("  failurePolicy: Ignore\n", "  evaluation: {admission: {enabled: false}}\n");
    let compiled = dialect().compile(&document(&text), &[]);
    assert!(compiled.webhooks.is_empty(), "{:?}", compiled.webhooks);
}

#[test]
fn the_status_has_the_conditions_of_kyverno() {
    let report = RuleReport {
        is_ready: true,
        has_webhooks: true,
        since: "2026-01-01T00:00:00Z".into(),
        ..RuleReport::default()
    };
    let status = dialect().status(&report);
    assert_eq!(status.at(&["conditionStatus", "ready"]), Some(&Value::from(true)));
    let conditions =
        status.at(&["conditionStatus", "conditions"]).and_then(Value::as_array).expect("conditions");
    let types: Vec<&str> = conditions.iter().map(|one| one.str_at(&["type"])).collect();
    assert_eq!(types, ["WebhookConfigured", "RBACPermissionsGranted"]);
    assert!(conditions.iter().all(|one| one.str_at(&["reason"]) == "Succeeded"));
}

#[test]
fn the_status_names_resources_that_no_report_can_be_about() {
    let message = |group: &str, resource: &str| {
        let rule = format!(
            "apiGroups: ['{group}'], apiVersions: [v1], operations: [CREATE], resources: [{resource}]"
        );
        let text = POLICY
            .replace("apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]", &rule);
        let fields = dialect().compile(&document(&text), &[]).status.into_value();
        let status = dialect().status(&RuleReport { is_ready: true, fields, ..RuleReport::default() });
        let conditions = status.at(&["conditionStatus", "conditions"]).and_then(Value::as_array);
        conditions.and_then(|list| list.first()).expect("a condition").str_at(&["message"]).to_owned()
    };
    assert_eq!(message("apps", "deployments"), "Policy is ready for reporting.");
    assert!(message("", "deployments").contains("list /v1, Resource=deployments"));
    assert!(message("", "pods/exec").contains("watch /v1, Resource=pods/exec"));
}

#[test]
fn the_status_names_the_targets_of_generated_policies() {
    let status = dialect().compile(&document(POLICY), &[]).status.into_value();
    let targets = status.at(&["autogen", "configs", "cronjobs", "targets"]).and_then(Value::as_array);
    let texts =
        |target: &Value| ["group", "kind", "resource", "version"].map(|key| target.str_at(&[key]).to_owned());
    let targets: Vec<[String; 4]> = targets.expect("targets").iter().map(texts).collect();
    assert_eq!(targets, [["batch", "CronJob", "cronjobs", "v1"].map(str::to_owned)]);
}

/// Returns the conditions in the webhook of a policy about Deployments, and the name of its own webhook.
fn conditions_in_webhook(kind: &str, more: &str) -> (Vec<String>, Option<String>) {
    let text = POLICY
        .replace("kind: ValidatingPolicy\nmetadata: {name: no-latest}", kind)
        .replace("apiGroups: ['']", "apiGroups: [apps]")
        .replace("resources: [pods]", "resources: [deployments]")
        .replace("  validations:", &format!("{more}\n  validations:"));
    let compiled = dialect().compile(&document(&text), &[]);
    let [plan] = compiled.webhooks.as_slice() else { panic!("one webhook, not {:?}", compiled.webhooks) };
    let names = plan.match_conditions.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(plan.repeats_conditions, plan.dedicated_name.is_some());
    (names, plan.dedicated_name.as_ref().map(ToString::to_string))
}

#[test]
fn conditions_that_the_api_server_knows_are_in_a_webhook_of_their_own() {
    let wide = "kind: ValidatingPolicy\nmetadata: {name: p}";
    let conditions = "  variables: [{name: v, expression: 'true'}]\n  matchConditions: [{name: known, expression: \"object.metadata.name != 'a'\"}, \
                      {name: variable, expression: variables.v}]";
    let (names, own) = conditions_in_webhook(wide, conditions);
    assert_eq!((names.as_slice(), own.as_deref()), (&["known".to_owned()][..], Some("vpol.p")));
    let (names, own) = conditions_in_webhook(wide, "");
    assert_eq!((names.len(), own), (0, None));
    let (_, own) = conditions_in_webhook(
        "kind: NamespacedValidatingPolicy\nmetadata: {name: p, namespace: a}",
        conditions,
    );
    assert_eq!(own.as_deref(), Some("nvpol.a.p"));
}

#[test]
fn conditions_about_pods_are_not_asked_about_their_controllers() {
    let text = POLICY.replace(
        "  validations:",
        "  matchConditions: [{name: c, expression: 'has(object.spec)'}]\n  validations:",
    );
    let compiled = dialect().compile(&document(&text), &[]);
    assert!(compiled.webhooks.iter().all(|plan| plan.match_conditions.is_empty()), "{:?}", compiled.webhooks);
}
