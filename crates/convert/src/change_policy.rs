//! Writes a MutatingPolicy, a GeneratingPolicy or an ImageValidatingPolicy; each rule has its own.

use kubewright_k8s::PodTemplatePath;
use kubewright_value::{Map, Text, Value};

use super::ConvertedPolicy;
use super::SuccessorKind;
use super::changes::ConvertedChange;
use super::policy::{ConvertedRuleDraft, SourcePolicy};
use super::vpol::{POLICIES_API_VERSION, policy_metadata, webhook_value};

/// Returns the policies that replace a rule, of which `drafts` are the rule and its variants for controllers.
pub(super) fn write_change_policies(
    origin: &SourcePolicy<'_>,
    rule: Text,
    drafts: &[ConvertedRuleDraft],
) -> ConvertedPolicy {
    let documents = drafts.iter().filter_map(|draft| change_policy_document(origin, draft));
    ConvertedPolicy { rules: vec![rule], documents: documents.collect(), covers_controllers: true }
}

fn change_policy_document(origin: &SourcePolicy<'_>, draft: &ConvertedRuleDraft) -> Option<Value> {
    let change = draft.change.as_ref()?;
    let mut name = origin.policy.name.value.to_string();
    if origin.rules > 1 {
        name.push_str(&format!("-{}", draft.rule));
    }
    match draft.variant {
        Some(PodTemplatePath::JobTemplate) => name.push_str("-autogen-cronjob"),
        Some(_) => name.push_str("-autogen"),
        None => {}
    }
    let prefix = if origin.policy.namespace.is_some() { "Namespaced" } else { "" };
    let document = Map::from([
        ("apiVersion", Value::from(POLICIES_API_VERSION)),
        ("kind", format!("{prefix}{}", change.kind.name()).into()),
        ("metadata", policy_metadata(origin, &name)),
        ("spec", change_spec(origin, draft, change)),
    ]);
    Some(document.into())
}

fn change_spec(origin: &SourcePolicy<'_>, draft: &ConvertedRuleDraft, change: &ConvertedChange) -> Value {
    let mut spec = Map::new();
    if !origin.policy.settings.is_fail_closed {
        spec.insert("failurePolicy".into(), "Ignore".into());
    }
    if let Some(webhook) = webhook_value(origin) {
        spec.insert("webhookConfiguration".into(), webhook);
    }
    if [SuccessorKind::MutatingPolicy, SuccessorKind::ImageValidatingPolicy].contains(&change.kind) {
        // Controllers have policies of their own.
        let none = Map::from([("controllers", Value::array(Vec::new()))]);
        spec.insert("autogen".into(), Map::from([("podControllers", none.into())]).into());
    }
    spec.insert("matchConstraints".into(), draft.constraints.value());
    let conditions = draft.all_conditions();
    if !conditions.is_empty() {
        spec.insert("matchConditions".into(), conditions.into());
    }
    for (key, value) in &change.fields {
        spec.insert((*key).into(), value.clone());
    }
    spec.into()
}
