//! ValidatingPolicies that the API server enforces itself, as ValidatingAdmissionPolicies: `autogen.validatingAdmissionPolicy`.
//!
//! A policy is written only where both say the same about every request: expressions must compile with what the API server
//! knows, and exceptions must excuse whole objects, as a match condition does.

use kubewright_engine::{AdmissionPolicy, Dialect as _, NativeRule};
use kubewright_value::{Document, Map, Text, Value};

use super::exceptions::CompiledPolicyException;
use super::source::{EvaluationTarget, ValidatingPolicySettings};
use crate::native::{check_native_policy, generated_object, match_conditions};
use crate::{ValidatingAdmissionPolicies, text_field};

/// What decides whether a policy has an equivalent.
pub(super) struct NativeInputs<'n> {
    pub(super) document: &'n Document,
    pub(super) settings: &'n ValidatingPolicySettings,
    /// The exceptions from this policy.
    pub(super) exceptions: &'n [CompiledPolicyException],
    /// Whether there are rules for the controllers that make Pods.
    pub(super) has_controllers: bool,
}

/// Returns what the API server enforces in place of a policy, or why it does not; nothing where the policy does not ask.
pub(super) fn native_rule(inputs: &NativeInputs<'_>) -> Option<Result<NativeRule, String>> {
    if !inputs.settings.asks_for_native {
        return None;
    }
    let made =
        native_policy(inputs).map_err(|why| format!("skip generating ValidatingAdmissionPolicy: {why}."));
    // All rules of the policy are replaced, so that no webhook remains.
    Some(made.map(|admission_policy| NativeRule { admission_policy, remaining_webhooks: Vec::new() }))
}

fn native_policy(inputs: &NativeInputs<'_>) -> Result<AdmissionPolicy, String> {
    let NativeInputs { document, settings, exceptions, has_controllers } = inputs;
    if text_field(document, "kind") != super::KIND {
        return Err("a policy in a namespace cannot have one".to_owned());
    }
    if settings.mode != EvaluationTarget::Kubernetes || !settings.is_admission {
        return Err("the policy is not evaluated at admission".to_owned());
    }
    if *has_controllers {
        return Err("rules for Pod controllers are generated from the policy".to_owned());
    }
    let conditions = exceptions.iter().map(exempting_condition).collect::<Result<Vec<_>, String>>()?;
    let name = format!("vpol-{}", document.value.str_at(&["metadata", "name"]));
    let policy =
        generated_object(document, "ValidatingAdmissionPolicy", &name, policy_spec(document, conditions));
    let written = Document::written(policy.clone(), "generated policy".to_owned());
    check_native_policy(&ValidatingAdmissionPolicies::new().compile(&written, &[]))?;
    let mut spec = Map::from([("policyName", Value::from(name.as_str()))]);
    let actions = document.value.at(&["spec", "validationActions"]).filter(|actions| !is_empty_list(actions));
    spec.insert("validationActions".into(), actions.cloned().unwrap_or_else(|| vec!["Deny"].into()));
    let binding_name = format!("{name}-binding");
    let binding = generated_object(document, "ValidatingAdmissionPolicyBinding", &binding_name, spec);
    Ok(AdmissionPolicy { rule: Text::default(), policy, binding })
}

/// Returns the spec of the policy: everything that both kinds have, and the exceptions as match conditions.
fn policy_spec(document: &Document, exempting: Vec<(Text, Text)>) -> Map {
    let part = |key: &str| document.value.at(&["spec", key]).cloned();
    let mut spec = Map::from([("failurePolicy", part("failurePolicy").unwrap_or_else(|| "Fail".into()))]);
    let mut put = |key: &'static str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !value.is_null() && !is_empty_list(value)) {
            spec.insert(key.into(), value);
        }
    };
    put("matchConstraints", part("matchConstraints"));
    let own = part("matchConditions");
    let own = own.as_ref().and_then(Value::as_array).unwrap_or_default();
    let own = own.iter().map(|one| (one.str_at(&["name"]).into(), one.str_at(&["expression"]).into()));
    put("matchConditions", Some(match_conditions(own.chain(exempting)).into()));
    put("variables", part("variables"));
    let validations = part("validations");
    let validations = validations.as_ref().and_then(Value::as_array).unwrap_or_default();
    put("validations", Some(validations.iter().map(one_line_validation).collect::<Vec<Value>>().into()));
    put("auditAnnotations", part("auditAnnotations"));
    spec
}

/// Returns the condition that holds for objects that `exception` does not excuse.
fn exempting_condition(exception: &CompiledPolicyException) -> Result<(Text, Text), String> {
    let why = |what: &str| format!("exception {} {what}", exception.key());
    if exception.is_for_every_object() {
        return Err(why("excuses every object"));
    }
    exception.negated_condition().ok_or_else(|| why("allows values, which a condition cannot"))
}

/// Returns a validation as the API server takes it: a message has one line, and an expression of several lines has one.
fn one_line_validation(written: &Value) -> Value {
    let text = |key: &str| written.str_at(&[key]).trim();
    let message = match text("message") {
        "" if text("messageExpression").is_empty() && text("expression").contains('\n') => {
            "the object violates the policy".to_owned()
        }
        lines if lines.contains('\n') => lines.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => return written.clone(),
    };
    let mut validation = written.as_object().cloned().unwrap_or_default();
    validation.insert("message".into(), message.into());
    validation.into()
}

fn is_empty_list(value: &Value) -> bool {
    value.as_array().is_some_and(<[Value]>::is_empty)
}

#[cfg(test)]
mod tests;
