//! Which ClusterPolicies the API server enforces itself, as a ValidatingAdmissionPolicy, and Kyverno's words for the others.

use kubewright_engine::{AdmissionPolicy, AdmissionPolicyState, GENERATED_LABEL};
use kubewright_lang::jmespath::Functions;
use kubewright_value::{Document, Map, Text, Value};

use crate::convert;
use crate::kyverno::field;
use crate::kyverno::source::{Exception, Method, Policy, Rule};

/// Returns whether `document` is of a kind that the API server can enforce: a policy in a namespace is not.
pub(in crate::kyverno) fn is_enforceable(document: &Document) -> bool {
    field(document, "kind") == "ClusterPolicy"
}

/// Returns why no ValidatingAdmissionPolicy is made of a document that is not a policy.
pub(in crate::kyverno) fn unreadable() -> String {
    skipped("the policy is not valid")
}

/// Returns the ValidatingAdmissionPolicy for the rule of `policy` that asks for one, or why there is none.
pub(in crate::kyverno) fn of(
    document: &Document,
    policy: &Policy,
    exceptions: &[Exception],
    functions: &Functions,
) -> Result<AdmissionPolicy, String> {
    let (rule, [policy, binding]) = written(document, policy, exceptions, functions)?;
    let owner = owner(document);
    Ok(AdmissionPolicy { rule, policy: owned(policy, &owner), binding: owned(binding, &owner) })
}

/// Returns the rule of `policy` that asks for a ValidatingAdmissionPolicy, with that and its binding, or why there is none.
fn written(
    document: &Document,
    policy: &Policy,
    exceptions: &[Exception],
    functions: &Functions,
) -> Result<(Text, [Value; 2]), String> {
    let rule = match (policy.rules.as_slice(), policy.broken.len()) {
        ([], 0) => return Err(skipped("no rules found")),
        ([rule], 0) => rule,
        ([], 1) => return Err(skipped("the rule is not valid")),
        _ => return Err(skipped("multiple rules are not applicable")),
    };
    match &rule.validate.method {
        Method::Cel(cel) if cel.generates => {}
        Method::Cel(_) => return Err(skipped("validate.cel.generate is not set to true")),
        _ => return Err("skip generating ValidatingAdmissionPolicy for non CEL rules.".to_owned()),
    }
    if let Some(kind) = guessed(rule) {
        return Err(skipped(&format!("the resource of kind `{kind}` is not known")));
    }
    let name = rule.name.value.clone();
    let conversion = convert::admission_policies(document, policy.clone(), exceptions, functions.clone());
    let documents = conversion.written.into_iter().next().map(|written| written.documents);
    match documents.and_then(|documents| <[Value; 2]>::try_from(documents).ok()) {
        Some(documents) => Ok((name, documents)),
        None => {
            let why = conversion.refused.into_iter().next().map(|refused| refused.why);
            Err(skipped(why.as_deref().unwrap_or("it cannot be written as one")))
        }
    }
}

/// Returns what the status of a policy says, in the fields that Kyverno has for it.
pub(super) fn status(state: &AdmissionPolicyState) -> Value {
    Map::from([("generated", state.is_generated.into()), ("message", state.message.as_str().into())]).into()
}

fn skipped(why: &str) -> String {
    format!("skip generating ValidatingAdmissionPolicy: {why}.")
}

/// Returns a kind whose resource could only be guessed: a policy about another resource would enforce nothing.
fn guessed(rule: &Rule) -> Option<&Text> {
    let parts = std::iter::once(&rule.matching).chain(&rule.exclude);
    let filters = parts.flat_map(|part| part.flat.iter().chain(&part.any).chain(&part.all));
    filters.flat_map(|filter| &filter.kinds).map(|kind| &kind.value).find(|kind| convert::is_guess(kind))
}

/// Returns the reference by which what stands for a policy goes away with it.
fn owner(document: &Document) -> Value {
    let text = |path: &[&str]| document.value.at(path).cloned().unwrap_or_default();
    Map::from([
        ("apiVersion", text(&["apiVersion"])),
        ("kind", text(&["kind"])),
        ("name", text(&["metadata", "name"])),
        ("uid", text(&["metadata", "uid"])),
    ])
    .into()
}

fn owned(mut object: Value, owner: &Value) -> Value {
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata"));
    if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
        let mut labels = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
        labels.insert(GENERATED_LABEL.into(), "true".into());
        metadata.insert("labels".into(), labels.into());
        metadata.insert("ownerReferences".into(), Value::array(vec![owner.clone()]));
    }
    object
}

#[cfg(test)]
mod tests;
