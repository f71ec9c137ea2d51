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

pub(super) use exception::read_exception;
pub use policy::read_policy_document;

use kubewright_k8s::{GroupVersionKind, Operation};
use kubewright_value::{Step, Text, Value};

use super::diagnostics as code;
use super::pod_security::{Control, PodSecurityLevel, StandardsVersion};
use kubewright_cel_rules::source::{NamedExpression, ParamRef, Validation};
use kubewright_dialect_kit::fields::{FieldCodes, Placed};
use kubewright_dialect_kit::selector::Selector;
pub(super) use kubewright_dialect_kit::workload::Workload;

/// A policy.
#[derive(Debug, Clone)]
pub struct PolicySource {
    /// `metadata.name`
    pub name: Placed<Text>,
    /// Of a `Policy`, which is in `default` when it does not say where; a `ClusterPolicy` has none.
    pub namespace: Option<Text>,
    /// What holds for all its rules.
    pub settings: PolicySettings,
    /// What its annotations say.
    pub annotations: Annotations,
    /// The rules that were read without an error.
    pub rules: Vec<RuleSource>,
    /// The rules that have an error, in the order in which they stand.
    pub broken: Vec<BrokenRule>,
}

/// A rule that cannot run.
#[derive(Debug, Clone)]
pub struct BrokenRule {
    /// May be empty: a rule without a name cannot run either.
    pub name: Text,
    /// Where the rule stands in the document.
    pub path: Vec<Step>,
    /// What it is about, where that could be read.
    pub matching: Option<Match>,
    /// What it is not about, where that could be read.
    pub exclude: Option<Match>,
    /// What a violation of it would lead to, as far as that could be read.
    pub failure_action: Option<FailureAction>,
    /// `failureActionOverrides`
    pub failure_action_overrides: Vec<ActionOverride>,
    /// Whether it is of a type that is not supported yet, which refuses nobody.
    pub is_unsupported: bool,
    /// The first error, as in its diagnostic.
    pub message: String,
    /// The whole rule, where it could be read and its mistake is of another sort.
    pub rule: Option<Box<RuleSource>>,
}

/// What the annotations of a policy say.
#[derive(Debug, Clone, Default)]
pub struct Annotations {
    /// `policies.kyverno.io/severity`
    pub severity: Text,
    /// `policies.kyverno.io/category`
    pub category: Text,
    /// `policies.kyverno.io/scored` is not `"false"`.
    pub is_scored: bool,
    /// `pod-policies.kyverno.io/autogen-controllers`
    pub autogen_controllers: Option<Placed<Text>>,
}

/// What holds for all rules of a policy.
#[derive(Debug, Clone)]
pub struct PolicySettings {
    /// `validationFailureAction`
    pub failure_action: FailureAction,
    /// `validationFailureActionOverrides`
    pub failure_action_overrides: Vec<ActionOverride>,
    /// `failurePolicy` is not `Ignore`.
    pub is_fail_closed: bool,
    /// `background`
    pub is_background: bool,
    /// `admission`
    pub is_admission: bool,
    /// `emitWarning`
    pub emits_warning: bool,
    /// `applyRules` is `One`.
    pub applies_one_rule: bool,
    /// Its status says that it became a ValidatingAdmissionPolicy, which checks in its place.
    pub is_generated: bool,
    /// `webhookConfiguration.matchConditions`
    pub match_conditions: Vec<NamedExpression>,
}

/// What a violation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailureAction {
    /// It is reported.
    #[default]
    Audit,
    /// The request is refused.
    Enforce,
}

/// Another action for some namespaces.
#[derive(Debug, Clone)]
pub struct ActionOverride {
    /// Where it stands in the document.
    pub path: Vec<Step>,
    /// `action`
    pub action: FailureAction,
    /// Wildcards; none means any namespace.
    pub namespaces: Vec<Text>,
    /// `namespaceSelector`
    pub namespace_selector: Option<Selector>,
}

/// A rule of a policy.
#[derive(Debug, Clone)]
pub struct RuleSource {
    /// `name`
    pub name: Placed<Text>,
    /// Where the rule stands in the document.
    pub path: Vec<Step>,
    /// `match`
    pub matching: Match,
    /// `exclude`
    pub exclude: Option<Match>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// As it is written: `{any, all}` or a list.
    pub preconditions: Option<Placed<Value>>,
    /// `celPreconditions`
    pub cel_preconditions: Vec<NamedExpression>,
    /// `reportProperties`
    pub report_properties: Vec<(Text, Text)>,
    /// `skipBackgroundRequests`
    pub skips_background_requests: bool,
    /// What in it keeps the whole policy from being rewritten for controllers: `generate`, `mutate.patchesJson6902`.
    pub stops_autogen: Option<&'static str>,
    /// `validate`
    pub validate: Validate,
}

impl RuleSource {
    /// Returns what stays of a rule that has an error.
    #[must_use]
    pub fn broken(self, message: String) -> BrokenRule {
        BrokenRule {
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
pub struct Validate {
    /// Where `validate` stands; where the rule stands for rules of other types.
    pub path: Vec<Step>,
    /// `message`
    pub message: Option<Placed<Text>>,
    /// `failureAction`
    pub failure_action: Option<FailureAction>,
    /// `failureActionOverrides`
    pub failure_action_overrides: Vec<ActionOverride>,
    /// `allowExistingViolations`
    pub allows_existing_violations: bool,
    /// What it checks.
    pub method: Method,
}

/// How a rule checks. Values are as they are written, with variables in them.
#[derive(Debug, Clone)]
pub enum Method {
    /// `pattern`
    Pattern(Placed<Value>),
    /// A list of patterns.
    AnyPattern(Placed<Value>),
    /// The conditions; without any, everything is denied.
    Deny(Option<Placed<Value>>),
    /// `foreach`
    Foreach(Vec<Foreach>),
    /// A check of the whole object and `foreach` beside it: both must hold.
    Both(Box<[Self; 2]>),
    /// `cel`
    Cel(Box<Cel>),
    /// `podSecurity`
    PodSecurity(PodSecurity),
    /// `manifests`
    Manifests(Box<manifests::ManifestsSource>),
    /// What is not supported yet, in the author's words: `mutate` and so on.
    Unsupported {
        /// The name of the field.
        field: &'static str,
    },
}

/// What is checked in CEL.
#[derive(Debug, Clone)]
pub struct Cel {
    /// Where it stands in the document.
    pub path: Vec<Step>,
    /// `expressions`
    pub expressions: Vec<Validation>,
    /// `variables`
    pub variables: Vec<NamedExpression>,
    /// `auditAnnotations`
    pub audit_annotations: Vec<NamedExpression>,
    /// `paramKind` and `paramRef`
    pub params: Option<(GroupVersionKind, ParamRef)>,
    /// Whether the API server should enforce it itself, as a ValidatingAdmissionPolicy.
    pub generates: bool,
}

/// The Pod Security Standards that an object must meet.
#[derive(Debug, Clone)]
pub struct PodSecurity {
    /// Where it stands in the document.
    pub path: Vec<Step>,
    pub(super) level: PodSecurityLevel,
    pub(super) version: StandardsVersion,
    /// As it is written; may be empty.
    pub version_text: Text,
    /// `exclude`
    pub exclude: Vec<ControlExclusion>,
}

/// A control that is not checked, or not everywhere.
#[derive(Debug, Clone)]
pub struct ControlExclusion {
    /// Where it stands in the document.
    pub path: Vec<Step>,
    pub(super) control: Control,
    /// Wildcards.
    pub images: Vec<Text>,
    /// `restrictedField`
    pub restricted_field: Option<Placed<Text>>,
    /// Wildcards.
    pub values: Vec<Text>,
}

/// One loop of a `foreach`.
#[derive(Debug, Clone)]
pub struct Foreach {
    /// Where it stands in the document.
    pub path: Vec<Step>,
    /// JMESPath, without braces.
    pub list: Placed<Text>,
    /// `elementScope`
    pub element_scope: Option<bool>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// `preconditions`, as it is written.
    pub preconditions: Option<Placed<Value>>,
    /// Never `Unsupported`.
    pub method: Method,
}

/// Which objects a rule is about, or is not.
#[derive(Debug, Clone, Default)]
pub struct Match {
    /// `any`
    pub any: Vec<ResourceFilter>,
    /// `all`
    pub all: Vec<ResourceFilter>,
    /// The older form without `any` and `all`.
    pub flat: Option<ResourceFilter>,
    /// Where it stands in the document.
    pub path: Vec<Step>,
}

/// Everything that one entry of a `match` asks for; all of it must hold.
#[derive(Debug, Clone, Default)]
pub struct ResourceFilter {
    /// Where it stands in the document.
    pub path: Vec<Step>,
    /// `kinds`
    pub kinds: Vec<Placed<Text>>,
    /// `name`
    pub name: Option<Placed<Text>>,
    /// `names`
    pub names: Vec<Placed<Text>>,
    /// `namespaces`
    pub namespaces: Vec<Placed<Text>>,
    /// Empty means every operation.
    pub operations: Vec<Operation>,
    /// `annotations`
    pub annotations: Vec<(Text, Text)>,
    /// `selector`
    pub selector: Option<Selector>,
    /// `namespaceSelector`
    pub namespace_selector: Option<Selector>,
    /// `subjects`
    pub subjects: Vec<SubjectFilter>,
    /// `roles`
    pub roles: Vec<Text>,
    /// `clusterRoles`
    pub cluster_roles: Vec<Text>,
    /// Whether anything in it could not be read.
    pub is_faulty: bool,
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct SubjectFilter {
    /// `kind`
    pub kind: SubjectKind,
    /// `name`
    pub name: Text,
    /// `namespace`
    pub namespace: Text,
}

/// What sort of one who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    /// `User`
    User,
    /// `Group`
    Group,
    /// `ServiceAccount`
    ServiceAccount,
}

/// A name that a rule gives to something it looks up.
#[derive(Debug, Clone)]
pub struct ContextEntry {
    /// `name`
    pub name: Placed<Text>,
    /// Where it stands in the document.
    pub path: Vec<Step>,
    /// Where its value comes from.
    pub from: ContextSource,
}

/// A service that is called.
#[derive(Debug, Clone)]
pub struct Service {
    /// `url`
    pub url: Placed<Text>,
    /// `headers`
    pub headers: Vec<(Text, Placed<Value>)>,
    /// `caBundle`
    pub ca_bundle: Text,
}

/// By what right a registry is asked: `imageRegistryCredentials`.
#[derive(Debug, Clone, Default)]
pub struct RegistryCredentials {
    /// The names of pull secrets.
    pub secrets: Vec<Text>,
    /// `allowInsecureRegistry`
    pub is_insecure: bool,
}

/// Where the value of a context entry comes from. Values and texts have variables in them.
#[derive(Debug, Clone)]
pub enum ContextSource {
    /// `variable`
    Variable {
        /// `value`
        value: Option<Placed<Value>>,
        /// `jmesPath`
        jmes_path: Option<Placed<Text>>,
        /// `default`
        default: Option<Placed<Value>>,
    },
    /// `configMap`
    ConfigMap {
        /// `name`
        name: Placed<Text>,
        /// `namespace`
        namespace: Option<Placed<Text>>,
    },
    /// `apiCall`
    ApiCall {
        /// `urlPath`
        url_path: Option<Placed<Text>>,
        /// `service`
        service: Option<Service>,
        /// `method`
        method: Text,
        /// `data`
        data: Vec<(Text, Placed<Value>)>,
        /// `jmesPath`
        jmes_path: Option<Placed<Text>>,
        /// `default`
        default: Option<Placed<Value>>,
    },
    /// `imageRegistry`
    ImageRegistry {
        /// `reference`
        reference: Placed<Text>,
        /// `imageRegistryCredentials`
        credentials: RegistryCredentials,
        /// `jmesPath`
        jmes_path: Option<Placed<Text>>,
    },
    /// `globalReference`
    GlobalReference {
        /// `name`
        name: Placed<Text>,
        /// `jmesPath`
        jmes_path: Option<Placed<Text>>,
    },
}

/// A `PolicyException`.
#[derive(Debug, Clone)]
pub struct ExceptionSource {
    /// `namespace/name`
    pub key: Text,
    /// Where it stands in the document.
    pub path: Vec<Step>,
    /// Policy (`name` or `namespace/name`) and the wildcards of its rules.
    pub policies: Vec<(Text, Vec<Text>)>,
    /// `match`
    pub matching: Match,
    /// As it is written.
    pub conditions: Option<Placed<Value>>,
    /// The Pod Security controls that it excludes; without any, it excuses the whole rule.
    pub pod_security: Vec<ControlExclusion>,
    /// `background`
    pub is_background: bool,
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
fn owned_value(found: Placed<&Value>) -> Placed<Value> {
    Placed { value: found.value.clone(), path: found.path }
}

#[cfg(test)]
mod tests;
