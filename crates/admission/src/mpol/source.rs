//! MutatingPolicies as they are written, field by field.

use kubewright_cel_rules::source::{NamedExpression, read_named_expressions};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};
use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use crate::mutate::source::{MutationSource, read_mutations, read_reinvocation};
use crate::source::{CelPolicySource, ConstraintsSource, FIELD_CODES, constraints, read_common_fields};
use crate::vpol::EvaluationTarget;
use crate::vpol::source::read_enabled;

/// The settings that only a MutatingPolicy has.
#[derive(Debug, Clone)]
pub(super) struct MutatingPolicySettings {
    pub(super) mode: EvaluationTarget,
    pub(super) mutations: Vec<MutationSource>,
    pub(super) is_admission: bool,
    pub(super) is_background: bool,
    /// `evaluation.mutateExisting.enabled`
    pub(super) changes_existing: bool,
    /// `evaluation.useServerSideApply`
    pub(super) replaces_atomics: bool,
    pub(super) targets: Option<TargetSource>,
    pub(super) target_conditions: Vec<NamedExpression>,
    /// `autogen.podControllers.controllers`, if given.
    pub(super) controllers: Option<Vec<Located<Text>>>,
    /// `webhookConfiguration.matchConditions`, which the API server evaluates.
    pub(super) webhook_conditions: Vec<NamedExpression>,
    /// `reinvocationPolicy` is `IfNeeded`.
    pub(super) is_reinvoked: bool,
}

/// `targetMatchConstraints`
#[derive(Debug, Clone)]
pub(super) enum TargetSource {
    Constraints(ConstraintsSource),
    Expression(Located<Text>),
}

/// Reads a policy; unreadable fields are reported.
pub(super) fn read_mutating_policy(
    document: &Document,
) -> (Option<(CelPolicySource, MutatingPolicySettings)>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_policy_fields)
}

fn read_policy_fields(reader: &mut DocumentReader<'_>) -> Option<(CelPolicySource, MutatingPolicySettings)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(
        &spec,
        &[
            "matchConstraints",
            "mutations",
            "failurePolicy",
            "auditAnnotations",
            "matchConditions",
            "variables",
            "autogen",
            "reinvocationPolicy",
            "targetMatchConstraints",
            "targetMatchConditions",
            "webhookConfiguration",
            "evaluation",
        ],
    );
    let is_reinvoked = read_reinvocation(reader, &spec);
    let mut settings = MutatingPolicySettings { is_reinvoked, ..read_settings(reader, &spec) };
    if let Some(webhook) = reader.object(&spec, "webhookConfiguration") {
        reader.only(&webhook, &["timeoutSeconds", "matchConditions"]);
        settings.webhook_conditions = read_named_expressions(reader, &webhook, "matchConditions");
    }
    let is_namespaced = crate::text_field(reader.document, "kind").starts_with("Namespaced");
    let namespace = reader.string(&metadata, "namespace").map(|text| text.value);
    let namespace = is_namespaced.then(|| namespace.unwrap_or_else(|| Text::new("default")));
    Some((CelPolicySource { namespace, ..read_common_fields(reader, &metadata, &spec)? }, settings))
}

fn read_settings<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> MutatingPolicySettings {
    let mut settings = MutatingPolicySettings {
        mode: EvaluationTarget::Kubernetes,
        mutations: read_mutations(reader, spec),
        is_admission: true,
        is_background: true,
        changes_existing: false,
        replaces_atomics: false,
        targets: read_targets(reader, spec),
        target_conditions: read_named_expressions(reader, spec, "targetMatchConditions"),
        controllers: read_controllers(reader, spec),
        webhook_conditions: Vec::new(),
        is_reinvoked: false,
    };
    let Some(evaluation) = reader.object(spec, "evaluation") else { return settings };
    reader.only(
        &evaluation,
        &[
            "mode",
            "admission",
            "background",
            "mutateExisting",
            "skipBackgroundRequests",
            "useServerSideApply",
        ],
    );
    if let Some(mode) = reader.string(&evaluation, "mode").filter(|mode| !mode.value.is_empty()) {
        let words = [("Kubernetes", EvaluationTarget::Kubernetes), ("JSON", EvaluationTarget::Json)];
        settings.mode = reader.one_of(&mode, "evaluation mode", &words).unwrap_or(settings.mode);
    }
    settings.is_admission = read_enabled(reader, &evaluation, "admission");
    settings.is_background = read_enabled(reader, &evaluation, "background");
    settings.changes_existing = reader.object(&evaluation, "mutateExisting").is_some_and(|fields| {
        reader.only(&fields, &["enabled"]);
        reader.boolean(&fields, "enabled").unwrap_or(false)
    });
    reader.boolean(&evaluation, "skipBackgroundRequests");
    settings.replaces_atomics = reader.boolean(&evaluation, "useServerSideApply").unwrap_or(false);
    settings
}

fn read_targets<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Option<TargetSource> {
    let fields = reader.object(spec, "targetMatchConstraints")?;
    if reader.any(&fields, "expression").is_some_and(|found| found.value.as_str() != Some("")) {
        reader.only(&fields, &["expression"]);
        return reader.filled(&fields, "expression").map(TargetSource::Expression);
    }
    constraints::read_constraints(reader, spec, "targetMatchConstraints").map(TargetSource::Constraints)
}

fn read_controllers<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Option<Vec<Located<Text>>> {
    let autogen = reader.object(spec, "autogen")?;
    reader.only(&autogen, &["podControllers", "mutatingAdmissionPolicy"]);
    read_enabled(reader, &autogen, "mutatingAdmissionPolicy");
    let controllers = reader.object(&autogen, "podControllers")?;
    reader.only(&controllers, &["controllers"]);
    reader.strings(&controllers, "controllers")
}
