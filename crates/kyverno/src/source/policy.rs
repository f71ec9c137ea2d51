//! The document of a ClusterPolicy or Policy.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Step, Text, Value};

use super::{
    ActionOverride, Annotations, BrokenRule, FIELD_CODES, FailureAction, PolicySettings, PolicySource,
    recovery, rule,
};
use kubewright_cel_rules::source::read_named_expressions;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, child_path};
use kubewright_dialect_kit::selector;

const SPEC_FIELDS: &[&str] = &[
    "rules",
    "validationFailureAction",
    "validationFailureActionOverrides",
    "background",
    "admission",
    "applyRules",
    "emitWarning",
    "failurePolicy",
    "webhookConfiguration",
    "webhookTimeoutSeconds",
    "schemaValidation",
    "useServerSideApply",
    "generateExisting",
    "generateExistingOnPolicyUpdate",
    "mutateExistingOnPolicyUpdate",
];

/// Reads `document`; unreadable parts are reported and left out.
pub fn read_policy_document(document: &Document) -> (Option<PolicySource>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_policy_spec)
}

fn read_policy_spec(reader: &mut DocumentReader<'_>) -> Option<PolicySource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    let name = reader.required_string(&metadata, "name");
    let namespace = read_policy_namespace(reader, &metadata);
    let annotations = read_policy_annotations(reader, &metadata);
    reader.only(&spec, SPEC_FIELDS);
    let settings = read_policy_settings(reader, &spec);
    let mut policy =
        PolicySource { name: name?, namespace, settings, annotations, rules: Vec::new(), broken: Vec::new() };
    let items = reader.objects(&spec, "rules").unwrap_or_default();
    // A misspelt setting would change the meaning of every rule.
    let fatal = reader.diagnostics.iter().find(|found| found.is_error()).map(|found| found.message.clone());
    for fields in items {
        rule_of(reader, &fields, &mut policy);
    }
    if let Some(message) = fatal {
        if policy.rules.is_empty() && policy.broken.is_empty() {
            policy.broken.extend(unfound(reader.document, &spec.path, &message));
        }
        let rules = std::mem::take(&mut policy.rules);
        policy.broken.extend(rules.into_iter().map(|rule| rule.broken(message.clone())));
    }
    Some(policy)
}

/// Returns the replacement for rules at the wrong place.
fn unfound(document: &Document, spec: &[Step], message: &str) -> Option<BrokenRule> {
    let matching = recovery::anywhere(document, spec)?;
    Some(BrokenRule {
        name: Text::default(),
        path: spec.to_vec(),
        matching: Some(matching),
        exclude: None,
        failure_action: None,
        failure_action_overrides: Vec::new(),
        message: message.to_owned(),
        rule: None,
    })
}

fn read_policy_namespace<'d>(reader: &mut DocumentReader<'d>, metadata: &DocumentFields<'d>) -> Option<Text> {
    let written = reader.string(metadata, "namespace").map(|text| text.value).filter(|text| !text.is_empty());
    let is_namespaced = reader.document.value.get("kind").and_then(Value::as_str) == Some("Policy");
    is_namespaced.then(|| written.unwrap_or_else(|| Text::new("default")))
}

fn read_policy_annotations<'d>(
    reader: &mut DocumentReader<'d>,
    metadata: &DocumentFields<'d>,
) -> Annotations {
    let mut read = Annotations { is_scored: true, ..Annotations::default() };
    for (name, text) in reader.texts(metadata, "annotations").unwrap_or_default() {
        match name.as_str() {
            "policies.kyverno.io/severity" => read.severity = text.value,
            "policies.kyverno.io/category" => read.category = text.value,
            "policies.kyverno.io/scored" => read.is_scored = text.value != "false",
            "pod-policies.kyverno.io/autogen-controllers" => read.autogen_controllers = Some(text),
            _ => {}
        }
    }
    read
}

fn read_policy_settings<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> PolicySettings {
    for flag in ["schemaValidation", "generateExistingOnPolicyUpdate", "mutateExistingOnPolicyUpdate"] {
        reader.boolean(spec, flag);
    }
    let webhook = reader.object(spec, "webhookConfiguration");
    let (mut in_webhook, mut match_conditions) = (None, Vec::new());
    if let Some(webhook) = webhook {
        reader.only(&webhook, &["failurePolicy", "matchConditions", "timeoutSeconds"]);
        in_webhook = is_fail_closed(reader, &webhook);
        match_conditions = read_named_expressions(reader, &webhook, "matchConditions");
    }
    let beside = is_fail_closed(reader, spec);
    let apply = reader.string(spec, "applyRules");
    PolicySettings {
        failure_action: action(reader, spec, "validationFailureAction").unwrap_or_default(),
        failure_action_overrides: read_action_overrides(reader, spec, "validationFailureActionOverrides"),
        is_fail_closed: in_webhook.or(beside).unwrap_or(true),
        is_background: reader.boolean(spec, "background").unwrap_or(true),
        is_admission: reader.boolean(spec, "admission").unwrap_or(true),
        emits_warning: reader.boolean(spec, "emitWarning").unwrap_or(false),
        generates_existing: reader.boolean(spec, "generateExisting").unwrap_or(false),
        uses_server_side_apply: reader.boolean(spec, "useServerSideApply").unwrap_or(false),
        applies_one_rule: apply
            .and_then(|text| reader.one_of(&text, "applyRules", &[("All", false), ("One", true)]))
            .unwrap_or(false),
        is_generated: reader
            .document
            .value
            .at(&["status", "validatingadmissionpolicy", "generated"])
            .and_then(Value::as_bool)
            .unwrap_or(false),
        match_conditions,
    }
}

fn is_fail_closed<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<bool> {
    let text = reader.string(fields, "failurePolicy")?;
    reader.one_of(&text, "failurePolicy", &[("Fail", true), ("Ignore", false)])
}

/// Reads a failure action. An unreadable action refuses: its rule or policy has an error.
pub(super) fn action<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<FailureAction> {
    reader.any(fields, key)?;
    let words = [
        ("Audit", FailureAction::Audit),
        ("Enforce", FailureAction::Enforce),
        ("audit", FailureAction::Audit),
        ("enforce", FailureAction::Enforce),
    ];
    let text = reader.string(fields, key);
    let action = text.and_then(|text| reader.one_of(&text, key, &words));
    Some(action.unwrap_or(FailureAction::Enforce))
}

/// Reads other actions for some namespaces.
pub(super) fn read_action_overrides<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<ActionOverride> {
    let items = reader.objects(fields, key).unwrap_or_default();
    items.iter().filter_map(|item| action_override(reader, item)).collect()
}

fn action_override<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<ActionOverride> {
    reader.only(item, &["action", "namespaces", "namespaceSelector"]);
    let namespaces = reader.plain(item, "namespaces");
    let namespace_selector = selector::read_selector(reader, item, "namespaceSelector");
    if reader.any(item, "action").is_none() {
        reader.missing(item, "action");
    }
    let action = action(reader, item, "action")?;
    let path = item.path.clone();
    Some(ActionOverride { path, action, namespaces, namespace_selector })
}

fn rule_of<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>, policy: &mut PolicySource) {
    let before = reader.diagnostics.len();
    let draft = rule::read_rule(reader, fields);
    let error = reader.diagnostics.iter().skip(before).find(|diagnostic| diagnostic.is_error());
    match (error, draft.rule) {
        (None, Some(rule)) => policy.rules.push(rule),
        (error, _) => {
            let message = error.map(|error| error.message.clone()).unwrap_or_default();
            let (failure_action, failure_action_overrides) = recover_actions(reader.document, &fields.path);
            policy.broken.push(BrokenRule {
                name: draft.name.map(|name| name.value).unwrap_or_default(),
                path: fields.path.clone(),
                matching: recovery::recover_match(reader.document, &fields.path, draft.matching),
                exclude: draft.exclude.map(recovery::recover_exclude),
                failure_action,
                failure_action_overrides,
                message,
                // A missing part would be missed wherever it is used.
                rule: None,
            });
        }
    }
}

/// Returns the failure action of the rule at `path`, where it can be read; its mistakes are reported elsewhere.
fn recover_actions(document: &Document, path: &[Step]) -> (Option<FailureAction>, Vec<ActionOverride>) {
    let mut reader = DocumentReader::new(document, FIELD_CODES);
    let validate = reader.object_under(&child_path(path, "validate"));
    let Some(fields) = validate else { return (None, Vec::new()) };
    let action = action(&mut reader, &fields, "failureAction");
    (action, read_action_overrides(&mut reader, &fields, "failureActionOverrides"))
}
