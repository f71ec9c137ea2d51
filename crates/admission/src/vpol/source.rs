//! ValidatingPolicy and NamespacedValidatingPolicy as they are written, field by field.

mod exception;

pub(super) use exception::read as read_exception;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use crate::source::{Actions, FIELD_CODES, Policy, actions, common};
use kubewright_cel_rules::source::NamedExpression;
use kubewright_dialect_kit::fields::{Fields, Placed, Reader};

/// What a ValidatingPolicy says besides.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) actions: Actions,
    pub(super) is_admission: bool,
    pub(super) is_background: bool,
    /// `autogen.podControllers.controllers`, where it is said.
    pub(super) controllers: Option<Vec<Placed<Text>>>,
}

/// What a policy is evaluated on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Objects of Kubernetes.
    Kubernetes,
    /// Any JSON.
    Json,
    /// Requests over HTTP.
    Http,
    /// Requests that Envoy asks about.
    Envoy,
}

impl Mode {
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("Kubernetes", Self::Kubernetes),
        ("JSON", Self::Json),
        ("HTTP", Self::Http),
        ("Envoy", Self::Envoy),
    ];
}

/// A PolicyException.
#[derive(Debug, Clone)]
pub(super) struct Exception {
    /// `namespace/name`, or the name alone.
    pub(super) key: Text,
    /// Name and kind of the policies.
    pub(super) policies: Vec<(Placed<Text>, Text)>,
    pub(super) conditions: Vec<NamedExpression>,
    /// What the expressions of the policy may take as allowed; without both lists the whole policy is excused.
    pub(super) images: Vec<Text>,
    pub(super) values: Vec<Text>,
    /// Whether what is excused counts as passed.
    pub(super) is_pass: bool,
    /// Higher ones decide what is reported.
    pub(super) priority: i64,
    /// When it ends, as it is written.
    pub(super) expires: Option<Placed<Text>>,
}

/// Reads a policy; what cannot be read is reported.
pub(super) fn read(document: &Document) -> (Option<(Policy, Settings)>, Vec<Diagnostic>) {
    let mut reader = Reader::new(document, FIELD_CODES);
    let policy = policy(&mut reader);
    (policy, reader.diagnostics)
}

fn policy(reader: &mut Reader<'_>) -> Option<(Policy, Settings)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(
        &spec,
        &[
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
        ],
    );
    if let Some(webhook) = reader.object(&spec, "webhookConfiguration") {
        reader.only(&webhook, &["timeoutSeconds"]);
    }
    let settings = settings(reader, &spec);
    let is_namespaced = crate::field(reader.document, "kind").starts_with("Namespaced");
    let namespace = reader.string(&metadata, "namespace").map(|text| text.value);
    let namespace = match (is_namespaced, namespace) {
        (false, _) => None,
        (true, namespace) => Some(namespace.unwrap_or_else(|| Text::new("default"))),
    };
    Some((Policy { namespace, ..common(reader, &metadata, &spec)? }, settings))
}

fn settings<'d>(reader: &mut Reader<'d>, spec: &Fields<'d>) -> Settings {
    let mut settings = Settings {
        mode: Mode::Kubernetes,
        actions: actions(reader, spec).unwrap_or(Actions { denies: true, warns: false }),
        is_admission: true,
        is_background: true,
        controllers: controllers(reader, spec),
    };
    let Some(evaluation) = reader.object(spec, "evaluation") else { return settings };
    reader.only(&evaluation, &["mode", "admission", "background"]);
    if let Some(mode) = reader.string(&evaluation, "mode").filter(|mode| !mode.value.is_empty()) {
        settings.mode = reader.one_of(&mode, "evaluation mode", &Mode::ALL).unwrap_or(settings.mode);
    }
    settings.is_admission = is_enabled(reader, &evaluation, "admission");
    settings.is_background = is_enabled(reader, &evaluation, "background");
    settings
}

/// What is not said is enabled.
fn is_enabled<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> bool {
    let Some(fields) = reader.object(fields, key) else { return true };
    reader.only(&fields, &["enabled"]);
    reader.boolean(&fields, "enabled").unwrap_or(true)
}

fn controllers<'d>(reader: &mut Reader<'d>, spec: &Fields<'d>) -> Option<Vec<Placed<Text>>> {
    let autogen = reader.object(spec, "autogen")?;
    reader.only(&autogen, &["podControllers", "validatingAdmissionPolicy"]);
    is_enabled(reader, &autogen, "validatingAdmissionPolicy");
    let controllers = reader.object(&autogen, "podControllers")?;
    reader.only(&controllers, &["controllers"]);
    reader.strings(&controllers, "controllers")
}
