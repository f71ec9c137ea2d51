//! Tests of what an outcome has besides its verdict.

use kubewright_engine::{ClosedWorld, DecisionSettings, Dialect as _, Engine, RuleOutcome};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, yaml};

use crate::Kyverno;

/// Returns the engine with one rule about Widgets, which has the fields `rule` besides.
fn engine(rule: &str) -> Engine {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, rules: \
         [{{name: r, match: {{any: [{{resources: {{kinds: [Widget]}}}}]}}, {rule}}}]}}}}"
    );
    let document = yaml::read(&Source::new("policy.yaml", policy.as_str())).documents.remove(0);
    Engine::new(Kyverno::new(&[], Default::default()).compile(&document, &[]).rules)
}

/// Returns the outcome of a rule about a Widget called `w`: `found` is a context entry, `more` are further fields of the rule.
fn outcome(found: &str, more: &str) -> RuleOutcome {
    let engine = engine(&format!("context: [{{name: found, variable: {{jmesPath: {found}}}}}], {more}"));
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, labels: {path: request}}}";
    let widget = yaml::parse(widget).expect("YAML");
    let request = AdmissionRequest::for_object(widget, Operation::Create, "default");
    let decision = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    let [outcome] = decision.outcomes.as_slice() else { panic!("{:?}", decision.outcomes) };
    outcome.clone()
}

/// Returns the properties of a rule with these `reportProperties`.
fn properties(written: &str) -> Vec<String> {
    let rest = format!("reportProperties: {written}, validate: {{message: m, deny: {{}}}}");
    let outcome = outcome("request.object.metadata.name", &rest);
    let all = outcome.metadata.properties.iter().chain(&outcome.properties);
    all.map(|(name, text)| format!("{name}={text}")).collect()
}

#[test]
fn properties_of_reports_have_the_values_of_their_variables() {
    let written = "{a: plain, b: '{{ request.operation }} of {{ found }}'}";
    assert_eq!(properties(written), ["a=plain", "b=CREATE of w"]);
}

#[test]
fn a_property_that_cannot_be_resolved_is_left_out() {
    assert_eq!(properties("{a: plain, b: '{{ missing }}'}"), ["a=plain"]);
}

#[test]
fn an_expression_that_is_one_variable_must_be_a_text() {
    let says = |found: &str| {
        outcome(found, "validate: {message: 'm {{ found.operation }}', deny: {conditions: [{key: '{{ found.operation }}', operator: Equals, value: CREATE}]}}").message
    };
    assert_eq!(says("'{{ request.object.metadata.labels.path }}'"), "m CREATE");
    let refused = says("'{{ request.object.metadata.labels }}'");
    assert!(refused.contains("jmespath value must be a string"), "{refused}");
}

#[test]
fn expressions_that_are_made_of_values_are_not_taken_for_each_other() {
    let values = |path: &str| format!("{{{{ request.object.{{{{ to_string('{path}') }}}}.* }}}}");
    let message = format!("{} and {}", values("metadata.labels"), values("metadata"));
    let said =
        outcome("request.object.metadata.name", &format!("validate: {{message: \"{message}\", deny: {{}}}}"));
    assert_eq!(said.message, r#"["request"] and ["w",{"path":"request"}]"#);
}

/// Returns how a Widget called `w` with two parts is judged where passes are left out: `pass`, or the status of its outcome.
fn verdict_without_passes(rule: &str) -> String {
    let engine = engine(rule);
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {parts: [{size: 1}, {size: 2}]}}";
    let request =
        AdmissionRequest::for_object(yaml::parse(widget).expect("YAML"), Operation::Create, "default");
    let judge = |leaves_out_passes| {
        let settings = DecisionSettings { leaves_out_passes, ..DecisionSettings::default() };
        engine.decide(&request, &ClosedWorld::default(), &settings)
    };
    let (all, few) = (judge(false), judge(true));
    let [outcome] = all.outcomes.as_slice() else { panic!("{:?}", all.outcomes) };
    let verdict = outcome.status.name().to_owned();
    let alone: Vec<&str> = few.outcomes.iter().map(|outcome| outcome.status.name()).collect();
    match few.passed.len() {
        0 => assert_eq!(alone, [verdict.as_str()]),
        passed => assert_eq!((passed, alone.len(), verdict.as_str()), (1, 0, "pass")),
    }
    verdict
}

/// Returns a rule that denies under `condition`.
fn denied_if(condition: &str) -> String {
    format!("validate: {{message: m, deny: {{conditions: {{any: [{condition}]}}}}}}")
}

/// Returns a rule that denies a Widget if `condition` holds for one of its parts; `more` are further fields of the loop.
fn each_denied_if(more: &str, condition: &str) -> String {
    let each =
        format!("{{list: 'request.object.spec.parts', {more}deny: {{conditions: {{all: [{condition}]}}}}}}");
    format!("validate: {{message: m, foreach: [{each}]}}")
}

#[test]
fn a_pass_that_is_left_out_is_the_pass_that_is_shown() {
    for (rule, verdict) in [
        ("validate: {message: m, pattern: {spec: {parts: [{size: '<3'}]}}}", "pass"),
        ("validate: {message: m, pattern: {spec: {parts: [{size: '<2'}]}}}", "fail"),
        ("validate: {message: m, pattern: {spec: {(parts): [{size: 7}]}}}", "skip"),
        (
            "validate: {message: m, anyPattern: [{spec: {parts: [{size: 7}]}}, {spec: {parts: '?*'}}, {metadata: {name: w}}]}",
            "pass",
        ),
        (
            "validate: {message: m, anyPattern: [{metadata: {name: '{{ missing }}'}}, {metadata: {name: w}}]}",
            "error",
        ),
        (
            "preconditions: {all: [{key: a, operator: Equals, value: b}]}, validate: {message: m, pattern: {metadata: {name: w}}}",
            "skip",
        ),
        (
            "preconditions: {all: [{key: '{{ request.object.metadata.name }}', operator: Equals, value: w}]}, \
             validate: {message: m, pattern: {metadata: {name: w}}}",
            "pass",
        ),
        (
            "preconditions: {all: [{key: '{{ request.object.metadata.title }}', operator: Equals, value: w}]}, \
             validate: {message: m, pattern: {metadata: {name: w}}}",
            "error",
        ),
        (&denied_if("{key: '{{ request.object.spec.parts[].size }}', operator: AnyIn, value: [7]}"), "pass"),
        (&denied_if("{key: '{{ request.object.spec.parts[].size }}', operator: AnyIn, value: [2]}"), "fail"),
        (&denied_if("{key: '{{ request.operation }}', operator: Equals, value: DELETE}"), "pass"),
        (&denied_if("{key: '{{ request.object.spec.color }}', operator: Equals, value: red}"), "error"),
        (&each_denied_if("", "{key: '{{ element.size }}', operator: GreaterThan, value: 2}"), "pass"),
        (&each_denied_if("", "{key: '{{ element.size }}', operator: GreaterThan, value: 1}"), "fail"),
        (&each_denied_if("", "{key: '{{ elementIndex }}', operator: GreaterThan, value: 1}"), "pass"),
        (&each_denied_if("", "{key: '{{ element.color }}', operator: Equals, value: red}"), "error"),
        (
            &each_denied_if(
                "preconditions: {all: [{key: '{{ element.size }}', operator: Equals, value: 1}]}, ",
                "{key: '{{ element.size }}', operator: GreaterThan, value: 1}",
            ),
            "pass",
        ),
    ] {
        assert_eq!(verdict_without_passes(rule), verdict, "{rule}");
    }
}
