//! MutatingAdmissionPolicies and their bindings on objects.

use kubewright_engine::{ClosedWorld, Decision, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, Value, json, yaml};

const MATCH: &str = "matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}]}";
const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 1, template: {spec: {containers: [{name: c, image: nginx}]}}}}";
const PARAM_KIND: &str = "paramKind: {apiVersion: v1, kind: ConfigMap}\n";

fn value(text: &str) -> Value {
    yaml::parse(text).expect("YAML")
}

fn policy(version: &str, spec: &str, expression: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/{version}\nkind: MutatingAdmissionPolicy\nmetadata: {{name: p}}\nspec:\n  {}\n  {MATCH}\n  mutations:\n  - patchType: ApplyConfiguration\n    applyConfiguration:\n      expression: {}\n",
        spec.replace('\n', "\n  "),
        json::quote(expression)
    )
}

fn binding(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {{name: {name}}}\nspec:\n  policyName: p\n  {}\n",
        spec.replace('\n', "\n  ")
    )
}

fn param(name: &str, data: &str) -> Value {
    value(&format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: shop, labels: {{type: param}}}}, data: {{{data}}}}}"
    ))
}

fn decide(text: &str, params: Vec<Value>) -> (Decision, Vec<&'static str>) {
    let reading = yaml::read(&Source::new("policy.yaml", text));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    let loaded = crate::tests::load(&[], &reading.documents);
    let codes = loaded.diagnostics.iter().map(|one| one.code.id).collect();
    let request = AdmissionRequest::for_object(value(DEPLOYMENT), Operation::Create, "default");
    let decision =
        Engine::new(loaded.rules).decide(&request, &ClosedWorld::new(params), &DecisionSettings::default());
    (decision, codes)
}

#[track_caller]
fn says(text: &str, params: Vec<Value>, want: &str) -> Value {
    let (decision, _) = decide(text, params);
    let outcomes = decision.outcomes.iter().filter(|outcome| outcome.is_judged);
    let found: Vec<String> =
        outcomes.map(|outcome| format!("{}: {}", outcome.status, outcome.message)).collect();
    assert_eq!(found.join("\n"), want, "{text}");
    decision.object
}

const DONE: &str = "pass: mutation is successfully applied";
const REPLICAS: &str = "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}";

#[test]
fn every_version_changes_objects() {
    for version in ["v1alpha1", "v1beta1", "v1"] {
        let text = policy(version, "", REPLICAS) + &binding("b", "matchResources: {}");
        let object = says(&text, Vec::new(), DONE);
        assert_eq!(object.at(&["spec", "replicas"]), Some(&Value::from(2_i64)), "{version}");
    }
}

#[test]
fn items_of_lists_keep_what_the_patch_does_not_name() {
    let expression = "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: \"c\", tty: true}]}}}}";
    let object = says(&(policy("v1", "", expression) + &binding("b", "")), Vec::new(), DONE);
    let containers = object.at(&["spec", "template", "spec", "containers"]);
    assert_eq!(containers, Some(&value("[{name: c, image: nginx, tty: true}]")));
}

#[test]
fn each_binding_is_an_invocation_and_both_constraints_must_match() {
    let two = policy("v1", "", REPLICAS) + &binding("a", "") + &binding("b", "");
    let object = says(&two, Vec::new(), &format!("{DONE}\n{DONE}"));
    assert_eq!(object.at(&["spec", "replicas"]), Some(&Value::from(3_i64)));
    let pods = "matchResources: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}]}";
    says(&(policy("v1", "", REPLICAS) + &binding("a", pods)), Vec::new(), "");
}

#[test]
fn each_parameter_object_is_an_invocation() {
    let spec = format!("{PARAM_KIND}variables: [{{name: count, expression: 'int(params.data.count)'}}]");
    let expression = "Object{spec: Object.spec{replicas: object.spec.replicas + variables.count}}";
    let by_label =
        "paramRef: {namespace: shop, selector: {matchLabels: {type: param}}, parameterNotFoundAction: Deny}";
    let text = policy("v1", &spec, expression) + &binding("b", by_label);
    let object = says(&text, vec![param("one", "count: '2'"), param("two", "count: '5'")], DONE);
    assert_eq!(object.at(&["spec", "replicas"]), Some(&Value::from(8_i64)));
    says(
        &text,
        Vec::new(),
        "error: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    );
    says(&text.replace("Deny", "Allow"), Vec::new(), "skip: match conditions aren't met");
}

#[test]
fn parameters_can_be_read_as_one_list() {
    let expression =
        "Object{spec: Object.spec{replicas: int(params.items[0].data.count) + size(params.items)}}";
    let by_label = "paramRef: {namespace: shop, selector: {matchLabels: {type: param}}}";
    let text = policy("v1alpha1", PARAM_KIND.trim_end(), expression) + &binding("b", by_label);
    let object = says(&text, vec![param("one", "count: '2'"), param("two", "count: '5'")], DONE);
    assert_eq!(object.at(&["spec", "replicas"]), Some(&Value::from(4_i64)));
    assert_eq!(decide(&text, Vec::new()).1, ["KW-A011"]);
}

#[test]
fn conditions_and_errors_follow_the_api_server() {
    let unmet = "matchConditions: [{name: c, expression: \"object.metadata.name == 'no'\"}]";
    says(
        &(policy("v1", unmet, REPLICAS) + &binding("b", "")),
        Vec::new(),
        "skip: match conditions aren't met",
    );
    let broken = "Object{spec: Object.spec{replicas: object.spec.nope}}";
    let text = policy("v1", "", broken) + &binding("b", "");
    says(&text, Vec::new(), "error: no such key: nope");
    assert!(!decide(&text, Vec::new()).0.is_allowed);
    let lenient = policy("v1", "failurePolicy: Ignore", broken) + &binding("b", "");
    assert!(decide(&lenient, Vec::new()).0.is_allowed);
}

#[test]
fn policies_and_bindings_must_belong_together() {
    assert_eq!(decide(&policy("v1", "", REPLICAS), Vec::new()).1, ["KW-A023"]);
    let other = policy("v1", "", REPLICAS)
        + &binding("b", "")
        + &binding("c", "").replace("policyName: p", "policyName: q");
    assert_eq!(decide(&other, Vec::new()).1, ["KW-A024"]);
}
