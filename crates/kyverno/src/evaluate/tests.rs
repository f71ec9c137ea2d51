//! Tests of what an outcome has besides its verdict.

use kubewright_engine::{ClosedWorld, DecisionSettings, Dialect as _, Engine, RuleOutcome};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, yaml};

use crate::Kyverno;

/// Returns the outcome of a rule about a Widget called `w`: `found` is a context entry, `more` are further fields of the rule.
fn outcome(found: &str, more: &str) -> RuleOutcome {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, rules: \
         [{{name: r, match: {{any: [{{resources: {{kinds: [Widget]}}}}]}}, context: [{{name: found, variable: {{jmesPath: \
         {found}}}}}], {more}}}]}}}}"
    );
    let document = yaml::read(&Source::new("policy.yaml", policy.as_str())).documents.remove(0);
    let engine = Engine::new(Kyverno::new(&[], Default::default()).compile(&document, &[]).rules);
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
