//! The dialects of `policies.kyverno.io`. They differ in what their rules do; their documents, their exceptions and what a
//! cluster has of them are alike.

use std::sync::Arc;

use kubewright_cel::{Inputs, Timestamp};
use kubewright_cel_rules::Environments;
use kubewright_engine::{
    ClusterExtensions, ClusterResources, ClusterSupport, Code, CompiledPolicy, Diagnostic, Dialect,
    MissingAccess, PolicyRule, ResponseParts, ResponseWording, RuleOutcome, RuleReport, WatchRole,
    WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Document, Value};

use crate::diagnostics as code;
use crate::vpol::cluster::{condition_status, policy_definitions, policy_response};
use crate::vpol::exceptions::{CompiledPolicyException, load_policy_exceptions};
use crate::vpol::is_policy_exception;
use crate::{dpol, gpol, is_kind_in_group, ivpol, mpol, text_field, vpol};

/// The group of all kinds, and the version in which they are read.
const API_GROUP: &str = "policies.kyverno.io";
const READ_VERSION: &str = "v1beta1";

/// What the `apiVersion` of all kinds starts with.
pub(crate) const POLICY_GROUP_PREFIX: &str = "policies.kyverno.io/";

/// The webhook configurations of Kyverno: where one exists, policies are left to it.
const UPSTREAM_WEBHOOKS: [&str; 3] = [
    "kyverno-resource-validating-webhook-cfg",
    "kyverno-resource-mutating-webhook-cfg",
    "kyverno-policy-validating-webhook-cfg",
];

/// All of them, in the order in which a request sees them.
pub(crate) const POLICY_LANGUAGES: [&PolicyLanguage; 5] =
    [&vpol::LANGUAGE, &mpol::LANGUAGE, &gpol::LANGUAGE, &dpol::LANGUAGE, &ivpol::LANGUAGE];

/// What is particular to one of them.
pub(crate) struct PolicyLanguage {
    /// The name that starts every rule id, which is also the short name of the kind.
    pub(crate) name: &'static str,
    /// The kind of the whole cluster, that of a namespace, and exceptions.
    pub(crate) watched: [WatchedResource; 3],
    /// The part of Kyverno that writes Events about such policies.
    pub(crate) component: &'static str,
    pub(crate) compile: fn(&PolicySurroundings, &Document) -> CompiledPolicy,
    pub(crate) policy_rules: &'static [PolicyRule],
    /// Whether it checks exceptions, which are from policies of all kinds.
    pub(crate) checks_exceptions: bool,
    /// Whether programs wait for the condition of a webhook even where there is none.
    pub(crate) claims_webhook: bool,
    /// What is reported where the controller lacks a right that a policy needs; nothing for policies without work in the
    /// background.
    pub(crate) missing_access: Option<&'static Code>,
}

/// What all policies are compiled with.
pub(crate) struct PolicySurroundings {
    pub(crate) inputs: Inputs,
    pub(crate) environments: Environments,
    pub(crate) exceptions: Vec<CompiledPolicyException>,
}

impl PolicyLanguage {
    /// Returns the kinds: of the whole cluster, and of a namespace.
    pub(crate) const fn kinds(&self) -> [&'static str; 2] {
        let [cluster_wide, namespaced, _] = &self.watched;
        [cluster_wide.kind, namespaced.kind]
    }
}

/// Returns the resources that are watched for policies of a kind: its name and its resource, and those of the namespaced kind.
pub(crate) const fn watched_policies(kinds: [(&'static str, &'static str); 2]) -> [WatchedResource; 3] {
    const fn of((kind, resource): (&'static str, &'static str), role: WatchRole) -> WatchedResource {
        WatchedResource { group: API_GROUP, version: READ_VERSION, resource, kind, role }
    }
    let [cluster_wide, namespaced] = kinds;
    [
        of(cluster_wide, WatchRole::Rule),
        of(namespaced, WatchRole::Rule),
        of(("PolicyException", "policyexceptions"), WatchRole::Exception),
    ]
}

/// The dialect of one kind of policies, and of the same kind in a namespace.
pub struct PolicyDialect {
    language: &'static PolicyLanguage,
    surroundings: Arc<PolicySurroundings>,
}

/// Returns the dialects of ValidatingPolicies, MutatingPolicies, GeneratingPolicies, DeletingPolicies and
/// ImageValidatingPolicies with the PolicyExceptions among `exceptions`, for functions that see `inputs`.
#[must_use]
pub fn policy_dialects(exceptions: &[Document], inputs: Inputs, rules_only: bool) -> [PolicyDialect; 5] {
    let environments = Environments::policies(inputs).with_rules_only(rules_only);
    let exceptions = load_policy_exceptions(&environments, exceptions);
    let surroundings = Arc::new(PolicySurroundings { inputs, environments, exceptions });
    POLICY_LANGUAGES.map(|language| PolicyDialect { language, surroundings: Arc::clone(&surroundings) })
}

#[cfg(test)]
impl PolicyDialect {
    /// Returns the dialect of one kind.
    pub(crate) fn of(language: &'static PolicyLanguage, exceptions: &[Document], inputs: Inputs) -> Self {
        let [any, ..] = policy_dialects(exceptions, inputs, false);
        Self { language, ..any }
    }
}

impl Dialect for PolicyDialect {
    fn name(&self) -> &'static str {
        self.language.name
    }

    fn claims(&self, document: &Document) -> bool {
        is_kind_in_group(document, POLICY_GROUP_PREFIX, &self.language.kinds())
    }

    fn looks_like(&self, document: &Document) -> bool {
        self.language.kinds().contains(&text_field(document, "kind"))
    }

    fn compile(&self, document: &Document, _auxiliaries: &[Document]) -> CompiledPolicy {
        (self.language.compile)(&self.surroundings, document)
    }

    fn cluster_support(&self) -> Option<&dyn ClusterSupport> {
        Some(self)
    }

    /// Those of [`crate::ValidatingAdmissionPolicies`], which are reported there.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

impl ClusterResources for PolicyDialect {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        policy_definitions(self.language)
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        &self.language.watched
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &UPSTREAM_WEBHOOKS
    }

    fn policy_rules(&self) -> &'static [PolicyRule] {
        self.language.policy_rules
    }
}

impl ResponseWording for PolicyDialect {
    fn response(&self, _request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> ResponseParts {
        policy_response(outcomes)
    }

    fn event_component(&self) -> Option<&'static str> {
        Some(self.language.component)
    }

    /// `conditionStatus` has a condition for each part of Kyverno that must know the policy. Here one server does both, so
    /// they never differ.
    fn status(&self, report: &RuleReport) -> Value {
        let has_webhooks = report.has_webhooks || self.language.claims_webhook;
        condition_status(&RuleReport { has_webhooks, ..report.clone() })
    }
}

impl ClusterExtensions for PolicyDialect {
    /// An exception must name the policies that it is from.
    fn storing_problems(&self, document: &Document) -> Vec<Diagnostic> {
        let references = document.value.at(&["spec", "policyRefs"]).and_then(Value::as_array);
        let is_checked = self.language.checks_exceptions && is_policy_exception(document);
        if !is_checked || references.is_some_and(|list| !list.is_empty()) {
            return Vec::new();
        }
        let location = document.locate_key(&["spec".into()]);
        let message = "field `policyRefs` is missing or empty, so that the exception is from no policy";
        vec![Diagnostic::new(&code::MISSING_FIELD, message, location)]
    }

    fn access_problem(&self, document: &Document, missing: &MissingAccess<'_>) -> Option<Diagnostic> {
        let message = format!("`{}` lacks the RBAC rule {}", missing.account, missing.policy_rules());
        let help = "grant it with a ClusterRole that has the label `rbac.kubewright.dev/aggregate-to-background: \"true\"`";
        let location = document.locate_key(&["spec".into()]);
        Some(Diagnostic::new(self.language.missing_access?, message, location).help(help))
    }

    fn exception_expiry(&self, document: &Document) -> Option<i128> {
        if !self.language.checks_exceptions || !is_policy_exception(document) {
            return None;
        }
        let end = document.value.at(&["spec", "expiresAt"]).and_then(Value::as_str)?;
        Some(Timestamp::parse(end).map_or(i128::MIN, Timestamp::nanoseconds))
    }
}
