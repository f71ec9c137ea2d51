use kubewright_engine::RuleId;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, Value, json, yaml};

use super::Values;

const FILE: &str = "
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
globalValues: {request.operation: UPDATE, a: global, b: global}
policies:
- name: p
  resources: [{name: o, values: {a: resource, request.operation: DELETE}}]
  rules: [{name: r, values: {x.data.y: one}, foreachValues: {element: [first, second]}}]
namespaceSelector: [{name: prod, labels: {env: prod}}]
subresources:
- subresource: {group: autoscaling, version: v1, kind: Scale, name: deployments/scale}
  parentResource: {group: apps, version: v1, kind: Deployment, name: deployments}
";

fn values(text: &str) -> Values {
    Values::read(&yaml::read(&Source::new("v.yaml", text)).documents.remove(0)).expect("values")
}

fn request(object: &str) -> AdmissionRequest {
    AdmissionRequest::for_object(json::parse(object).expect("JSON"), Operation::Create, "default")
}

/// Asks for the values of `policy` and `rule` for the object `name`, as `name=value` in the order of the names.
fn given(values: &Values, policy: &str, rule: &str, name: &str) -> String {
    let id = RuleId { dialect: "d", policy: policy.into(), rule: rule.into() };
    let request = request(&format!(r#"{{"kind": "Pod", "metadata": {{"name": "{name}"}}}}"#));
    let given: std::collections::BTreeMap<_, _> = values.given(&id, &request).into_iter().collect();
    let words: Vec<String> =
        given.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or("?"))).collect();
    words.join(" ")
}

#[test]
fn what_is_said_about_less_replaces_what_is_said_about_more() {
    let mut values = values(FILE);
    assert_eq!(given(&values, "q", "r", "o"), "a=global b=global request.operation=UPDATE");
    assert_eq!(given(&values, "ns/p", "s", "o"), "a=resource b=global request.operation=DELETE");
    values.set([("a".into(), "set".into())]);
    assert_eq!(given(&values, "p", "s", "o"), "a=set b=global request.operation=DELETE");
}

#[test]
fn values_of_a_rule_are_for_its_automatic_rules_too() {
    let values = values(FILE);
    for rule in ["r", "autogen-r", "autogen-cronjob-r"] {
        assert_eq!(
            given(&values, "p", rule, "z"),
            "a=global b=global element=first request.operation=UPDATE x.data.y=one"
        );
    }
}

#[test]
fn the_operation_follows_the_variable() {
    let mut values = values(FILE);
    assert_eq!(values.operation(Some("p"), "o"), Some(Operation::Delete));
    assert_eq!(values.operation(Some("q"), "o"), Some(Operation::Update));
    assert_eq!(values.operation(None, "o"), Some(Operation::Delete));
    values.set([("request.operation".into(), "CREATE".into())]);
    assert_eq!(values.operation(Some("p"), "o"), Some(Operation::Create));
}

#[test]
fn a_kind_can_stand_for_a_part_of_another() {
    let mut request =
        request(r#"{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}}"#);
    values(FILE).place(&mut request);
    assert_eq!((request.kind.kind.as_str(), request.subresource.as_str()), ("Deployment", "scale"));
}

#[test]
fn namespaces_become_objects() {
    let values = values(FILE);
    let namespace = values.namespaces().next().expect("a namespace");
    assert_eq!(namespace.at(&["metadata", "labels", "env"]), Some(&Value::from("prod")));
}

#[test]
fn a_misspelt_field_is_an_error_with_the_right_one() {
    let document = yaml::read(&Source::new("v.yaml", "globalvalue: {}")).documents.remove(0);
    let problems = Values::read(&document).expect_err("a problem");
    assert_eq!(problems[0].help, "did you mean `globalValues`?");
}
