//! What ValidatingAdmissionPolicies and ValidatingPolicies have in common, as it is written, field by field.

pub(super) mod constraints;

use std::collections::HashSet;

use kubewright_engine::Diagnostic;
use kubewright_k8s::{GroupVersionKind, Operations};
use kubewright_value::{Step, Text};

use super::diagnostics as code;
use kubewright_cel_rules::source::{NamedExpression, Validation, annotations, named, validations};
use kubewright_dialect_kit::fields::{FieldCodes, Fields, Placed, Reader};
use kubewright_dialect_kit::selector::Selector;

/// A policy, in what all of them have in common.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) name: Placed<Text>,
    /// Of a policy in a namespace, which is about that namespace alone.
    pub(super) namespace: Option<Text>,
    pub(super) severity: Text,
    pub(super) category: Text,
    /// `policies.kyverno.io/scored` is not `"false"`.
    pub(super) is_scored: bool,
    /// Nothing where the policy does not say what it is about.
    pub(super) constraints: Option<Constraints>,
    pub(super) conditions: Vec<NamedExpression>,
    pub(super) variables: Vec<NamedExpression>,
    pub(super) validations: Vec<Validation>,
    pub(super) annotations: Vec<NamedExpression>,
    /// `failurePolicy` is not `Ignore`.
    pub(super) is_fail_closed: bool,
    pub(super) param_kind: Option<GroupVersionKind>,
    pub(super) path: Vec<Step>,
}

/// What a violation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Actions {
    /// The request is refused.
    pub(super) denies: bool,
    /// The one who asks is warned.
    pub(super) warns: bool,
}

/// Which requests: `matchConstraints`, `matchResources`.
#[derive(Debug, Clone, Default)]
pub(super) struct Constraints {
    pub(super) path: Vec<Step>,
    pub(super) rules: Vec<ResourceRule>,
    pub(super) exclude: Vec<ResourceRule>,
    pub(super) namespace_selector: Option<Selector>,
    pub(super) object_selector: Option<Selector>,
}

/// One of the `resourceRules`.
#[derive(Debug, Clone, Default)]
pub(super) struct ResourceRule {
    pub(super) path: Vec<Step>,
    pub(super) groups: Vec<Text>,
    pub(super) versions: Vec<Text>,
    /// `pods`, `pods/status`, `*`, `*/*`, `*/scale`, `pods/*`
    pub(super) resources: Vec<Placed<Text>>,
    pub(super) operations: Operations,
    /// Empty for any name.
    pub(super) names: Vec<Text>,
    /// Whether only objects in namespaces, or only others.
    pub(super) is_namespaced: Option<bool>,
}

/// What can be wrong with any field.
pub(super) const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};

/// Reads what all policies have.
pub(super) fn common<'d>(
    reader: &mut Reader<'d>,
    metadata: &Fields<'d>,
    spec: &Fields<'d>,
) -> Option<Policy> {
    let is_fail_closed = reader
        .string(spec, "failurePolicy")
        .and_then(|text| reader.one_of(&text, "failurePolicy", &[("Fail", true), ("Ignore", false)]));
    let about = reader.texts(metadata, "annotations").unwrap_or_default();
    let annotation = |name: &str| -> Text {
        let found = about.iter().find(|(key, _)| key.strip_prefix("policies.kyverno.io/") == Some(name));
        found.map(|(_, text)| text.value.clone()).unwrap_or_default()
    };
    let policy = Policy {
        namespace: None,
        severity: annotation("severity"),
        category: annotation("category"),
        is_scored: annotation("scored") != "false",
        constraints: constraints::read(reader, spec, "matchConstraints"),
        conditions: named(reader, spec, "matchConditions"),
        variables: named(reader, spec, "variables"),
        validations: validations(reader, spec, "validations"),
        annotations: annotations(reader, spec),
        is_fail_closed: is_fail_closed.unwrap_or(true),
        param_kind: None,
        path: spec.path.clone(),
        name: Placed { value: Text::default(), path: Vec::new() },
    };
    Some(Policy { name: reader.filled(metadata, "name")?, ..policy })
}

/// Reads `validationActions`; nothing where there are none.
pub(super) fn actions<'d>(reader: &mut Reader<'d>, spec: &Fields<'d>) -> Option<Actions> {
    let texts = reader.strings(spec, "validationActions")?;
    let (deny, warn) = (Actions { denies: true, warns: false }, Actions { denies: false, warns: true });
    let words = [("Deny", deny), ("Warn", warn), ("Audit", Actions::default())];
    let found: Vec<Actions> =
        texts.iter().filter_map(|text| reader.one_of(text, "validation action", &words)).collect();
    let mut known = HashSet::new();
    if let Some(text) = texts.iter().find(|text| !known.insert(&text.value)) {
        let message = format!("`{}` is there twice", text.value);
        let location = reader.place(&text.path);
        reader.report(Diagnostic::new(&code::BAD_ACTIONS, message, location).help("leave out one"));
    }
    (!texts.is_empty()).then(|| Actions {
        denies: found.iter().any(|one| one.denies),
        warns: found.iter().any(|one| one.warns),
    })
}
