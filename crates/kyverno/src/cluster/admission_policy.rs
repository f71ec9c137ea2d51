//! ClusterPolicies that the API server enforces as ValidatingAdmissionPolicies, and Kyverno's messages for the others.

use kubewright_engine::{AdmissionPolicy, AdmissionPolicyState, GENERATED_LABEL};
use kubewright_value::{Document, Map, Text, Value};

use crate::source::{Method, PolicySource};
use crate::{Kyverno, field};

/// Returns whether `document` is of a kind that the API server can enforce: a policy in a namespace is not.
pub(crate) fn is_enforceable(document: &Document) -> bool {
    field(document, "kind") == "ClusterPolicy"
}

/// Returns why a document that is not a policy has no ValidatingAdmissionPolicy.
pub(crate) fn unreadable() -> String {
    skipped_generation_message("the policy is not valid")
}

/// Returns the ValidatingAdmissionPolicy for the rule of `policy` that requests one, or why there is none.
pub(crate) fn generated_admission_policy(
    dialect: &Kyverno,
    document: &Document,
    policy: &PolicySource,
) -> Result<AdmissionPolicy, String> {
    let (rule, [policy, binding]) = write_admission_policy(dialect, document, policy)?;
    let owner = owner_reference(document);
    Ok(AdmissionPolicy { rule, policy: with_owner(policy, &owner), binding: with_owner(binding, &owner) })
}

/// Returns the rule of `policy` that requests a ValidatingAdmissionPolicy, with that and its binding, or why there is none.
fn write_admission_policy(
    dialect: &Kyverno,
    document: &Document,
    policy: &PolicySource,
) -> Result<(Text, [Value; 2]), String> {
    let rule = match (policy.rules.as_slice(), policy.broken.len()) {
        ([], 0) => return Err(skipped_generation_message("no rules found")),
        ([rule], 0) => rule,
        ([], 1) => return Err(skipped_generation_message("the rule is not valid")),
        _ => return Err(skipped_generation_message("multiple rules are not applicable")),
    };
    match &rule.validate.method {
        Method::Cel(cel) if cel.generates => {}
        Method::Cel(_) => return Err(skipped_generation_message("validate.cel.generate is not set to true")),
        _ => return Err("skip generating ValidatingAdmissionPolicy for non CEL rules.".to_owned()),
    }
    let name = rule.name.value.clone();
    match (dialect.write_admission_policy)(document, policy.clone(), &dialect.exceptions, &dialect.functions)
    {
        Ok(documents) => Ok((name, documents)),
        Err(reason) => Err(skipped_generation_message(&reason)),
    }
}

/// Returns the status fields of a policy, as Kyverno names them.
pub(super) fn admission_policy_status(state: &AdmissionPolicyState) -> Value {
    Map::from([("generated", state.is_generated.into()), ("message", state.message.as_str().into())]).into()
}

fn skipped_generation_message(why: &str) -> String {
    format!("skip generating ValidatingAdmissionPolicy: {why}.")
}

/// Returns the owner reference that removes generated objects together with the policy.
fn owner_reference(document: &Document) -> Value {
    let text = |path: &[&str]| document.value.at(path).cloned().unwrap_or_default();
    Map::from([
        ("apiVersion", text(&["apiVersion"])),
        ("kind", text(&["kind"])),
        ("name", text(&["metadata", "name"])),
        ("uid", text(&["metadata", "uid"])),
    ])
    .into()
}

fn with_owner(mut object: Value, owner: &Value) -> Value {
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata"));
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        let mut labels = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
        labels.insert(GENERATED_LABEL.into(), "true".into());
        metadata.insert("labels".into(), labels.into());
        metadata.insert("ownerReferences".into(), Value::array(vec![owner.clone()]));
    }
    object
}
