//! A ClusterPolicy, Policy or PolicyException as it is written, field by field.
//!
//! A rule that cannot be read is left out and remembered as [`BrokenRule`]; its neighbours stay.

mod cel;
mod cleanup;
mod context;
mod exception;
mod filter;
mod generate;
pub(super) mod images;
pub(super) mod manifests;
mod mutate;
mod pod_security;
mod policy;
mod recovery;
mod rule;

pub use cleanup::CleanupSource;
pub(super) use cleanup::read_cleanup_policy;
pub(super) use exception::read_exception;
pub(super) use generate::DOWNSTREAM_FIELDS;
pub use generate::{DownstreamContent, DownstreamSource, GenerateLoop, GenerateSource};
pub use mutate::{ElementOrder, Mutate, MutateForeach, MutatePatch, MutateTarget};
pub use policy::read_policy_document;

use std::sync::Arc;

use kubewright_k8s::{GroupVersionKind, Operation};
use kubewright_value::{Document, Location, Step, Text, Value};

use super::diagnostics as code;
use super::pod_security::{Control, PodSecurityLevel, StandardsVersion};
use kubewright_cel_rules::source::{NamedExpression, ParamRef, ValidationSource};
use kubewright_dialect_kit::fields::{FieldCodes, Located};
use kubewright_dialect_kit::selector::SelectorSource;

/// A policy.
#[derive(Debug, Clone)]
pub struct PolicySource {
    /// `metadata.name`
    pub name: Located<Text>,
    /// The namespace of a `Policy`, `default` unless given; a `ClusterPolicy` has none.
    pub namespace: Option<Text>,
    /// The settings of all its rules.
    pub settings: PolicySettings,
    /// Its annotations.
    pub annotations: Annotations,
    /// The rules that were read without an error.
    pub rules: Vec<RuleSource>,
    /// The rules with an error, in document order.
    pub broken: Vec<BrokenRule>,
}

/// A rule that cannot run.
#[derive(Debug, Clone)]
pub struct BrokenRule {
    /// May be empty: a rule without a name cannot run either.
    pub name: Text,
    /// The path of the rule in the document.
    pub path: Vec<Step>,
    /// Its `match`, where it could be read.
    pub matching: Option<Match>,
    /// Its `exclude`, where it could be read.
    pub exclude: Option<Match>,
    /// Its failure action, as far as it could be read.
    pub failure_action: Option<FailureAction>,
    /// `failureActionOverrides`
    pub failure_action_overrides: Vec<ActionOverride>,
    /// The first error, as in its diagnostic.
    pub message: String,
    /// The whole rule, where it could be read and its mistake is of another sort.
    pub rule: Option<Box<RuleSource>>,
}

/// The annotations of a policy.
#[derive(Debug, Clone, Default)]
pub struct Annotations {
    /// `policies.kyverno.io/severity`
    pub severity: Text,
    /// `policies.kyverno.io/category`
    pub category: Text,
    /// `policies.kyverno.io/scored` is not `"false"`.
    pub is_scored: bool,
    /// `pod-policies.kyverno.io/autogen-controllers`
    pub autogen_controllers: Option<Located<Text>>,
}

/// The settings of all rules of a policy.
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
    /// `generateExisting`
    pub generates_existing: bool,
    /// `useServerSideApply`
    pub uses_server_side_apply: bool,
    /// `applyRules` is `One`.
    pub applies_one_rule: bool,
    /// Its status says that a ValidatingAdmissionPolicy checks in its place.
    pub is_generated: bool,
    /// `webhookConfiguration.matchConditions`
    pub match_conditions: Vec<NamedExpression>,
}

/// The action on a violation.
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
    /// The path in the document.
    pub path: Vec<Step>,
    /// `action`
    pub action: FailureAction,
    /// Wildcards; none means any namespace.
    pub namespaces: Vec<Text>,
    /// `namespaceSelector`
    pub namespace_selector: Option<SelectorSource>,
}

/// A rule of a policy.
#[derive(Debug, Clone)]
pub struct RuleSource {
    /// `name`
    pub name: Located<Text>,
    /// The path of the rule in the document.
    pub path: Vec<Step>,
    /// `match`
    pub matching: Match,
    /// `exclude`
    pub exclude: Option<Match>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// As it is written: `{any, all}` or a list.
    pub preconditions: Option<Located<Value>>,
    /// `celPreconditions`
    pub cel_preconditions: Vec<NamedExpression>,
    /// `reportProperties`
    pub report_properties: Vec<(Text, Text)>,
    /// `skipBackgroundRequests`
    pub skips_background_requests: bool,
    /// The field that keeps the whole policy from being rewritten for controllers: `generate`, `mutate.patchesJson6902`.
    pub stops_autogen: Option<&'static str>,
    /// `validate`
    pub validate: Validate,
}

impl RuleSource {
    /// Returns the readable rest of a rule with an error.
    #[must_use]
    pub fn broken(self, message: String) -> BrokenRule {
        BrokenRule {
            name: self.name.value.clone(),
            path: self.path.clone(),
            matching: recovery::with_kinds(self.matching.clone()),
            exclude: self.exclude.clone(),
            failure_action: self.validate.failure_action,
            failure_action_overrides: self.validate.failure_action_overrides.clone(),
            message,
            rule: Some(Box::new(self)),
        }
    }
}

/// The check of a rule.
#[derive(Debug, Clone)]
pub struct Validate {
    /// The path of `validate`; for rules of other types, that of the rule.
    pub path: Vec<Step>,
    /// `message`
    pub message: Option<Located<Text>>,
    /// `failureAction`
    pub failure_action: Option<FailureAction>,
    /// `failureActionOverrides`
    pub failure_action_overrides: Vec<ActionOverride>,
    /// `allowExistingViolations`
    pub allows_existing_violations: bool,
    /// The method of the check.
    pub method: Method,
}

/// How a rule checks. Values are as they are written, with variables in them.
#[derive(Debug, Clone)]
pub enum Method {
    /// `pattern`
    Pattern(Located<Value>),
    /// A list of patterns.
    AnyPattern(Located<Value>),
    /// The conditions; without any, everything is denied.
    Deny(Option<Located<Value>>),
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
    /// `generate`, which makes objects and checks nothing.
    Generate(Box<GenerateSource>),
    /// `mutate`: the rule changes objects and checks nothing.
    Mutate(Box<Mutate>),
    /// `verifyImages`
    Images(Box<images::ImagesSource>),
}

/// A check in CEL.
#[derive(Debug, Clone)]
pub struct Cel {
    /// The path in the document.
    pub path: Vec<Step>,
    /// `expressions`
    pub expressions: Vec<ValidationSource>,
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
    /// The path in the document.
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
    /// The path in the document.
    pub path: Vec<Step>,
    pub(super) control: Control,
    /// Wildcards.
    pub images: Vec<Text>,
    /// `restrictedField`
    pub restricted_field: Option<Located<Text>>,
    /// Wildcards.
    pub values: Vec<Text>,
}

/// One loop of a `foreach`.
#[derive(Debug, Clone)]
pub struct Foreach {
    /// The path in the document.
    pub path: Vec<Step>,
    /// JMESPath, without braces.
    pub list: Located<Text>,
    /// `elementScope`
    pub element_scope: Option<bool>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// `preconditions`, as it is written.
    pub preconditions: Option<Located<Value>>,
    /// How each element is checked.
    pub method: Method,
}

/// A `match` or `exclude`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Match {
    /// `any`
    pub any: Vec<ResourceFilter>,
    /// `all`
    pub all: Vec<ResourceFilter>,
    /// The older form without `any` and `all`.
    pub flat: Option<ResourceFilter>,
    /// The path in the document.
    pub path: Vec<Step>,
}

/// One entry of a `match`; all its filters must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ResourceFilter {
    /// The path in the document.
    pub path: Vec<Step>,
    /// `kinds`
    pub kinds: Vec<Located<Text>>,
    /// `name`
    pub name: Option<Located<Text>>,
    /// `names`
    pub names: Vec<Located<Text>>,
    /// `namespaces`
    pub namespaces: Vec<Located<Text>>,
    /// Empty means every operation.
    pub operations: Vec<Operation>,
    /// `annotations`
    pub annotations: Vec<(Text, Text)>,
    /// `selector`
    pub selector: Option<SelectorSource>,
    /// `namespaceSelector`
    pub namespace_selector: Option<SelectorSource>,
    /// `subjects`
    pub subjects: Vec<SubjectFilter>,
    /// `roles`
    pub roles: Vec<Text>,
    /// `clusterRoles`
    pub cluster_roles: Vec<Text>,
    /// Whether anything in it could not be read.
    pub is_faulty: bool,
}

/// A user, group or service account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubjectFilter {
    /// `kind`
    pub kind: SubjectKind,
    /// `name`
    pub name: Text,
    /// `namespace`
    pub namespace: Text,
}

/// The kind of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    pub name: Located<Text>,
    /// The path in the document.
    pub path: Vec<Step>,
    /// Where its value comes from.
    pub from: ContextSource,
}

/// A service that is called.
#[derive(Debug, Clone)]
pub struct Service {
    /// `url`
    pub url: Located<Text>,
    /// `headers`
    pub headers: Vec<(Text, Located<Value>)>,
    /// `caBundle`
    pub ca_bundle: Text,
}

/// The registry credentials: `imageRegistryCredentials`.
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
        value: Option<Located<Value>>,
        /// `jmesPath`
        jmes_path: Option<Located<Text>>,
        /// `default`
        default: Option<Located<Value>>,
    },
    /// `configMap`
    ConfigMap {
        /// `name`
        name: Located<Text>,
        /// `namespace`
        namespace: Option<Located<Text>>,
    },
    /// `apiCall`
    ApiCall {
        /// `urlPath`
        url_path: Option<Located<Text>>,
        /// `service`
        service: Option<Service>,
        /// `method`
        method: Text,
        /// `data`
        data: Vec<(Text, Located<Value>)>,
        /// `jmesPath`
        jmes_path: Option<Located<Text>>,
        /// `default`
        default: Option<Located<Value>>,
    },
    /// `imageRegistry`
    ImageRegistry {
        /// `reference`
        reference: Located<Text>,
        /// `imageRegistryCredentials`
        credentials: RegistryCredentials,
        /// `jmesPath`
        jmes_path: Option<Located<Text>>,
    },
    /// `globalReference`
    GlobalReference {
        /// `name`
        name: Located<Text>,
        /// `jmesPath`
        jmes_path: Option<Located<Text>>,
    },
}

/// A `PolicyException`.
#[derive(Debug, Clone)]
pub struct ExceptionSource {
    /// `namespace/name`
    pub key: Text,
    /// The path in the document.
    pub path: Vec<Step>,
    /// Policy (`name` or `namespace/name`) and the wildcards of its rules.
    pub policies: Vec<(Text, Vec<Text>)>,
    /// Where it says so.
    pub location: Location,
    /// The document, which has the places of its parts.
    pub document: Arc<Document>,
    /// `match`
    pub matching: Match,
    /// As it is written.
    pub conditions: Option<Located<Value>>,
    /// The Pod Security controls that it excludes; without any, it excuses the whole rule.
    pub pod_security: Vec<ControlExclusion>,
    /// `background`
    pub is_background: bool,
}

/// The diagnostics that any field can have.
const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};

/// Returns a value that outlives its document.
fn owned_value(found: Located<&Value>) -> Located<Value> {
    Located { value: found.value.clone(), path: found.path }
}

#[cfg(test)]
mod tests;
