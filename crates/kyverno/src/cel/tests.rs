//! Tests of CEL rules on objects.

use kubewright_engine::{
    ApiCall, ClosedWorld, Decision, DecisionSettings, Dialect as _, Engine, Query, World,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, Value, yaml};

use crate::Kyverno;

const HEAD: &str =
    "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  background: false\n";
const RULE: &str = "  rules:\n    - name: r\n      match: {any: [{resources: {kinds: [KIND]}}]}\n";

/// Returns the engine with one rule for `kind`, whose other lines are `rule`.
fn engine(kind: &str, spec: &str, rule: &str) -> Engine {
    let indented: String = rule.lines().map(|line| format!("      {line}\n")).collect();
    let text = format!("{HEAD}{spec}{}{indented}", RULE.replace("KIND", kind));
    let mut reading = yaml::read(&Source::new("policy.yaml", text.as_str()));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    let dialect = Kyverno::new(&[], Default::default());
    Engine::new(dialect.compile(&reading.documents.remove(0), &[]).rules)
}

fn object(text: &str) -> Value {
    yaml::parse(text).expect("YAML")
}

fn said(decision: &Decision) -> String {
    let outcomes = decision.outcomes.iter().filter(|outcome| outcome.is_judged);
    outcomes.map(|outcome| format!("{}: {}", outcome.status, outcome.message)).collect::<Vec<_>>().join("\n")
}

/// Compares the outcome of `rule` for a Widget with the spec `spec`, in `world`.
#[track_caller]
fn says_in(world: &dyn World, rule: &str, spec: &str, want: &str) {
    let widget = object(&format!(
        "{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w, namespace: shop}}, spec: {spec}}}"
    ));
    let request = AdmissionRequest::for_object(widget, Operation::Create, "default");
    let decision = engine("Widget", "", rule).decide(&request, world, &DecisionSettings::default());
    assert_eq!(said(&decision), want, "{rule}");
}

#[track_caller]
fn says(rule: &str, spec: &str, want: &str) {
    says_in(&ClosedWorld::default(), rule, spec, want);
}

/// Returns a rule with these lines below `cel`.
fn cel(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("validate:\n  message: of the rule\n  cel:\n{lines}")
}

fn one(expression: &str) -> String {
    cel(&format!("expressions:\n  - expression: {expression}"))
}

#[test]
fn an_expression_that_holds_passes_and_the_first_that_does_not_is_the_answer() {
    says(&one("object.spec.a == 1"), "{a: 1}", "pass: Validation rule 'r' passed.");
    says(&one("object.spec.a == 1"), "{a: 2}", "fail: of the rule");
    let two = cel(
        "expressions:\n  - {expression: object.spec.a < 5, message: first}\n  - {expression: object.spec.a < 3, message: ' second '}",
    );
    says(&two, "{a: 9}", "fail: first");
    says(&two, "{a: 4}", "fail: second");
    says(&two, "{a: 2}", "pass: Validation rule 'r' passed.");
    let bare = "validate: {cel: {expressions: [{expression: ' object.spec.a == 1 '}]}}";
    says(bare, "{a: 2}", "fail: failed expression: object.spec.a == 1");
}

#[test]
fn an_expression_that_fails_is_a_violation_with_the_reason() {
    says(
        &one("object.spec.b == 1"),
        "{a: 1}",
        "fail: expression 'object.spec.b == 1' resulted in error: no such key: b",
    );
    says(&one("object.spec.b == 1 || object.spec.a == 1"), "{a: 1}", "pass: Validation rule 'r' passed.");
}

#[test]
fn cel_may_stand_beside_validate() {
    says("cel: {expressions: [{expression: object.spec.a == 1, message: m}]}", "{a: 2}", "fail: m");
}

#[test]
fn a_message_is_computed_unless_that_gives_nothing_to_show() {
    let rule = |message: &str| {
        cel(&format!(
            "expressions:\n  - expression: object.spec.a == 1\n    message: written\n    messageExpression: {message}"
        ))
    };
    says(&rule("\"'a is ' + string(object.spec.a)\""), "{a: 2}", "fail: a is 2");
    for useless in ["\"'  '\"", "string(object.spec.b)", "\"'a\\\\nb'\""] {
        says(&rule(useless), "{a: 2}", "fail: written");
    }
    says(&rule("object.spec.text"), "{a: 2, text: x}", "fail: written");
}

#[test]
fn variables_are_evaluated_when_they_are_read_and_see_those_above() {
    let rule = cel(
        "variables:\n  - {name: first, expression: object.spec.a}\n  - {name: next, expression: variables.first + 1}\n  - {name: bad, expression: object.spec.b}\nexpressions:\n  - expression: variables.next == 2 || variables.bad == 1",
    );
    says(&rule, "{a: 1}", "pass: Validation rule 'r' passed.");
    says(
        &rule,
        "{a: 2}",
        "fail: expression 'variables.next == 2 || variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: no such key: b",
    );
}

#[test]
fn a_long_row_of_variables_does_not_nest() {
    let mut lines = "variables:\n  - {name: v0, expression: object.spec.a}\n".to_owned();
    for index in 1..400 {
        lines += &format!("  - {{name: v{index}, expression: variables.v{} + 1}}\n", index - 1);
    }
    lines += "expressions:\n  - expression: variables.v399 == 400\n";
    says(&cel(&lines), "{a: 1}", "pass: Validation rule 'r' passed.");
}

#[test]
fn preconditions_skip_the_rule_even_beside_one_that_fails() {
    let rule = |first: &str, second: &str| {
        format!(
            "celPreconditions:\n  - {{name: a, expression: {first}}}\n  - {{name: b, expression: {second}}}\n{}",
            one("object.spec.a == 1")
        )
    };
    says(&rule("object.spec.b == 1", "object.spec.a == 5"), "{a: 2}", "skip: cel preconditions not met");
    says(&rule("object.spec.a == 2", "object.spec.a != 5"), "{a: 2}", "fail: of the rule");
    says(
        &rule("object.spec.b == 1", "object.spec.a == 2"),
        "{a: 2}",
        "fail: expression 'object.spec.b == 1' resulted in error: no such key: b",
    );
    says(
        &rule("object.spec.b == 1", "object.spec.c == 2"),
        "{a: 2}",
        "fail: [expression 'object.spec.b == 1' resulted in error: no such key: b, expression 'object.spec.c == 2' resulted in error: no such key: c]",
    );
}

#[test]
fn the_request_and_the_namespace_can_be_read() {
    let rule = "\"request.operation == 'CREATE' && request.kind.kind == 'Widget' && request.name == 'w' && request.namespace == 'shop' && !has(request.userInfo.username) && request.resource.resource == 'widgets' && oldObject == null\"";
    says(&one(rule), "{}", "pass: Validation rule 'r' passed.");
    says(&one("namespaceObject.metadata.name == 'shop'"), "{}", "pass: Validation rule 'r' passed.");
    let namespace = object("{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: gold}}}");
    let world = ClosedWorld::new([namespace]);
    says_in(
        &world,
        &one("namespaceObject.metadata.labels.tier == 'gold'"),
        "{}",
        "pass: Validation rule 'r' passed.",
    );
}

#[test]
fn what_costs_too_much_is_an_error() {
    let expression = "object.spec.l.all(a, object.spec.l.all(b, object.spec.l.all(c, a + b + c > 0)))";
    let list = format!("{{l: {:?}}}", vec![1; 200]);
    let engine = engine("Widget", "", &one(expression));
    let widget =
        object(&format!("{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w}}, spec: {list}}}"));
    let request = AdmissionRequest::for_object(widget, Operation::Create, "default");
    let decision = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    assert!(
        said(&decision).starts_with("error: ") && said(&decision).contains("1000000"),
        "{}",
        said(&decision)
    );
}

const PARAMS: &str = "paramKind: {apiVersion: v1, kind: ConfigMap}\nexpressions:\n  - expression: object.spec.a <= int(params.data.max)\n    messageExpression: \"'at most ' + string(params.data.max)\"\n";

fn limit(name: &str, max: u32) -> Value {
    object(&format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: shop, labels: {{limit: a}}}}, data: {{max: '{max}'}}}}"
    ))
}

#[test]
fn every_object_of_parameters_must_agree() {
    let world = ClosedWorld::new([limit("one", 5), limit("two", 3)]);
    let named = |action: &str, name: &str| {
        cel(&format!("{PARAMS}paramRef: {{name: {name}, parameterNotFoundAction: {action}}}"))
    };
    says_in(&world, &named("Deny", "one"), "{a: 5}", "pass: Validation rule 'r' passed.");
    says_in(&world, &named("Deny", "one"), "{a: 6}", "fail: at most 5");
    says_in(&world, &named("Allow", "none"), "{a: 6}", "pass: Validation rule 'r' passed.");
    says_in(
        &world,
        &named("Deny", "none"),
        "{a: 6}",
        "error: error in parameterized resource: no params found",
    );
    let all = cel(&format!(
        "{PARAMS}paramRef: {{selector: {{matchLabels: {{limit: a}}}}, parameterNotFoundAction: Deny}}"
    ));
    says_in(&world, &all, "{a: 3}", "pass: Validation rule 'r' passed.");
    says_in(&world, &all, "{a: 4}", "fail: at most 3");
}

#[test]
fn who_may_do_what_is_asked_of_the_world() {
    let rule =
        one("authorizer.group('apps').resource('deployments').namespace('shop').check('delete').allowed()");
    let mut world = ClosedWorld::default();
    says_in(
        &world,
        &rule,
        "{}",
        "error: `POST /apis/authorization.k8s.io/v1/subjectaccessreviews` is not known here",
    );
    let data = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"resourceAttributes":{"group":"apps","resource":"deployments","namespace":"shop","verb":"delete"}}}"#;
    let url = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let query = Query::Api(ApiCall::resource("POST", url, data.into()));
    world.answer(query, object("{status: {allowed: true}}"));
    says_in(&world, &rule, "{}", "pass: Validation rule 'r' passed.");
}

/// Compares the outcome of a rule for Pods on a Deployment.
#[track_caller]
fn says_about_deployment(expression: &str, want: &str) {
    let deployment = object(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, labels: {app: of-d}}, spec: {replicas: 1, template: {metadata: {labels: {app: of-pod}}, spec: {containers: [{name: c}]}}}}",
    );
    let request = AdmissionRequest::for_object(deployment, Operation::Create, "default");
    let decision = engine("Pod", "", &one(expression)).decide(
        &request,
        &ClosedWorld::default(),
        &DecisionSettings::default(),
    );
    assert_eq!(said(&decision), want, "{expression}");
}

#[test]
fn a_rule_about_pods_reads_the_template_of_a_controller() {
    let passes = |expression| says_about_deployment(expression, "pass: Validation rule 'autogen-r' passed.");
    passes("object.spec.containers.all(c, c.name == 'c')");
    passes("object.metadata.labels.app == 'of-pod'");
    passes("object.metadata.name == 'd'");
    passes("object.?spec.?containers[?0].?name.orValue('') == 'c'");
    passes("\"object['spec'].containers.size() == 1\"");
    passes("\"has(object.spec.containers) && !has(object.spec.replicas) && object.kind == 'Deployment'\"");
    passes("object.spec.containers.all(object, object.name == 'c')");
    says_about_deployment(
        "object.spec.hostNetwork == true",
        "fail: expression 'object.spec.template.spec.hostNetwork == true' resulted in error: no such key: hostNetwork",
    );
}

#[test]
fn match_conditions_decide_about_requests_to_a_cluster() {
    let spec = "  webhookConfiguration: {matchConditions: [{name: a, expression: \"object.metadata.name != 'w'\"}]}\n";
    let engine = engine("Widget", spec, "validate: {message: m, deny: {}}");
    let widget = object("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}");
    let mut request = AdmissionRequest::for_object(widget, Operation::Create, "default");
    let world = ClosedWorld::default();
    assert_eq!(said(&engine.decide(&request, &world, &DecisionSettings::default())), "fail: m");
    request.uid = "a-request".into();
    assert_eq!(said(&engine.decide(&request, &world, &DecisionSettings::default())), "");
}

#[test]
fn a_rule_of_which_an_admission_policy_was_made_says_nothing() {
    let text = format!(
        "{HEAD}{}      validate: {{cel: {{expressions: [{{expression: object.kind == ''}}]}}}}\nstatus: {{validatingadmissionpolicy: {{generated: true}}}}\n",
        RULE.replace("KIND", "Widget")
    );
    let document = yaml::read(&Source::new("policy.yaml", text.as_str())).documents.remove(0);
    let engine = Engine::new(Kyverno::new(&[], Default::default()).compile(&document, &[]).rules);
    let widget = object("{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}");
    let request = AdmissionRequest::for_object(widget, Operation::Create, "default");
    assert_eq!(said(&engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default())), "");
}
