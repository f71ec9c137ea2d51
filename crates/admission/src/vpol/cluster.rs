//! Policies of `policies.kyverno.io` in a cluster: their definitions, webhooks, statuses and answers, as Kyverno writes
//! them.

mod autogen_status;
mod definitions;
mod webhook;

pub(crate) use definitions::policy_definitions;
pub(crate) use webhook::{WebhookShare, admission_webhooks, dedicate_webhook};

use kubewright_engine::{ResponseParts, RuleOutcome, RuleReport, RuleStatus, StatusFields};
use kubewright_value::{Document, Map, Value};

use super::autogen::ControllerPolicy;
use crate::source::CelPolicySource;
use autogen_status::autogen_status;

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
) -> StatusFields {
    let unreported = unreported_resources(policy);
    let (document, generated) = (document.clone(), generated.to_vec());
    StatusFields::new(move || {
        let mut fields = Map::from([("autogen", autogen_status(&document, &generated))]);
        if !unreported.is_empty() {
            fields.insert(UNREPORTED_FIELD.into(), unreported.into());
        }
        fields.into()
    })
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
