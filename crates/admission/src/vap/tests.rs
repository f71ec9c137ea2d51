//! ValidatingAdmissionPolicy, held against what the API server (1.36) answers to the same policy and object.

use kubewright_engine::{ClosedWorld, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, yaml};

/// The constraints of the policies in these tests.
const MATCH: &str = "matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}]}";

const DENY: &str = "validationActions: [Deny]";
const WARN: &str = "validationActions: [Warn]";
const CONFIG_MAP: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}, data: {a: x}}";
const CLUSTER_ROLE: &str =
    "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: one}}";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: one}}";

/// Returns the decision of a policy with `spec`, bound with `binding`, and the codes of its diagnostics.
fn decide(spec: &str, binding: &str, object: &str, world: &[&str]) -> (String, Vec<&'static str>) {
    let constraints = if spec.contains("matchConstraints") { "" } else { MATCH };
    let binding = match binding {
        "" => String::new(),
        binding => format!(
            "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b}}\nspec:\n  policyName: p\n  {binding}\n"
        ),
    };
    let text = format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p}}\nspec:\n  {}\n  {constraints}\n{binding}",
        spec.replace('\n', "\n  "),
    );
    let reading = yaml::read(&Source::new("policy.yaml", text.as_str()));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    let loaded = crate::tests::load(&[], &reading.documents);
    let codes = loaded.diagnostics.iter().map(|one| one.code.id).collect();
    let parse = |text: &&str| yaml::parse(text).expect("YAML");
    let world = ClosedWorld::new(world.iter().map(parse));
    let mut request = AdmissionRequest::for_object(parse(&object), Operation::Create, "default");
    request.user = yaml::parse("{username: ann}").expect("YAML");
    let decision = Engine::new(loaded.rules).decide(&request, &world, &DecisionSettings::default());
    let outcome = decision.outcomes.iter().find(|outcome| outcome.is_judged);
    let said = outcome.map(|outcome| format!("{}: {}", outcome.status, outcome.message));
    let word = if decision.is_allowed { "allowed" } else { "refused" };
    (format!("{word}, {}", said.unwrap_or_else(|| "not asked".to_owned())), codes)
}

#[track_caller]
fn says(spec: &str, binding: &str, object: &str, want: &str) {
    assert_eq!(decide(spec, binding, object, &[]).0, want, "{spec}\n{binding}");
}

#[track_caller]
fn reports(spec: &str, binding: &str, code: &str) {
    let (_, codes) = decide(spec, binding, CONFIG_MAP, &[]);
    assert!(codes.contains(&code), "{spec}: {codes:?}");
}

const ERROR: &str = "expression 'object.nope.x == 1' resulted in error: no such key: nope";

#[test]
fn an_error_is_taken_as_the_binding_takes_violations() {
    let fails = "validations: [{expression: object.nope.x == 1}]";
    says(fails, DENY, CONFIG_MAP, &format!("refused, error: {ERROR}"));
    says(fails, WARN, CONFIG_MAP, &format!("allowed, error: {ERROR}"));
    says(fails, "", CONFIG_MAP, &format!("allowed, error: {ERROR}"));
    says(&format!("failurePolicy: Ignore\n{fails}"), DENY, CONFIG_MAP, "allowed, pass: ");
}

#[test]
fn parameters_that_are_missing_refuse_whatever_the_actions_are() {
    let spec =
        "paramKind: {apiVersion: v1, kind: ConfigMap}\nvalidations: [{expression: params.data.a == 'x'}]";
    let missing =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    let bound = |actions: &str, action: &str| {
        format!("{actions}\n  paramRef: {{name: none, namespace: shop, parameterNotFoundAction: {action}}}")
    };
    says(spec, &bound(DENY, "Deny"), CONFIG_MAP, &format!("refused, error: {missing}"));
    says(spec, &bound(WARN, "Deny"), CONFIG_MAP, &format!("refused, fail: {missing}"));
    says(spec, &bound(DENY, "Allow"), CONFIG_MAP, "allowed, pass: ");
    let lenient = format!("failurePolicy: Ignore\n{spec}");
    assert!(decide(&lenient, &bound(DENY, "Deny"), CONFIG_MAP, &[]).0.starts_with("allowed"));
}

#[test]
fn parameters_without_a_namespace_are_where_the_object_is() {
    let spec =
        "paramKind: {apiVersion: v1, kind: ConfigMap}\nvalidations: [{expression: params.data.a == 'x'}]";
    let binding = format!("{DENY}\n  paramRef: {{name: q, parameterNotFoundAction: Allow}}");
    let stored = |namespace: &str, value: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: q, namespace: {namespace}}}, data: {{a: {value}}}}}"
        )
    };
    let (shop, one) = (stored("shop", "x"), stored("one", "y"));
    let world = [shop.as_str(), one.as_str()];
    assert_eq!(decide(spec, &binding, CONFIG_MAP, &world).0, "allowed, pass: ");
    // That of a namespace is the namespace itself.
    let failed = "refused, fail: failed expression: params.data.a == 'x'";
    assert_eq!(decide(spec, &binding, NAMESPACE, &world).0, failed);
    let nowhere = "refused, error: failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
    assert_eq!(decide(spec, &binding, CLUSTER_ROLE, &world).0, nowhere);
}

#[test]
fn parameters_that_are_not_about_the_object_do_not_hide_a_pass() {
    let spec = "paramKind: {apiVersion: v1, kind: ConfigMap}\nmatchConditions: [{name: live, expression: params.data.live == 'yes'}]\nvalidations: [{expression: object.data.a == 'x'}]";
    let binding = format!("{DENY}\n  paramRef: {{selector: {{}}, parameterNotFoundAction: Deny}}");
    let stored = |name: &str, live: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: shop}}, data: {{live: '{live}'}}}}"
        )
    };
    let (first, second) = (stored("p1", "yes"), stored("p2", "no"));
    assert_eq!(decide(spec, &binding, CONFIG_MAP, &[&first, &second]).0, "allowed, pass: ");
    assert_eq!(decide(spec, &binding, CONFIG_MAP, &[&second, &first]).0, "allowed, pass: ");
}

#[test]
fn parameters_that_the_policy_does_not_ask_for_are_passed_over() {
    let binding = format!("{DENY}\n  paramRef: {{name: none, parameterNotFoundAction: Deny}}");
    says("validations: [{expression: object.data.a == 'x'}]", &binding, CONFIG_MAP, "allowed, pass: ");
    reports("validations: [{expression: object.data.a == 'x'}]", &binding, "KW-A008");
    let null = "paramKind: {apiVersion: v1, kind: ConfigMap}\nvalidations: [{expression: params == null}]";
    says(null, DENY, CONFIG_MAP, "allowed, pass: ");
}

#[test]
fn an_annotation_that_fails_refuses_whatever_the_actions_are() {
    let spec = "validations: [{expression: object.data.a == 'x'}]\nauditAnnotations: [{key: k, valueExpression: string(object.nope.x)}]";
    let failed = "expression 'string(object.nope.x)' resulted in error: no such key: nope";
    says(spec, DENY, CONFIG_MAP, &format!("refused, error: {failed}"));
    says(spec, WARN, CONFIG_MAP, &format!("refused, fail: {failed}"));
    says(&format!("failurePolicy: Ignore\n{spec}"), DENY, CONFIG_MAP, "allowed, pass: ");
}

#[test]
fn conditions_do_not_see_the_namespace_and_everything_else_does() {
    let spec = "matchConditions: [{name: c, expression: \"namespaceObject.metadata.name == 'shop'\"}]\nvalidations: [{expression: 'true'}]";
    let failed =
        "expression 'namespaceObject.metadata.name == 'shop'' resulted in error: no such key: metadata";
    says(spec, DENY, CONFIG_MAP, &format!("refused, error: {failed}"));
    reports(spec, DENY, "KW-A031");
    let both = "matchConditions: [{name: c, expression: namespaceObject == null}]\nvalidations: [{expression: namespaceObject != null}]";
    says(both, DENY, CONFIG_MAP, "allowed, pass: ");
}

#[test]
fn a_condition_that_is_not_met_wins_over_one_that_fails() {
    let two = |first: &str, second: &str| {
        format!(
            "matchConditions: [{{name: a, expression: {first}}}, {{name: b, expression: {second}}}]\nvalidations: [{{expression: 'false'}}]"
        )
    };
    let (fails, no) = ("object.nope.x == 1", "object.data.a == 'y'");
    for spec in [two(fails, no), two(no, fails)] {
        says(&spec, DENY, CONFIG_MAP, "allowed, skip: match conditions aren't met");
    }
    says(&two(fails, fails), DENY, CONFIG_MAP, &format!("refused, error: {ERROR}"));
    let other = ERROR.replace("nope", "none");
    let both = format!("refused, error: [{ERROR}, {other}]");
    says(&two(fails, "object.none.x == 1"), DENY, CONFIG_MAP, &both);
}

#[test]
fn a_name_that_is_yet_to_be_made_is_none_of_the_resource_names() {
    let spec = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps], resourceNames: [one]}]}\nvalidations: [{expression: 'false'}]";
    let generated = "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: one}}";
    says(spec, DENY, CONFIG_MAP, "refused, fail: failed expression: false");
    says(spec, DENY, generated, "allowed, not asked");
}

#[test]
fn the_namespace_of_a_request_about_a_namespace_is_that_namespace() {
    says("validations: [{expression: request.namespace == 'one'}]", DENY, NAMESPACE, "allowed, pass: ");
    says(
        "validations: [{expression: has(request.namespace)}]",
        DENY,
        CLUSTER_ROLE,
        "refused, fail: failed expression: has(request.namespace)",
    );
}

#[test]
fn messages_are_those_of_the_api_server() {
    let said = |more: &str| format!("validations: [{{expression: ' object.data.a == \"y\" ', {more}}}]");
    let cases = [
        ("message: ' plain '", "plain"),
        ("message: plain, messageExpression: \"'made for ' + object.metadata.name\"", "made for one"),
        ("message: plain, messageExpression: \"' '\"", "plain"),
        ("message: plain, messageExpression: \"'a\\\\nb'\"", "plain"),
        ("message: plain, messageExpression: \"'a\\\\n'\"", "a"),
        ("message: plain, messageExpression: string(object.nope)", "plain"),
        // The fields of the request have types.
        ("message: plain, messageExpression: request.operation", "CREATE"),
        ("message: plain, messageExpression: object.metadata.name", "plain"),
        ("messageExpression: namespaceObject.metadata.name", "shop"),
        ("reason: Forbidden", "failed expression: object.data.a == \"y\""),
    ];
    for (more, want) in cases {
        says(&said(more), DENY, CONFIG_MAP, &format!("refused, fail: {want}"));
    }
}

#[test]
fn objects_before_and_after_are_null_where_there_are_none() {
    says(
        "validations: [{expression: oldObject == null && !has(oldObject.metadata)}]",
        DENY,
        CONFIG_MAP,
        "allowed, pass: ",
    );
}
