//! Tests of cleanup policies: which objects they would delete, and when.

use kubewright_engine::{
    BackgroundProgram, ClosedWorld, DecisionSettings, DeletionPropagation, Dialect as _, Engine,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, yaml};

use crate::Kyverno;

fn document(kind: &str, spec: &str) -> Document {
    let text = format!(
        "apiVersion: kyverno.io/v2\nkind: {kind}\nmetadata: {{name: c, namespace: shop}}\nspec: {{{spec}}}\n"
    );
    yaml::read(&Source::new("policy.yaml", text)).documents.remove(0)
}

#[track_caller]
fn check(kind: &str, spec: &str, object: &str, want: &[&str]) {
    let compiled = Kyverno::new(&[], Default::default()).compile(&document(kind, spec), &[]);
    assert!(!compiled.rules.is_empty(), "{:?}", compiled.diagnostics);
    let object = yaml::parse(object).expect("YAML");
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let decision =
        Engine::new(compiled.rules).decide(&request, &ClosedWorld::default(), &DecisionSettings::default());
    let line = |outcome: &kubewright_engine::RuleOutcome| {
        let verbs: Vec<&str> = outcome.writes.iter().map(|write| write.verb.name()).collect();
        format!("{} {} [{}]", outcome.status, outcome.message, verbs.join(", "))
    };
    assert_eq!(
        decision.outcomes.iter().map(line).collect::<Vec<_>>(),
        want,
        "{spec} {object}",
        object = request.object
    );
    assert!(decision.is_allowed);
}

const PODS: &str = "schedule: '@daily', match: {any: [{resources: {kinds: [Pod]}}]}";
const BARE: &str = "conditions: {all: [{key: \"{{ target.metadata.ownerReferences[] || `[]` }}\", operator: Equals, value: []}]}";

#[test]
fn objects_that_fulfil_the_conditions_would_be_deleted() {
    let spec = format!("{PODS}, {BARE}");
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}}";
    let owned = "{apiVersion: v1, kind: Pod, metadata: {name: a, ownerReferences: [{uid: u}]}}";
    check("ClusterCleanupPolicy", &spec, pod, &["pass resource matched [delete]"]);
    check("ClusterCleanupPolicy", &spec, owned, &["fail resource did not match []"]);
    check("ClusterCleanupPolicy", &spec, "{apiVersion: v1, kind: Service, metadata: {name: a}}", &[]);
    check("ClusterCleanupPolicy", PODS, owned, &["pass resource matched [delete]"]);
}

#[test]
fn a_policy_in_a_namespace_is_about_that_namespace() {
    let pod = |namespace: &str| {
        format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a, namespace: {namespace}}}}}")
    };
    check("CleanupPolicy", PODS, &pod("shop"), &["pass resource matched [delete]"]);
    check("CleanupPolicy", PODS, &pod("other"), &[]);
}

#[test]
fn excluded_objects_stay_and_unknown_values_are_errors() {
    let spec = format!("{PODS}, exclude: {{any: [{{resources: {{names: [keep-*]}}}}]}}");
    check("ClusterCleanupPolicy", &spec, "{apiVersion: v1, kind: Pod, metadata: {name: keep-it}}", &[]);
    let spec = format!(
        "{PODS}, conditions: {{all: [{{key: \"{{{{ target.spec.x }}}}\", operator: Equals, value: 1}}]}}"
    );
    check(
        "ClusterCleanupPolicy",
        &spec,
        "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
        &[
            "error failed to evaluate conditions: failed to substitute variables in condition key: failed to resolve \
           target.spec.x at path : JMESPath query failed: Unknown key \"spec\" in path []",
        ],
    );
}

#[test]
fn a_controller_learns_the_schedule_and_the_kinds() {
    let spec = format!("{PODS}, deletionPropagationPolicy: Orphan");
    let compiled = Kyverno::new(&[], Default::default()).compile(&document("CleanupPolicy", &spec), &[]);
    let [BackgroundProgram::Delete(program)] = compiled.background.as_slice() else {
        panic!("one program: {:?}", compiled.background)
    };
    assert_eq!(program.schedule.next_after(1), Some(86_400));
    assert_eq!(program.propagation, Some(DeletionPropagation::Orphan));
    assert_eq!(program.namespace.as_deref(), Some("shop"));
    assert!(!program.targets.is_empty() && compiled.webhooks.is_empty());
}
