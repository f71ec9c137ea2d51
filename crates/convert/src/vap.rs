//! Writes a ValidatingAdmissionPolicy and its binding.
//!
//! Owner references are left out: they need the uid of a policy in a cluster.

use kubewright_value::{Map, Text, Value};

use super::policy::{ConvertedRuleDraft, SourcePolicy};
use kubewright_k8s::PodTemplatePath;
use kubewright_kyverno::source::FailureAction;

const ADMISSION_API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// Turns off reports of the policy.
const NO_REPORTS_LABEL: &str = "reports.kyverno.io/disabled";

/// Returns the policy of `draft` and its binding.
pub(super) fn admission_policy_documents(
    origin: &SourcePolicy<'_>,
    draft: &ConvertedRuleDraft,
) -> [Value; 2] {
    let name = admission_policy_name(origin, draft);
    [admission_policy_value(origin, draft, &name), binding_value(draft, &name)]
}

/// Returns Kyverno's name for the policy; a rule of several, or one for controllers, is named after it.
fn admission_policy_name(origin: &SourcePolicy<'_>, draft: &ConvertedRuleDraft) -> String {
    let mut name = format!("cpol-{}", origin.policy.name.value);
    if origin.rules > 1 {
        name.push_str(&format!("-{}", draft.rule));
    }
    // The suffix must fit too.
    let mut name = object_name_text(&name, 253 - "-autogen-cronjob-binding".len());
    name.push_str(match draft.variant {
        Some(PodTemplatePath::JobTemplate) => "-autogen-cronjob",
        Some(_) => "-autogen",
        None => "",
    });
    name
}

/// Returns `name` as objects can be called; rules are called as their authors like.
fn object_name_text(name: &str, most: usize) -> String {
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.';
    let letter = |c: char| if is_known(c.to_ascii_lowercase()) { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(letter).take(most).collect();
    name.trim_end_matches(['-', '.']).to_owned()
}

fn admission_policy_value(origin: &SourcePolicy<'_>, draft: &ConvertedRuleDraft, name: &str) -> Value {
    let mut labels = generated_labels(draft);
    let has_no_reports = origin.document.value.at(&["metadata", "labels", NO_REPORTS_LABEL]).is_some();
    if has_no_reports {
        labels.insert(NO_REPORTS_LABEL.into(), "true".into());
    }
    let mut spec = Map::new();
    if !origin.policy.settings.is_fail_closed {
        spec.insert("failurePolicy".into(), "Ignore".into());
    }
    spec.insert("matchConstraints".into(), draft.constraints.value());
    let conditions = draft.all_conditions();
    put_list(&mut spec, "matchConditions", conditions);
    if let Some((kind, _)) = &draft.params {
        spec.insert("paramKind".into(), kind.clone());
    }
    put_list(&mut spec, "variables", draft.variables.clone());
    put_list(
        &mut spec,
        "validations",
        draft.validations.iter().map(|one| admission_validation(one, draft)).collect(),
    );
    if let Some(annotations) = &draft.audit_annotations {
        spec.insert("auditAnnotations".into(), annotations.clone());
    }
    admission_document("ValidatingAdmissionPolicy", name, labels, spec)
}

/// Returns a validation that the API server takes: a message is one line, and an expression of several lines has one.
fn admission_validation(written: &Value, draft: &ConvertedRuleDraft) -> Value {
    let text = |key: &str| written.get(key).and_then(Value::as_str).unwrap_or_default();
    let message = text("message").trim();
    let has_lines = |text: &str| text.trim().contains('\n');
    let message = match message.is_empty() {
        true if text("messageExpression").is_empty() && has_lines(text("expression")) => {
            format!("rule {} is violated", draft.rule)
        }
        false if has_lines(message) => message.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => return written.clone(),
    };
    match written.as_object() {
        Some(map) => {
            let mut map = map.clone();
            map.insert("message".into(), message.into());
            map.into()
        }
        None => written.clone(),
    }
}

fn binding_value(draft: &ConvertedRuleDraft, name: &str) -> Value {
    let actions = match draft.action {
        FailureAction::Enforce => vec!["Deny"],
        FailureAction::Audit => vec!["Audit", "Warn"],
    };
    let mut spec = Map::from([("policyName", Value::from(name))]);
    if let Some((_, reference)) = &draft.params {
        spec.insert("paramRef".into(), reference.clone());
    }
    spec.insert("validationActions".into(), actions.into());
    admission_document(
        "ValidatingAdmissionPolicyBinding",
        &format!("{name}-binding"),
        generated_labels(draft),
        spec,
    )
}

/// The labels that Kyverno puts on generated objects.
fn generated_labels(draft: &ConvertedRuleDraft) -> Map {
    let mark = draft.is_native.then(|| (Text::new_static("app.kubernetes.io/managed-by"), "kyverno".into()));
    mark.into_iter().collect()
}

fn admission_document(kind: &str, name: &str, labels: Map, spec: Map) -> Value {
    let mut metadata = Map::from([("name", Value::from(name))]);
    if !labels.is_empty() {
        metadata.insert("labels".into(), labels.into());
    }
    Map::from([
        ("apiVersion", Value::from(ADMISSION_API_VERSION)),
        ("kind", kind.into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ])
    .into()
}

fn put_list(map: &mut Map, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        map.insert(key.into(), list.into());
    }
}
