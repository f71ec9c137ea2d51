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
mod recovery;
mod rule;

pub(super) use exception::read as read_exception;
pub(crate) use policy::read;

use kubewright_k8s::{GroupVersionKind, Operation};
use kubewright_value::{Step, Text, Value};

use super::diagnostics as code;
use super::pod_security::{Control, Level, Version};
use crate::cel::source::{NamedExpression, ParamRef, Validation};
use crate::fields::{FieldCodes, Placed};
use crate::selector::Selector;
pub(super) use crate::workload::Workload;

/// A policy.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) name: Placed<Text>,
    /// Of a `Policy`, which is in `default` when it does not say where; a `ClusterPolicy` has none.
    pub(crate) namespace: Option<Text>,
    pub(crate) settings: Settings,
    pub(crate) annotations: Annotations,
    pub(crate) rules: Vec<Rule>,
    /// The rules that have an error, in the order in which they stand.
    pub(crate) broken: Vec<Broken>,
}

/// A rule that cannot run.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    /// May be empty: a rule without a name cannot run either.
    pub(crate) name: Text,
    /// Where the rule stands in the document.
    pub(crate) path: Vec<Step>,
    /// What it is about, where that could be read.
    pub(crate) matching: Option<Match>,
    pub(crate) exclude: Option<Match>,
    /// What a violation of it would lead to, as far as that could be read.
    pub(crate) failure_action: Option<Action>,
    pub(crate) failure_action_overrides: Vec<ActionOverride>,
    /// Whether it is of a type that is not supported yet, which refuses nobody.
    pub(crate) is_unsupported: bool,
    /// The first error, as in its diagnostic.
    pub(crate) message: String,
    /// The whole rule, where it could be read and its mistake is of another sort.
    pub(crate) rule: Option<Box<Rule>>,
}

/// What the annotations of a policy say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Annotations {
    /// `policies.kyverno.io/severity`
    pub(crate) severity: Text,
    /// `policies.kyverno.io/category`
    pub(crate) category: Text,
    /// `policies.kyverno.io/scored` is not `"false"`.
    pub(crate) is_scored: bool,
    /// `pod-policies.kyverno.io/autogen-controllers`
    pub(crate) autogen_controllers: Option<Placed<Text>>,
}

/// What holds for all rules of a policy.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// `validationFailureAction`
    pub(crate) failure_action: Action,
    /// `validationFailureActionOverrides`
    pub(crate) failure_action_overrides: Vec<ActionOverride>,
    /// `failurePolicy` is not `Ignore`.
    pub(crate) is_fail_closed: bool,
    /// `background`
    pub(crate) is_background: bool,
    /// `admission`
    pub(crate) is_admission: bool,
    /// `emitWarning`
    pub(crate) emits_warning: bool,
    /// `applyRules` is `One`.
    pub(crate) applies_one_rule: bool,
    /// Its status says that it became a ValidatingAdmissionPolicy, which checks in its place.
    pub(crate) is_generated: bool,
    /// `webhookConfiguration.matchConditions`
    pub(crate) match_conditions: Vec<NamedExpression>,
}

/// What a violation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Action {
    /// It is reported.
    #[default]
    Audit,
    /// The request is refused.
    Enforce,
}

/// Another action for some namespaces.
#[derive(Debug, Clone)]
pub(crate) struct ActionOverride {
    pub(crate) path: Vec<Step>,
    pub(crate) action: Action,
    /// Wildcards; none means any namespace.
    pub(crate) namespaces: Vec<Text>,
    pub(crate) namespace_selector: Option<Selector>,
}

/// A rule of a policy.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: Placed<Text>,
    /// Where the rule stands in the document.
    pub(crate) path: Vec<Step>,
    pub(crate) matching: Match,
    pub(crate) exclude: Option<Match>,
    pub(crate) context: Vec<ContextEntry>,
    /// As it is written: `{any, all}` or a list.
    pub(crate) preconditions: Option<Placed<Value>>,
    pub(crate) cel_preconditions: Vec<NamedExpression>,
    pub(crate) report_properties: Vec<(Text, Text)>,
    pub(crate) skips_background_requests: bool,
    /// What in it keeps the whole policy from being rewritten for controllers: `generate`, `mutate.patchesJson6902`.
    pub(crate) stops_autogen: Option<&'static str>,
    pub(crate) validate: Validate,
}

impl Rule {
    /// Returns what stays of a rule that has an error.
    pub(crate) fn broken(self, message: String) -> Broken {
        Broken {
            name: self.name.value.clone(),
            path: self.path.clone(),
            matching: recovery::with_kinds(self.matching.clone()),
            exclude: self.exclude.clone(),
            failure_action: self.validate.failure_action,
            failure_action_overrides: self.validate.failure_action_overrides.clone(),
            is_unsupported: matches!(self.validate.method, Method::Unsupported { .. }),
            message,
            rule: Some(Box::new(self)),
        }
    }
}

/// What a rule checks.
#[derive(Debug, Clone)]
pub(crate) struct Validate {
    /// Where `validate` stands; where the rule stands for rules of other types.
    pub(crate) path: Vec<Step>,
    pub(crate) message: Option<Placed<Text>>,
    pub(crate) failure_action: Option<Action>,
    pub(crate) failure_action_overrides: Vec<ActionOverride>,
    pub(crate) allows_existing_violations: bool,
    pub(crate) method: Method,
}

/// How a rule checks. Values are as they are written, with variables in them.
#[derive(Debug, Clone)]
pub(crate) enum Method {
    Pattern(Placed<Value>),
    /// A list of patterns.
    AnyPattern(Placed<Value>),
    /// The conditions; without any, everything is denied.
    Deny(Option<Placed<Value>>),
    Foreach(Vec<Foreach>),
    /// A check of the whole object and `foreach` beside it: both must hold.
    Both(Box<[Self; 2]>),
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
pub(crate) struct Cel {
    pub(crate) path: Vec<Step>,
    pub(crate) expressions: Vec<Validation>,
    pub(crate) variables: Vec<NamedExpression>,
    pub(crate) audit_annotations: Vec<NamedExpression>,
    pub(crate) params: Option<(GroupVersionKind, ParamRef)>,
    /// Whether the API server should enforce it itself, as a ValidatingAdmissionPolicy.
    pub(crate) generates: bool,
}

/// The Pod Security Standards that an object must meet.
#[derive(Debug, Clone)]
pub(crate) struct PodSecurity {
    pub(crate) path: Vec<Step>,
    pub(super) level: Level,
    pub(super) version: Version,
    /// As it is written; may be empty.
    pub(crate) version_text: Text,
    pub(crate) exclude: Vec<Exclusion>,
}

/// A control that is not checked, or not everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Exclusion {
    pub(crate) path: Vec<Step>,
    pub(super) control: Control,
    /// Wildcards.
    pub(crate) images: Vec<Text>,
    pub(crate) restricted_field: Option<Placed<Text>>,
    /// Wildcards.
    pub(crate) values: Vec<Text>,
}

/// One loop of a `foreach`.
#[derive(Debug, Clone)]
pub(crate) struct Foreach {
    pub(crate) path: Vec<Step>,
    /// JMESPath, without braces.
    pub(crate) list: Placed<Text>,
    pub(crate) element_scope: Option<bool>,
    pub(crate) context: Vec<ContextEntry>,
    pub(crate) preconditions: Option<Placed<Value>>,
    /// Never `Unsupported`.
    pub(crate) method: Method,
}

/// Which objects a rule is about, or is not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Match {
    pub(crate) any: Vec<Filter>,
    pub(crate) all: Vec<Filter>,
    /// The older form without `any` and `all`.
    pub(crate) flat: Option<Filter>,
    pub(crate) path: Vec<Step>,
}

/// Everything that one entry of a `match` asks for; all of it must hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) path: Vec<Step>,
    pub(crate) kinds: Vec<Placed<Text>>,
    pub(crate) name: Option<Placed<Text>>,
    pub(crate) names: Vec<Placed<Text>>,
    pub(crate) namespaces: Vec<Placed<Text>>,
    /// Empty means every operation.
    pub(crate) operations: Vec<Operation>,
    pub(crate) annotations: Vec<(Text, Text)>,
    pub(crate) selector: Option<Selector>,
    pub(crate) namespace_selector: Option<Selector>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) roles: Vec<Text>,
    pub(crate) cluster_roles: Vec<Text>,
    /// Whether anything in it could not be read.
    pub(crate) is_faulty: bool,
}

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) kind: SubjectKind,
    pub(crate) name: Text,
    pub(crate) namespace: Text,
}

/// What sort of one who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    User,
    Group,
    ServiceAccount,
}

/// A name that a rule gives to something it looks up.
#[derive(Debug, Clone)]
pub(crate) struct ContextEntry {
    pub(crate) name: Placed<Text>,
    pub(crate) path: Vec<Step>,
    pub(crate) from: ContextSource,
}

/// A service that is called.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) url: Placed<Text>,
    pub(crate) headers: Vec<(Text, Placed<Value>)>,
    pub(crate) ca_bundle: Text,
}

/// By what right a registry is asked: `imageRegistryCredentials`.
#[derive(Debug, Clone, Default)]
pub(crate) struct RegistryCredentials {
    /// The names of pull secrets.
    pub(crate) secrets: Vec<Text>,
    /// `allowInsecureRegistry`
    pub(crate) is_insecure: bool,
}

/// Where the value of a context entry comes from. Values and texts have variables in them.
#[derive(Debug, Clone)]
pub(crate) enum ContextSource {
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
        service: Option<Service>,
        method: Text,
        data: Vec<(Text, Placed<Value>)>,
        jmes_path: Option<Placed<Text>>,
        default: Option<Placed<Value>>,
    },
    ImageRegistry {
        reference: Placed<Text>,
        credentials: RegistryCredentials,
        jmes_path: Option<Placed<Text>>,
    },
    GlobalReference {
        name: Placed<Text>,
        jmes_path: Option<Placed<Text>>,
    },
}

/// A `PolicyException`.
#[derive(Debug, Clone)]
pub(crate) struct Exception {
    /// `namespace/name`
    pub(crate) key: Text,
    pub(crate) path: Vec<Step>,
    /// Policy (`name` or `namespace/name`) and the wildcards of its rules.
    pub(crate) policies: Vec<(Text, Vec<Text>)>,
    pub(crate) matching: Match,
    /// As it is written.
    pub(crate) conditions: Option<Placed<Value>>,
    /// The Pod Security controls that it excludes; without any, it excuses the whole rule.
    pub(crate) pod_security: Vec<Exclusion>,
    pub(crate) is_background: bool,
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
