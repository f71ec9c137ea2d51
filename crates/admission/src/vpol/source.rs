//! ValidatingPolicy and NamespacedValidatingPolicy as they are written, field by field.

mod exception;

pub(super) use exception::read_policy_exception as read_exception;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text, Value};

use crate::source::{
    CelPolicySource, FIELD_CODES, ValidationActions, read_common_fields, read_validation_actions,
};
use kubewright_cel_rules::source::NamedExpression;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

/// The settings that only a ValidatingPolicy has.
#[derive(Debug, Clone)]
pub(crate) struct ValidatingPolicySettings {
    pub(crate) mode: EvaluationTarget,
    pub(crate) actions: ValidationActions,
    pub(crate) is_admission: bool,
    pub(crate) is_background: bool,
    /// `autogen.podControllers.controllers`, if given.
    pub(crate) controllers: Option<Vec<Located<Text>>>,
    /// `autogen.validatingAdmissionPolicy.enabled`: whether the API server is to enforce the policy itself.
    pub(crate) asks_for_native: bool,
}

/// The input of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvaluationTarget {
    /// Objects of Kubernetes.
    Kubernetes,
    /// Any JSON.
    Json,
    /// Requests over HTTP.
    Http,
    /// Envoy's authorization requests.
    Envoy,
}

impl EvaluationTarget {
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("Kubernetes", Self::Kubernetes),
        ("JSON", Self::Json),
        ("HTTP", Self::Http),
        ("Envoy", Self::Envoy),
    ];
}

/// A PolicyException.
#[derive(Debug, Clone)]
pub(super) struct PolicyExceptionSource {
    /// `namespace/name`, or the name alone.
    pub(super) key: Text,
    /// Name and kind of the policies.
    pub(super) policies: Vec<(Located<Text>, Text)>,
    pub(super) conditions: Vec<NamedExpression>,
    /// The values that the policy's expressions may allow; without both lists the whole policy is skipped.
    pub(super) images: Vec<Text>,
    pub(super) values: Vec<Text>,
    /// Whether an exempt object counts as passed.
    pub(super) is_pass: bool,
    /// The highest priority decides the report.
    pub(super) priority: i64,
    /// When it ends, as it is written.
    pub(super) expires: Option<Located<Text>>,
}

/// The fields that all policies have that judge requests.
pub(crate) const VALIDATING_POLICY_FIELDS: [&str; 10] = [
    "matchConstraints",
    "validations",
    "failurePolicy",
    "auditAnnotations",
    "matchConditions",
    "variables",
    "autogen",
    "validationActions",
    "webhookConfiguration",
    "evaluation",
];

/// Reads a policy; unreadable fields are reported.
pub(super) fn read_validating_policy(
    document: &Document,
) -> (Option<(CelPolicySource, ValidatingPolicySettings)>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_validating_policy_fields)
}

fn read_validating_policy_fields(
    reader: &mut DocumentReader<'_>,
) -> Option<(CelPolicySource, ValidatingPolicySettings)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, &VALIDATING_POLICY_FIELDS);
    if let Some(webhook) = reader.object(&spec, "webhookConfiguration") {
        reader.only(&webhook, &["timeoutSeconds"]);
    }
    let settings = read_validating_policy_settings(reader, &spec);
    let is_namespaced = crate::text_field(reader.document, "kind").starts_with("Namespaced");
    let namespace = reader.string(&metadata, "namespace").map(|text| text.value);
    let namespace = match (is_namespaced, namespace) {
        (false, _) => None,
        (true, namespace) => Some(namespace.unwrap_or_else(|| Text::new("default"))),
    };
    Some((CelPolicySource { namespace, ..read_common_fields(reader, &metadata, &spec)? }, settings))
}

pub(crate) fn read_validating_policy_settings<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> ValidatingPolicySettings {
    let mut settings = ValidatingPolicySettings {
        mode: EvaluationTarget::Kubernetes,
        actions: read_validation_actions(reader, spec)
            .unwrap_or(ValidationActions { denies: true, warns: false }),
        is_admission: true,
        is_background: true,
        controllers: read_controllers(reader, spec),
        asks_for_native: reader
            .document
            .value
            .at(&["spec", "autogen", "validatingAdmissionPolicy", "enabled"])
            .and_then(Value::as_bool)
            .unwrap_or_default(),
    };
    let Some(evaluation) = reader.object(spec, "evaluation") else { return settings };
    reader.only(&evaluation, &["mode", "admission", "background"]);
    if let Some(mode) = reader.string(&evaluation, "mode").filter(|mode| !mode.value.is_empty()) {
        settings.mode =
            reader.one_of(&mode, "evaluation mode", &EvaluationTarget::ALL).unwrap_or(settings.mode);
    }
    settings.is_admission = read_enabled(reader, &evaluation, "admission");
    settings.is_background = read_enabled(reader, &evaluation, "background");
    settings
}

/// A missing field means enabled.
pub(crate) fn read_enabled<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> bool {
    let Some(fields) = reader.object(fields, key) else { return true };
    reader.only(&fields, &["enabled"]);
    reader.boolean(&fields, "enabled").unwrap_or(true)
}

fn read_controllers<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Option<Vec<Located<Text>>> {
    let autogen = reader.object(spec, "autogen")?;
    reader.only(&autogen, &["podControllers", "validatingAdmissionPolicy"]);
    read_enabled(reader, &autogen, "validatingAdmissionPolicy");
    let controllers = reader.object(&autogen, "podControllers")?;
    reader.only(&controllers, &["controllers"]);
    reader.strings(&controllers, "controllers")
}
