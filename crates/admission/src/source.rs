//! The common fields of ValidatingAdmissionPolicies and ValidatingPolicies, as they are written.

pub(super) mod constraints;

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_k8s::{GroupVersionKind, Operations};
use kubewright_value::{Location, Step, Text};

use super::diagnostics as code;
use kubewright_cel_rules::source::{
    NamedExpression, ValidationSource, read_audit_annotations, read_named_expressions, read_validations,
};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, FieldCodes, Located};
use kubewright_dialect_kit::selector::SelectorSource;

/// The common fields of a policy.
#[derive(Debug, Clone)]
pub(super) struct CelPolicySource {
    pub(super) name: Located<Text>,
    /// The namespace of a namespaced policy, which matches only that namespace.
    pub(super) namespace: Option<Text>,
    pub(super) severity: Text,
    pub(super) category: Text,
    /// `policies.kyverno.io/scored` is not `"false"`.
    pub(super) is_scored: bool,
    /// `None` where the policy has no constraints.
    pub(super) constraints: Option<ConstraintsSource>,
    pub(super) conditions: Vec<NamedExpression>,
    pub(super) variables: Vec<NamedExpression>,
    pub(super) validations: Vec<ValidationSource>,
    pub(super) annotations: Vec<NamedExpression>,
    /// `failurePolicy` is not `Ignore`.
    pub(super) is_fail_closed: bool,
    pub(super) param_kind: Option<GroupVersionKind>,
    pub(super) path: Vec<Step>,
}

/// The actions on a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ValidationActions {
    /// The request is refused.
    pub(super) denies: bool,
    /// The requester gets a warning.
    pub(super) warns: bool,
}

/// Which requests: `matchConstraints`, `matchResources`.
#[derive(Debug, Clone, Default)]
pub(super) struct ConstraintsSource {
    pub(super) path: Vec<Step>,
    pub(super) rules: Vec<ResourceRule>,
    pub(super) exclude: Vec<ResourceRule>,
    pub(super) namespace_selector: Option<SelectorSource>,
    pub(super) object_selector: Option<SelectorSource>,
    /// Nothing for constraints that are not read from a document.
    pub(super) places: Option<Arc<ConstraintPlaces>>,
}

/// Where the parts of constraints are written.
#[derive(Debug)]
pub(super) struct ConstraintPlaces {
    pub(super) rules: Location,
    pub(super) exclude: Location,
    pub(super) namespaces: Location,
    pub(super) objects: Location,
}

/// One of the `resourceRules`.
#[derive(Debug, Clone, Default)]
pub(super) struct ResourceRule {
    pub(super) path: Vec<Step>,
    pub(super) groups: Vec<Text>,
    pub(super) versions: Vec<Text>,
    /// `pods`, `pods/status`, `*`, `*/*`, `*/scale`, `pods/*`
    pub(super) resources: Vec<Located<Text>>,
    pub(super) operations: Operations,
    /// Empty for any name.
    pub(super) names: Vec<Text>,
    /// Whether only objects in namespaces, or only others.
    pub(super) is_namespaced: Option<bool>,
}

/// The diagnostics that any field can have.
pub(super) const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};

/// Reads the fields that all policies have.
pub(super) fn read_common_fields<'d>(
    reader: &mut DocumentReader<'d>,
    metadata: &DocumentFields<'d>,
    spec: &DocumentFields<'d>,
) -> Option<CelPolicySource> {
    let is_fail_closed = reader
        .string(spec, "failurePolicy")
        .and_then(|text| reader.one_of(&text, "failurePolicy", &[("Fail", true), ("Ignore", false)]));
    let about = reader.texts(metadata, "annotations").unwrap_or_default();
    let annotation = |name: &str| -> Text {
        let found = about.iter().find(|(key, _)| key.strip_prefix("policies.kyverno.io/") == Some(name));
        found.map(|(_, text)| text.value.clone()).unwrap_or_default()
    };
    let policy = CelPolicySource {
        namespace: None,
        severity: annotation("severity"),
        category: annotation("category"),
        is_scored: annotation("scored") != "false",
        constraints: constraints::read_constraints(reader, spec, "matchConstraints"),
        conditions: read_named_expressions(reader, spec, "matchConditions"),
        variables: read_named_expressions(reader, spec, "variables"),
        validations: read_validations(reader, spec, "validations"),
        annotations: read_audit_annotations(reader, spec),
        is_fail_closed: is_fail_closed.unwrap_or(true),
        param_kind: None,
        path: spec.path.clone(),
        name: Located { value: Text::default(), path: Vec::new() },
    };
    Some(CelPolicySource { name: reader.filled(metadata, "name")?, ..policy })
}

/// Returns the namespace of a namespaced policy, `default` unless given.
pub(super) fn read_home<'d>(reader: &mut DocumentReader<'d>, metadata: &DocumentFields<'d>) -> Option<Text> {
    let is_namespaced = crate::text_field(reader.document, "kind").starts_with("Namespaced");
    let namespace = reader.string(metadata, "namespace").map(|text| text.value);
    is_namespaced.then(|| namespace.unwrap_or_else(|| Text::new("default")))
}

/// Reads `validationActions`; nothing where there are none.
pub(super) fn read_validation_actions<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Option<ValidationActions> {
    let texts = reader.strings(spec, "validationActions")?;
    let (deny, warn) =
        (ValidationActions { denies: true, warns: false }, ValidationActions { denies: false, warns: true });
    let words = [("Deny", deny), ("Warn", warn), ("Audit", ValidationActions::default())];
    let found: Vec<ValidationActions> =
        texts.iter().filter_map(|text| reader.one_of(text, "validation action", &words)).collect();
    let mut known = HashSet::new();
    if let Some(text) = texts.iter().find(|text| !known.insert(&text.value)) {
        let message = format!("`{}` is there twice", text.value);
        let location = reader.place(&text.path);
        reader.report(Diagnostic::new(&code::BAD_ACTIONS, message, location).help("leave out one"));
    }
    (!texts.is_empty()).then(|| ValidationActions {
        denies: found.iter().any(|one| one.denies),
        warns: found.iter().any(|one| one.warns),
    })
}
