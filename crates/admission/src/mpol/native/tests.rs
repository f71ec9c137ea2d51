//! What the API server does in place of MutatingPolicies.

use kubewright_cel::Inputs;
use kubewright_engine::{AdmissionPhase, AdmissionPolicy, Dialect as _};
use kubewright_value::{Document, Source, Value, yaml};

use crate::PolicyDialect;

const MATCH: &str = "matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}";
const ASKS: &str = "autogen: {mutatingAdmissionPolicy: {enabled: true}}";
const LABEL: &str = "mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"x\": \"1\"}}}'}}]";

fn policy(kind: &str, spec: &[&str]) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1beta1\nkind: {kind}\nmetadata: {{name: p, uid: u1}}\nspec:\n  {}\n",
        spec.join("\n  ")
    )
}

fn native(policy: &str, exceptions: &str) -> Option<Result<AdmissionPolicy, String>> {
    let read = |text: &str| -> Vec<Document> { yaml::read(&Source::new("policy.yaml", text)).documents };
    let dialect = PolicyDialect::of(&crate::mpol::LANGUAGE, &read(exceptions), Inputs::default());
    let document = read(policy).into_iter().next().expect("a policy");
    dialect.compile(&document, &[]).native.map(|made| made.map(|native| native.admission_policy))
}

#[track_caller]
fn made(policy: &str, exceptions: &str) -> AdmissionPolicy {
    native(policy, exceptions).expect("the policy asks").expect("it can be made")
}

#[track_caller]
fn refuses(spec: &[&str], want: &str) {
    let why = native(&policy("MutatingPolicy", spec), "").expect("the policy asks").expect_err("it has none");
    let (start, end) = ("skip generating MutatingAdmissionPolicy: ", ".");
    assert!(why.starts_with(start) && why.contains(want) && why.ends_with(end), "{why}");
}

fn conditions(policy: &AdmissionPolicy) -> Vec<(String, String)> {
    let list = policy.policy.at(&["spec", "matchConditions"]).and_then(Value::as_array).unwrap_or_default();
    list.iter().map(|one| (one.str_at(&["name"]).into(), one.str_at(&["expression"]).into())).collect()
}

#[test]
fn a_policy_and_its_binding_belong_to_the_policy_that_asks() {
    let more = "matchConditions: [{name: dev, expression: \"request.namespace == 'dev'\"}]";
    let found = made(&policy("MutatingPolicy", &[ASKS, MATCH, more, LABEL]), "");
    assert_eq!(found.phase(), AdmissionPhase::Mutating);
    assert_eq!(found.policy.str_at(&["metadata", "name"]), "mpol-p");
    assert_eq!(found.binding.str_at(&["metadata", "name"]), "mpol-p-binding");
    assert_eq!(found.binding.str_at(&["spec", "policyName"]), "mpol-p");
    assert_eq!(found.policy.str_at(&["spec", "reinvocationPolicy"]), "Never");
    assert_eq!(conditions(&found), [("dev".to_owned(), "request.namespace == 'dev'".to_owned())]);
    let owners = found.policy.at(&["metadata", "ownerReferences"]).and_then(Value::as_array);
    assert_eq!(owners.and_then(<[Value]>::first).map(|owner| owner.str_at(&["uid"])), Some("u1"));
}

#[test]
fn selectors_and_reinvocation_are_kept() {
    let selecting = MATCH.replace("]}]}", "]}], objectSelector: {matchLabels: {a: b}}}");
    let again = "reinvocationPolicy: IfNeeded";
    let found = made(&policy("MutatingPolicy", &[ASKS, &selecting, again, LABEL]), "");
    let selector = ["spec", "matchConstraints", "objectSelector", "matchLabels", "a"];
    assert_eq!(found.policy.str_at(&selector), "b");
    assert_eq!(found.policy.str_at(&["spec", "reinvocationPolicy"]), "IfNeeded");
}

#[test]
fn an_exception_excuses_only_where_all_its_conditions_hold() {
    let exception = |name: &str, spec: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {{name: {name}, namespace: team}}\n\
             spec: {{policyRefs: [{{name: p, kind: MutatingPolicy}}], {spec}}}\n"
        )
    };
    let [one, both, values] = [
        exception("one", "matchConditions: [{name: c, expression: 'object.a == 1 // why'}]"),
        exception("both", "matchConditions: [{name: c, expression: 'x'}, {name: d, expression: 'y'}]")
            .replace("'x'", "object.b == 1")
            .replace("'y'", "object.c == 1"),
        exception("values", "allowedValues: [v]"),
    ];
    let all = [one, both, values].join("---\n");
    let found = conditions(&made(&policy("MutatingPolicy", &[ASKS, MATCH, LABEL]), &all));
    let want = [("c", "!(object.a == 1 // why\n)"), ("c-1", "!((object.b == 1) && (object.c == 1))")]
        .map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(found, want);
}

#[test]
fn what_the_api_server_cannot_do_stays_with_the_webhook() {
    assert_eq!(native(&policy("MutatingPolicy", &[MATCH, LABEL]), ""), None);
    refuses(&[ASKS, &MATCH.replace("apps", "''").replace("deployments", "pods"), LABEL], "pod controllers");
    refuses(&[ASKS, MATCH, LABEL, "evaluation: {mutateExisting: {enabled: true}}"], "mutateExisting");
    refuses(&[ASKS, MATCH, LABEL, "evaluation: {useServerSideApply: true}"], "useServerSideApply");
    refuses(&[ASKS, MATCH, LABEL, "evaluation: {admission: {enabled: false}}"], "admission is off");
    let variables = "variables: [{name: v, expression: 'true'}]";
    let condition = "matchConditions: [{name: c, expression: variables.v}]";
    refuses(&[ASKS, MATCH, variables, condition, LABEL], "the API server cannot evaluate it");
    let lookup = "matchConditions: [{name: c, expression: 'resource.Get(\"v1\", \"configmaps\", \"a\", \"b\") != null'}]";
    refuses(&[ASKS, MATCH, lookup, LABEL], "the API server cannot evaluate it");
}
