//! Policies of `policies.kyverno.io` in a cluster: their definitions, webhooks, statuses and answers, as Kyverno writes
//! them.

mod autogen_status;
mod definitions;
mod webhook;

pub(super) use autogen_status::autogen_status;
pub(super) use webhook::admission_webhooks;

use kubewright_cel::Timestamp;
use kubewright_engine::{
    ClusterExtensions, ClusterResources, EventOccasion, EventWords, PolicyRule, ResponseParts,
    ResponseWording, RuleOutcome, RuleReport, RuleStatus, WatchRole, WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Document, Map, Text, Value};

use super::ValidatingPolicies;

/// The group of all kinds, and the version in which they are read.
const API_GROUP: &str = "policies.kyverno.io";
const READ_VERSION: &str = "v1beta1";

impl ClusterResources for ValidatingPolicies {
    /// Those of all kinds of the group, also of kinds that other dialects read: the group belongs together.
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

    fn event(&self, occasion: &EventOccasion<'_>) -> Option<EventWords> {
        Some(occasion.kyverno_words("kyverno-admission"))
    }

    /// `conditionStatus` has a condition for each part of Kyverno that must know the policy. Here one server does both, so
    /// they never differ.
    fn status(&self, report: &RuleReport) -> Value {
        condition_status(report)
    }
}

impl ClusterExtensions for ValidatingPolicies {
    fn exception_expiry(&self, document: &Document) -> Option<i128> {
        if !super::is_policy_exception(document) {
            return None;
        }
        let end = document.value.at(&["spec", "expiresAt"]).and_then(Value::as_str)?;
        Some(Timestamp::parse(end).map_or(i128::MIN, Timestamp::nanoseconds))
    }
}

/// Returns the status of a policy of the group.
fn condition_status(report: &RuleReport) -> Value {
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
    let conditions = vec![
        condition("WebhookConfigured", "Webhook configured."),
        condition("RBACPermissionsGranted", "Policy is ready for reporting."),
    ];
    let mut ready = Map::from([("ready", report.is_ready.into()), ("conditions", Value::array(conditions))]);
    if !report.is_ready {
        ready.insert("message".into(), report.message.as_str().into());
    }
    let is_generated = report.admission_policy.as_ref().is_some_and(|state| state.is_generated);
    let mut status = Map::from([("conditionStatus", ready.into()), ("generated", is_generated.into())]);
    for (key, value) in report.fields.as_object().into_iter().flat_map(Map::iter) {
        status.insert(key.clone(), value.clone());
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

/// Returns the name under which policies of `prefix` share a webhook, as Kyverno calls it.
fn shared_webhook_name(prefix: &str) -> Text {
    format!("{prefix}.validate.kyverno.svc").into()
}

#[cfg(test)]
mod tests;
