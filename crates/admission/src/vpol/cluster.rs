//! Policies of `policies.kyverno.io` in a cluster: their definitions, webhooks, statuses and answers, as Kyverno writes
//! them.

mod autogen_status;
mod definitions;
mod webhook;

pub(crate) use definitions::{
    deleting_policy_definitions, generating_policy_definitions, image_policy_definitions,
    mutating_policy_definitions,
};
pub(crate) use webhook::{WebhookShare, admission_webhooks, dedicate_webhook};

use kubewright_cel::Timestamp;
use kubewright_engine::{
    ClusterExtensions, ClusterResources, Diagnostic, EventOccasion, EventWords, PolicyRule, ResponseParts,
    ResponseWording, RuleOutcome, RuleReport, RuleStatus, WatchRole, WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Document, Map, Value};

use super::ValidatingPolicies;
use super::autogen::ControllerPolicy;
use crate::diagnostics as code;
use crate::source::CelPolicySource;
use autogen_status::autogen_status;

/// The group of all kinds, and the version in which they are read.
pub(crate) const API_GROUP: &str = "policies.kyverno.io";
pub(crate) const READ_VERSION: &str = "v1beta1";
/// The webhook configurations of Kyverno: where one exists, policies are left to it.
pub(crate) const UPSTREAM_WEBHOOKS: [&str; 3] = [
    "kyverno-resource-validating-webhook-cfg",
    "kyverno-resource-mutating-webhook-cfg",
    "kyverno-policy-validating-webhook-cfg",
];

impl ClusterResources for ValidatingPolicies {
    /// Also those of kinds that no server runs yet, so that they can be stored.
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        definitions::policy_definitions()
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        const fn of(resource: &'static str, kind: &'static str, role: WatchRole) -> WatchedResource {
            WatchedResource { group: API_GROUP, version: READ_VERSION, resource, kind, role }
        }
        const WATCHED: [WatchedResource; 3] = [
            of("validatingpolicies", "ValidatingPolicy", WatchRole::Rule),
            of("namespacedvalidatingpolicies", "NamespacedValidatingPolicy", WatchRole::Rule),
            of("policyexceptions", "PolicyException", WatchRole::Exception),
        ];
        &WATCHED
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &UPSTREAM_WEBHOOKS
    }

    fn policy_rules(&self) -> &'static [PolicyRule] {
        &[PolicyRule {
            group: "authorization.k8s.io",
            resources: &["subjectaccessreviews"],
            verbs: &["create"],
            why: "permission checks in rules; nothing is stored",
        }]
    }
}

impl ResponseWording for ValidatingPolicies {
    fn response(&self, _request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> ResponseParts {
        policy_response(outcomes)
    }

    fn event(&self, occasion: &EventOccasion<'_>) -> Option<EventWords> {
        Some(occasion.policy_words("kyverno-admission"))
    }

    /// `conditionStatus` has a condition for each part of Kyverno that must know the policy. Here one server does both, so
    /// they never differ.
    fn status(&self, report: &RuleReport) -> Value {
        condition_status(report)
    }
}

/// Returns what is answered to a request, in Kyverno's words.
pub(crate) fn policy_response(outcomes: &[&RuleOutcome]) -> ResponseParts {
    let refusals =
        outcomes.iter().filter(|outcome| outcome.is_refusal).map(|outcome| policy_failure(outcome));
    let message = distinct(refusals).join("; ");
    let is_warning = |outcome: &&&RuleOutcome| {
        outcome.metadata.emits_warning
            && !outcome.is_refusal
            && matches!(outcome.status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error)
    };
    let warnings = outcomes.iter().filter(is_warning).map(|outcome| policy_failure(outcome));
    ResponseParts { message, warnings: distinct(warnings), ..ResponseParts::default() }
}

impl ClusterExtensions for ValidatingPolicies {
    /// An exception must name the policies that it is from.
    fn storing_problems(&self, document: &Document) -> Vec<Diagnostic> {
        let references = document.value.at(&["spec", "policyRefs"]).and_then(Value::as_array);
        if !super::is_policy_exception(document) || references.is_some_and(|list| !list.is_empty()) {
            return Vec::new();
        }
        let location = document.locate_key(&["spec".into()]);
        let message = "field `policyRefs` is missing or empty, so that the exception is from no policy";
        vec![Diagnostic::new(&code::MISSING_FIELD, message, location)]
    }

    fn exception_expiry(&self, document: &Document) -> Option<i128> {
        if !super::is_policy_exception(document) {
            return None;
        }
        let end = document.value.at(&["spec", "expiresAt"]).and_then(Value::as_str)?;
        Some(Timestamp::parse(end).map_or(i128::MIN, Timestamp::nanoseconds))
    }
}

/// The field by which compiling tells the status which resources no scan can list. It is not stored.
const UNREPORTED_FIELD: &str = "unreportedResources";

/// Returns the permissions for resources of `policy` of which nothing is stored, so that no report can be about them:
/// subresources, and resources that are not in the core group, which nothing can be added to.
fn unreported_resources(policy: &CelPolicySource) -> String {
    let mut missing = Vec::new();
    for rule in policy.constraints.iter().flat_map(|constraints| &constraints.rules) {
        let versions =
            || rule.groups.iter().flat_map(|group| rule.versions.iter().map(move |one| (group, one)));
        for resource in &rule.resources {
            let is_missing = |group: &str| {
                let real = kubewright_k8s::group_of_resource(&resource.value);
                resource.value.contains('/')
                    || (group.is_empty() && real.is_some_and(|real| !real.is_empty()))
            };
            for (group, version) in versions().filter(|(group, _)| is_missing(group)) {
                for verb in ["get", "list", "watch"] {
                    missing.push(format!("{verb} {group}/{version}, Resource={}: ", resource.value));
                }
            }
        }
    }
    missing.join("; ")
}

fn unreported_condition(report: &RuleReport, missing: &str) -> Value {
    Map::from([
        ("type", "RBACPermissionsGranted".into()),
        ("status", "False".into()),
        ("reason", "Failed".into()),
        ("message", format!("Policy is not ready for reporting, missing permissions: {missing}.").into()),
        ("lastTransitionTime", report.since.clone().into()),
    ])
    .into()
}

/// Returns the fields of the status that follow from the policy.
pub(crate) fn status_fields(
    document: &Document,
    policy: &CelPolicySource,
    generated: &[ControllerPolicy],
) -> Value {
    let mut fields = Map::from([("autogen", autogen_status(document, generated))]);
    let unreported = unreported_resources(policy);
    if !unreported.is_empty() {
        fields.insert(UNREPORTED_FIELD.into(), unreported.into());
    }
    fields.into()
}

/// Returns the status of a policy of the group.
pub(crate) fn condition_status(report: &RuleReport) -> Value {
    let (word, reason) = if report.is_ready { ("True", "Succeeded") } else { ("False", "Failed") };
    let condition = |kind: &str, message: &str| {
        let message = if report.is_ready { message } else { report.message.as_str() };
        Value::from(Map::from([
            ("type", kind.into()),
            ("status", word.into()),
            ("reason", reason.into()),
            ("message", message.into()),
            ("lastTransitionTime", report.since.clone().into()),
        ]))
    };
    let mut conditions = Vec::new();
    if report.has_webhooks {
        conditions.push(condition("WebhookConfigured", "Webhook configured."));
    }
    conditions.push(match report.fields.str_at(&[UNREPORTED_FIELD]) {
        "" => condition("RBACPermissionsGranted", "Policy is ready for reporting."),
        missing => unreported_condition(report, missing),
    });
    let mut ready = Map::from([("ready", report.is_ready.into()), ("conditions", Value::array(conditions))]);
    if !report.is_ready {
        ready.insert("message".into(), report.message.as_str().into());
    }
    let native = report.admission_policy.as_ref();
    if let Some(state) = native.filter(|state| report.is_ready && !state.message.is_empty()) {
        ready.insert("message".into(), state.message.as_str().into());
    }
    let is_generated = native.is_some_and(|state| state.is_generated);
    let mut status = Map::from([("conditionStatus", ready.into()), ("generated", is_generated.into())]);
    for (key, value) in report.fields.as_object().into_iter().flat_map(Map::iter) {
        if key != UNREPORTED_FIELD {
            status.insert(key.clone(), value.clone());
        }
    }
    if let Some(failure) = &report.failure {
        status.insert("lastFailure".into(), failure.value());
    }
    status.into()
}

/// Returns what Kyverno says of a policy that fails or ends in an error.
fn policy_failure(outcome: &RuleOutcome) -> String {
    let policy = outcome.rule.policy.as_str();
    let name = policy.rsplit_once('/').map_or(policy, |(_, name)| name);
    let word = if outcome.status == RuleStatus::Error { "error" } else { "failed" };
    format!("Policy {name} {word}: {}", outcome.message)
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

#[cfg(test)]
mod tests;
