//! A ValidatingAdmissionPolicy, its Bindings, a ValidatingPolicy or its exceptions as they are written, field by field.

mod constraints;
mod exception;
mod vap;
mod vpol;

pub(super) use exception::read as read_exception;
pub(super) use vap::{read as read_vap, read_binding};
pub(super) use vpol::read as read_vpol;

use kubewright_k8s::{GroupVersionKind, Operations};
use kubewright_value::{Step, Text};

use super::diagnostics as code;
use crate::cel::source::{NamedExpression, ParamRef, Validation};
use crate::fields::{FieldCodes, Placed};
use crate::selector::Selector;

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
pub(super) enum Mode {
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

/// What a violation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Actions {
    /// The request is refused.
    pub(super) denies: bool,
    /// The one who asks is warned.
    pub(super) warns: bool,
}

/// Where a policy of the API server holds.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub(super) name: Text,
    pub(super) policy: Placed<Text>,
    pub(super) constraints: Option<Constraints>,
    pub(super) params: Option<ParamRef>,
    pub(super) actions: Actions,
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

/// What can be wrong with any field.
const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};
