//! Tests of what an outcome has besides its verdict.

use kubewright_engine::{ClosedWorld, DecisionSettings, Dialect as _, Engine};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, yaml};

use crate::Kyverno;

/// Returns the properties of the outcome of a rule with these `reportProperties`, about a Widget called `w`.
fn properties(written: &str) -> Vec<String> {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, rules: \
         [{{name: r, match: {{any: [{{resources: {{kinds: [Widget]}}}}]}}, context: [{{name: found, variable: {{jmesPath: \
         request.object.metadata.name}}}}], reportProperties: {written}, validate: {{message: m, deny: {{}}}}}}]}}}}"
    );
    let document = yaml::read(&Source::new("policy.yaml", policy.as_str())).documents.remove(0);
    let engine = Engine::new(Kyverno::new(&[], Default::default()).compile(&document, &[]).rules);
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}";
    let widget = yaml::parse(widget).expect("YAML");
    let request = AdmissionRequest::for_object(widget, Operation::Create, "default");
    let decision = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    let [outcome] = decision.outcomes.as_slice() else { panic!("{:?}", decision.outcomes) };
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
