//! A ClusterPolicy, Policy or PolicyException as it is written, field by field.
//!
//! A rule that cannot be read is left out and remembered as [`Broken`]; its neighbours stay.

mod cel;
mod context;
mod exception;
mod filter;
pub(super) mod manifests;
mod pod_security;
mod policy;
mod rule;

pub(super) use exception::read as read_exception;
pub(super) use policy::read;

use kubewright_engine::{GroupVersionKind, Operation};
use kubewright_value::{Step, Text, Value};

use super::diagnostics as code;
use super::pod_security::{Control, Level, Version};
use crate::cel::source::{NamedExpression, ParamRef, Validation};
use crate::fields::{FieldCodes, Placed};
use crate::selector::Selector;
pub(super) use crate::workload::Workload;

/// A policy.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(super) name: Placed<Text>,
    /// Of a `Policy`, which is in `default` when it does not say where; a `ClusterPolicy` has none.
    pub(super) namespace: Option<Text>,
    pub(super) settings: Settings,
    pub(super) annotations: Annotations,
    pub(super) rules: Vec<Rule>,
    /// The rules that have an error, in the order in which they stand.
    pub(super) broken: Vec<Broken>,
}

/// A rule that cannot run.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    /// May be empty: a rule without a name cannot run either.
    pub(super) name: Text,
    /// Where the rule stands in the document.
    pub(super) path: Vec<Step>,
    /// What it is about, where that could be read.
    pub(super) matching: Option<Match>,
    pub(super) exclude: Option<Match>,
    /// The first error, as in its diagnostic.
    pub(super) message: String,
    /// The whole rule, where it could be read and its mistake is of another sort.
    pub(super) rule: Option<Box<Rule>>,
}

/// What the annotations of a policy say.
#[derive(Debug, Clone, Default)]
pub(super) struct Annotations {
    /// `policies.kyverno.io/severity`
    pub(super) severity: Text,
    /// `policies.kyverno.io/category`
    pub(super) category: Text,
    /// `policies.kyverno.io/scored` is not `"false"`.
    pub(super) is_scored: bool,
    /// `pod-policies.kyverno.io/autogen-controllers`
    pub(super) autogen_controllers: Option<Placed<Text>>,
}

/// What holds for all rules of a policy.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// `validationFailureAction`
    pub(super) failure_action: Action,
    /// `validationFailureActionOverrides`
    pub(super) failure_action_overrides: Vec<ActionOverride>,
    /// `failurePolicy` is not `Ignore`.
    pub(super) is_fail_closed: bool,
    /// `background`
    pub(super) is_background: bool,
    /// `admission`
    pub(super) is_admission: bool,
    /// `emitWarning`
    pub(super) emits_warning: bool,
    /// `applyRules` is `One`.
    pub(super) applies_one_rule: bool,
    /// Its status says that it became a ValidatingAdmissionPolicy, which checks in its place.
    pub(super) is_generated: bool,
    /// `webhookConfiguration.matchConditions`
    pub(super) match_conditions: Vec<NamedExpression>,
}

/// What a violation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Action {
    /// It is reported.
    #[default]
    Audit,
    /// The request is refused.
    Enforce,
}

/// Another action for some namespaces.
#[derive(Debug, Clone)]
pub(super) struct ActionOverride {
    pub(super) path: Vec<Step>,
    pub(super) action: Action,
    /// Wildcards; none means any namespace.
    pub(super) namespaces: Vec<Text>,
    pub(super) namespace_selector: Option<Selector>,
}

/// A rule of a policy.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) name: Placed<Text>,
    /// Where the rule stands in the document.
    pub(super) path: Vec<Step>,
    pub(super) matching: Match,
    pub(super) exclude: Option<Match>,
    pub(super) context: Vec<ContextEntry>,
    /// As it is written: `{any, all}` or a list.
    pub(super) preconditions: Option<Placed<Value>>,
    pub(super) cel_preconditions: Vec<NamedExpression>,
    pub(super) report_properties: Vec<(Text, Text)>,
    pub(super) skips_background_requests: bool,
    /// What in it keeps the whole policy from being rewritten for controllers: `generate`, `mutate.patchesJson6902`.
    pub(super) stops_autogen: Option<&'static str>,
    pub(super) validate: Validate,
}

impl Rule {
    /// Returns what stays of a rule that has an error.
    pub(super) fn broken(self, message: String) -> Broken {
        Broken {
            name: self.name.value.clone(),
            path: self.path.clone(),
            matching: Some(self.matching.clone()),
            exclude: self.exclude.clone(),
            message,
            rule: Some(Box::new(self)),
        }
    }
}

/// What a rule checks.
#[derive(Debug, Clone)]
pub(super) struct Validate {
    /// Where `validate` stands; where the rule stands for rules of other types.
    pub(super) path: Vec<Step>,
    pub(super) message: Option<Placed<Text>>,
    pub(super) failure_action: Option<Action>,
    pub(super) failure_action_overrides: Vec<ActionOverride>,
    pub(super) allows_existing_violations: bool,
    pub(super) method: Method,
}

/// How a rule checks. Values are as they are written, with variables in them.
#[derive(Debug, Clone)]
pub(super) enum Method {
    Pattern(Placed<Value>),
    /// A list of patterns.
    AnyPattern(Placed<Value>),
    /// The conditions; without any, everything is denied.
    Deny(Option<Placed<Value>>),
    Foreach(Vec<Foreach>),
    Cel(Box<Cel>),
    PodSecurity(PodSecurity),
    Manifests(Box<manifests::Manifests>),
    /// What is not supported yet, in the author's words: `mutate` and so on.
    Unsupported {
        field: &'static str,
    },
}

/// What is checked in CEL.
#[derive(Debug, Clone)]
pub(super) struct Cel {
    pub(super) path: Vec<Step>,
    pub(super) expressions: Vec<Validation>,
    pub(super) variables: Vec<NamedExpression>,
    pub(super) audit_annotations: Vec<NamedExpression>,
    pub(super) params: Option<(GroupVersionKind, ParamRef)>,
    /// `generate`, where it is said.
    pub(super) is_generating: Option<bool>,
}

/// The Pod Security Standards that an object must meet.
#[derive(Debug, Clone)]
pub(super) struct PodSecurity {
    pub(super) path: Vec<Step>,
    pub(super) level: Level,
    pub(super) version: Version,
    /// As it is written; may be empty.
    pub(super) version_text: Text,
    pub(super) exclude: Vec<Exclusion>,
}

/// A control that is not checked, or not everywhere.
#[derive(Debug, Clone)]
pub(super) struct Exclusion {
    pub(super) path: Vec<Step>,
    pub(super) control: Control,
    /// Wildcards.
    pub(super) images: Vec<Text>,
    pub(super) restricted_field: Option<Placed<Text>>,
    /// Wildcards.
    pub(super) values: Vec<Text>,
}

/// One loop of a `foreach`.
#[derive(Debug, Clone)]
pub(super) struct Foreach {
    pub(super) path: Vec<Step>,
    /// JMESPath, without braces.
    pub(super) list: Placed<Text>,
    pub(super) element_scope: Option<bool>,
    pub(super) context: Vec<ContextEntry>,
    pub(super) preconditions: Option<Placed<Value>>,
    /// Never `Unsupported`.
    pub(super) method: Method,
}

/// Which objects a rule is about, or is not.
#[derive(Debug, Clone, Default)]
pub(super) struct Match {
    pub(super) any: Vec<Filter>,
    pub(super) all: Vec<Filter>,
    /// The older form without `any` and `all`.
    pub(super) flat: Option<Filter>,
    pub(super) path: Vec<Step>,
}

/// Everything that one entry of a `match` asks for; all of it must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    pub(super) path: Vec<Step>,
    pub(super) kinds: Vec<Placed<Text>>,
    pub(super) name: Option<Placed<Text>>,
    pub(super) names: Vec<Placed<Text>>,
    pub(super) namespaces: Vec<Placed<Text>>,
    /// Empty means every operation.
    pub(super) operations: Vec<Operation>,
    pub(super) annotations: Vec<(Text, Text)>,
    pub(super) selector: Option<Selector>,
    pub(super) namespace_selector: Option<Selector>,
    pub(super) subjects: Vec<Subject>,
    pub(super) roles: Vec<Text>,
    pub(super) cluster_roles: Vec<Text>,
}

/// Who asks.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) kind: SubjectKind,
    pub(super) name: Text,
    pub(super) namespace: Text,
}

/// What sort of one who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubjectKind {
    User,
    Group,
    ServiceAccount,
}

/// A name that a rule gives to something it looks up.
#[derive(Debug, Clone)]
pub(super) struct ContextEntry {
    pub(super) name: Placed<Text>,
    pub(super) path: Vec<Step>,
    pub(super) from: ContextSource,
}

/// Where the value of a context entry comes from. Values and texts have variables in them.
#[derive(Debug, Clone)]
pub(super) enum ContextSource {
    Variable {
        value: Option<Placed<Value>>,
        jmes_path: Option<Placed<Text>>,
        default: Option<Placed<Value>>,
    },
    ConfigMap {
        name: Placed<Text>,
        namespace: Option<Placed<Text>>,
    },
    ApiCall {
        /// `urlPath`
        url_path: Option<Placed<Text>>,
        /// `service.url`
        service_url: Option<Placed<Text>>,
        method: Text,
        data: Vec<(Text, Placed<Value>)>,
        jmes_path: Option<Placed<Text>>,
        default: Option<Placed<Value>>,
    },
    ImageRegistry {
        reference: Placed<Text>,
        jmes_path: Option<Placed<Text>>,
    },
    GlobalReference {
        name: Placed<Text>,
        jmes_path: Option<Placed<Text>>,
    },
}

/// A `PolicyException`.
#[derive(Debug, Clone)]
pub(super) struct Exception {
    /// `namespace/name`
    pub(super) key: Text,
    pub(super) path: Vec<Step>,
    /// Policy (`name` or `namespace/name`) and the wildcards of its rules.
    pub(super) policies: Vec<(Text, Vec<Text>)>,
    pub(super) matching: Match,
    /// As it is written.
    pub(super) conditions: Option<Placed<Value>>,
    /// The Pod Security controls that it excludes; without any, it excuses the whole rule.
    pub(super) pod_security: Vec<Exclusion>,
    pub(super) is_background: bool,
}

/// What can be wrong with any field.
const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};

/// Returns a value that outlives its document.
fn owned(found: Placed<&Value>) -> Placed<Value> {
    Placed { value: found.value.clone(), path: found.path }
}

#[cfg(test)]
mod tests;
