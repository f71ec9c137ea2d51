use kubewright_cel::Inputs;
use kubewright_engine::{AdmissionPolicy, Dialect as _};
use kubewright_value::{Document, Source, Value, json, yaml};

use crate::PolicyDialect;

fn document(text: &str) -> Document {
    yaml::read(&Source::new("policy.yaml", text)).documents.remove(0)
}

fn policy(kind: &str, resource: &str, more: &str) -> Document {
    let (group, resource) = resource.split_once('/').expect("group/resource");
    document(&format!(
        "apiVersion: policies.kyverno.io/v1beta1\nkind: {kind}\nmetadata: {{name: p, uid: u, namespace: shop}}\nspec:\n  \
         autogen: {{validatingAdmissionPolicy: {{enabled: true}}}}\n  \
         matchConstraints: {{resourceRules: [{{apiGroups: ['{group}'], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}]}}\n  \
         validations: [{{expression: \"has(object.metadata.labels)\", message: \"give\\nlabels\"}}]\n{more}"
    ))
}

/// An exception from the policy, with further fields of its spec.
fn exception(spec: &str) -> Document {
    document(&format!(
        "apiVersion: policies.kyverno.io/v1beta1\nkind: PolicyException\nmetadata: {{name: e, namespace: shop}}\n\
         spec: {{policyRefs: [{{name: p, kind: ValidatingPolicy}}], {spec}}}"
    ))
}

fn made(policy: &Document, exceptions: &[Document]) -> Option<Result<AdmissionPolicy, String>> {
    let dialect = PolicyDialect::of(&crate::vpol::LANGUAGE, exceptions, Inputs::default());
    dialect.compile(policy, &[]).native.map(|native| native.map(|native| native.admission_policy))
}

#[track_caller]
fn check_skipped(policy: &Document, exceptions: &[Document], why: &str) {
    let found = made(policy, exceptions).expect("it asks").expect_err("none is made");
    assert_eq!(found, format!("skip generating ValidatingAdmissionPolicy: {why}."));
}

#[test]
fn a_policy_that_asks_is_written_with_its_binding_and_its_owner() {
    let found = made(&policy("ValidatingPolicy", "apps/deployments", ""), &[]).expect("asks").expect("made");
    assert_eq!(found.policy.str_at(&["metadata", "name"]), "vpol-p");
    assert_eq!(found.policy.str_at(&["spec", "failurePolicy"]), "Fail");
    let validations = found.policy.at(&["spec", "validations"]).and_then(Value::as_array).expect("a list");
    assert_eq!(validations.iter().map(|one| one.str_at(&["message"])).collect::<Vec<_>>(), ["give labels"]);
    assert_eq!(found.binding.str_at(&["metadata", "name"]), "vpol-p-binding");
    assert_eq!(found.binding.str_at(&["spec", "policyName"]), "vpol-p");
    assert_eq!(found.binding.at(&["spec", "validationActions"]), Some(&vec!["Deny"].into()));
    for object in [&found.policy, &found.binding] {
        let owner = object.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).expect("an owner");
        assert_eq!(owner.iter().map(|one| one.str_at(&["uid"])).collect::<Vec<_>>(), ["u"]);
    }
}

#[test]
fn a_policy_that_does_not_ask_has_none() {
    let plain = policy("ValidatingPolicy", "apps/deployments", "");
    let text = json::to_string(&plain.value).replace(r#""enabled":true"#, r#""enabled":false"#);
    assert_eq!(made(&document(&text), &[]), None);
}

#[test]
fn a_policy_without_an_equivalent_says_why() {
    check_skipped(
        &policy("ValidatingPolicy", "/pods", ""),
        &[],
        "rules for Pod controllers are generated from the policy",
    );
    check_skipped(
        &policy("NamespacedValidatingPolicy", "apps/deployments", ""),
        &[],
        "a policy in a namespace cannot have one",
    );
    check_skipped(
        &policy("ValidatingPolicy", "apps/deployments", "  evaluation: {admission: {enabled: false}}\n"),
        &[],
        "the policy is not evaluated at admission",
    );
}

#[test]
fn functions_of_kyverno_keep_a_policy_from_being_made() {
    let more = "  variables: [{name: v, expression: \"resource.Get('v1', 'configmaps', 'shop', 'c')\"}]\n";
    let found = made(&policy("ValidatingPolicy", "apps/deployments", more), &[]).expect("it asks");
    let why = found.expect_err("none is made");
    assert!(why.contains("the API server cannot evaluate it"), "{why}");
}

#[test]
fn an_exception_becomes_a_condition_that_holds_for_all_other_objects() {
    let conditions = |spec: &str| {
        let found = made(&policy("ValidatingPolicy", "apps/deployments", ""), &[exception(spec)]);
        let found = found.expect("it asks").expect("one is made");
        let list = found.policy.at(&["spec", "matchConditions"]).and_then(Value::as_array).expect("a list");
        list.iter()
            .map(|one| format!("{}: {}", one.str_at(&["name"]), one.str_at(&["expression"])))
            .collect::<Vec<_>>()
    };
    let one = "matchConditions: [{name: one, expression: \"object.metadata.name == 'a'\"}]";
    assert_eq!(conditions(one), ["one: !(object.metadata.name == 'a')"]);
    let two = "matchConditions: [{name: one, expression: \"object.metadata.name == 'a'\"}, {name: two, expression: has(object.spec)}]";
    assert_eq!(conditions(two), ["one: !((object.metadata.name == 'a') && (has(object.spec)))"]);
}

#[test]
fn an_exception_that_no_condition_can_express_keeps_a_policy_from_being_made() {
    let policy = policy("ValidatingPolicy", "apps/deployments", "");
    let condition = "matchConditions: [{name: one, expression: \"object.metadata.name == 'a'\"}]";
    let values = exception(&format!("{condition}, allowedValues: [x]"));
    check_skipped(&policy, &[values], "exception shop/e allows values, which a condition cannot");
    check_skipped(&policy, &[exception("reportResult: skip")], "exception shop/e excuses every object");
}
