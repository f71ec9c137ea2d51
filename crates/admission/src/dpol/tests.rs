//! Tests of DeletingPolicies: which objects they would delete, and when.

use kubewright_engine::{
    BackgroundProgram, ClosedWorld, ClusterExtensions as _, DecisionSettings, DeletionPropagation,
    Dialect as _, Engine, MissingAccess, ResourceAccess,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, yaml};

use crate::PolicyDialect;

fn documents(text: &str) -> Vec<Document> {
    yaml::read(&Source::new("policy.yaml", text)).documents
}

const PODS: &str =
    "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods]}]}";

fn policy(kind: &str, spec: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: p, namespace: shop}}\n\
         spec: {{schedule: '*/5 * * * *', {spec}}}\n"
    )
}

#[track_caller]
fn check(policy: &str, exceptions: &str, object: &str, want: &[&str]) {
    let dialect = PolicyDialect::of(&crate::dpol::LANGUAGE, &documents(exceptions), Default::default());
    let compiled = dialect.compile(&documents(policy)[0], &[]);
    let namespace =
        yaml::parse("{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: test}}}");
    let world = ClosedWorld::new([namespace.expect("YAML")]);
    let object = yaml::parse(object).expect("YAML");
    let request = AdmissionRequest::for_object(object, Operation::Create, "default");
    let decision = Engine::new(compiled.rules).decide(&request, &world, &DecisionSettings::default());
    let line = |outcome: &kubewright_engine::RuleOutcome| {
        format!("{}: {} [{}]", outcome.status, outcome.message, outcome.written.join(", "))
    };
    assert_eq!(decision.outcomes.iter().map(line).collect::<Vec<_>>(), want, "{policy}");
    assert!(decision.is_allowed);
}

fn pod(name: &str, namespace: &str) -> String {
    format!("{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: {namespace}}}}}")
}

const KEPT: &str = "fail: resource did not match []";

#[test]
fn objects_that_fulfil_all_conditions_would_be_deleted() {
    let spec = format!(
        "{PODS}, variables: [{{name: called, expression: object.metadata.name}}], \
         conditions: [{{name: a, expression: variables.called == 'old'}}, {{name: b, expression: object.kind == 'Pod'}}]"
    );
    let text = policy("DeletingPolicy", &spec);
    check(&text, "", &pod("old", "shop"), &["pass: resource matched [delete Pod shop/old]"]);
    check(&text, "", &pod("new", "shop"), &[KEPT]);
    check(&text, "", "{apiVersion: v1, kind: Service, metadata: {name: old}}", &[]);
}

#[test]
fn conditions_see_the_namespace() {
    let spec = format!(
        "{PODS}, conditions: [{{name: a, expression: namespaceObject.metadata.labels.env == 'test'}}]"
    );
    check(
        &policy("DeletingPolicy", &spec),
        "",
        &pod("a", "shop"),
        &["pass: resource matched [delete Pod shop/a]"],
    );
}

#[test]
fn a_policy_in_a_namespace_deletes_nothing_elsewhere() {
    let spec = format!("{PODS}, conditions: [{{name: a, expression: object.kind == 'Pod'}}]");
    let text = policy("NamespacedDeletingPolicy", &spec);
    check(&text, "", &pod("a", "shop"), &["pass: resource matched [delete Pod shop/a]"]);
    check(&text, "", &pod("a", "other"), &[]);
}

#[test]
fn an_exception_keeps_the_object() {
    let spec = format!("{PODS}, conditions: [{{name: a, expression: object.kind == 'Pod'}}]");
    let exception = "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: e}\n\
                     spec: {policyRefs: [{name: p, kind: DeletingPolicy}], \
                     matchConditions: [{name: c, expression: object.metadata.name == 'keep'}]}";
    let text = policy("DeletingPolicy", &spec);
    check(&text, exception, &pod("keep", "shop"), &[KEPT]);
    check(&text, exception, &pod("a", "shop"), &["pass: resource matched [delete Pod shop/a]"]);
}

#[test]
fn a_condition_that_does_not_fit_is_an_error_and_deletes_nothing() {
    let spec = format!("{PODS}, conditions: [{{name: a, expression: object.spec.x == 1}}]");
    check(
        &policy("DeletingPolicy", &spec),
        "",
        &pod("a", "shop"),
        &["error: expression 'object.spec.x == 1' resulted in error: no such key: spec []"],
    );
}

#[test]
fn a_policy_without_constraints_is_about_payloads() {
    let text = policy("DeletingPolicy", "conditions: [{name: a, expression: object.count > 1}]");
    check(&text, "", "{count: 2}", &["pass: resource matched [delete payload]"]);
    check(&text, "", "{count: 1}", &[KEPT]);
    check(&text, "", &pod("a", "shop"), &[]);
}

#[test]
fn a_controller_learns_the_schedule_and_the_resources() {
    let spec = format!(
        "{PODS}, deletionPropagationPolicy: Background, conditions: [{{name: a, expression: object.kind == 'Pod'}}]"
    );
    let dialect = PolicyDialect::of(&crate::dpol::LANGUAGE, &[], Default::default());
    let compiled = dialect.compile(&documents(&policy("NamespacedDeletingPolicy", &spec))[0], &[]);
    let [BackgroundProgram::Delete(program)] = compiled.background.as_slice() else {
        panic!("one program: {:?}", compiled.background)
    };
    assert_eq!(program.schedule.next_after(0), Some(300));
    assert_eq!(program.propagation, Some(DeletionPropagation::Background));
    assert_eq!((program.targets.len(), program.namespace.as_deref()), (1, Some("shop")));
}

#[track_caller]
fn reports(spec: &str, want: &[&str]) {
    let dialect = PolicyDialect::of(&crate::dpol::LANGUAGE, &[], Default::default());
    let text = format!(
        "apiVersion: policies.kyverno.io/v1\nkind: DeletingPolicy\nmetadata: {{name: p}}\nspec: {{{spec}}}\n"
    );
    let compiled = dialect.compile(&documents(&text)[0], &[]);
    let found: Vec<&str> = compiled.diagnostics.iter().map(|found| found.code.id).collect();
    assert_eq!(found, want, "{spec}: {:?}", compiled.diagnostics);
}

#[test]
fn mistakes_are_reported() {
    let condition = "conditions: [{name: a, expression: object.kind == 'Pod'}]";
    reports(&format!("schedule: '@daily', {PODS}, {condition}"), &[]);
    reports(&format!("schedule: '0 24 * * *', {PODS}, {condition}"), &["KW-A052"]);
    reports(&format!("schedule: '0 0 31 2 *', {PODS}, {condition}"), &["KW-A053"]);
    reports(&format!("schedule: '@daily', {PODS}"), &["KW-A054"]);
    reports(&format!("{PODS}, {condition}"), &["KW-A003"]);
    reports(
        &format!("schedule: '@daily', deletionPropagationPolicy: Later, {PODS}, {condition}"),
        &["KW-A004"],
    );
}

/// Returns what is said about a policy whose controller may do nothing with Pods.
fn lacking(language: &'static crate::policies::PolicyLanguage, text: &str) -> Option<String> {
    let dialect = PolicyDialect::of(language, &[], Default::default());
    let document = documents(text).remove(0);
    let compiled = dialect.compile(&document, &[]);
    let program = compiled.background.first().expect("work in the background");
    let missing = [ResourceAccess {
        resource: "pods".into(),
        kind: "Pod".into(),
        verbs: vec!["delete"],
        ..ResourceAccess::default()
    }];
    let lacks = MissingAccess { account: "system:serviceaccount:a:b", program, missing: &missing };
    let problem = dialect.access_problem(&document, &lacks)?;
    Some(format!("{} {} {}", problem.code.id, problem.is_error(), problem.message))
}

#[test]
fn a_missing_right_refuses_policies_that_change_and_warns_of_those_that_delete() {
    let rule = "`system:serviceaccount:a:b` lacks the RBAC rule {apiGroups: [\"\"], resources: [pods], verbs: [delete]}";
    let deleting = policy("DeletingPolicy", PODS);
    assert_eq!(lacking(&crate::dpol::LANGUAGE, &deleting), Some(format!("KW-A056 false {rule}")));
    let mutating = "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: p}\nspec:\n  \
                    evaluation: {mutateExisting: {enabled: true}}\n  matchConstraints: {resourceRules: [{apiGroups: [''], \
                    apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n  mutations: [{patchType: JSONPatch, \
                    jsonPatch: {expression: \"[]\"}}]\n";
    assert_eq!(lacking(&crate::mpol::LANGUAGE, mutating), Some(format!("KW-A055 true {rule}")));
}
