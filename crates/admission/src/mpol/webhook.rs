//! The webhook of a MutatingPolicy: the resources of its constraints, and those of the controllers that make Pods.

use kubewright_cel_rules::source::NamedExpression;
use kubewright_engine::{AdmissionPhase, FailurePolicy, KindOrResource, WebhookPlan, WebhookRule};
use kubewright_value::{Text, Value};

use crate::draft::PolicyDraft;
use crate::source::{ConstraintsSource, ResourceRule};

/// The longest timeout that the API server accepts.
const MAX_TIMEOUT_SECONDS: i64 = 30;

/// Returns the webhook for the policy, whose controllers are in `generated`. Policies share one unless they have
/// `webhookConfiguration.matchConditions`: the rules themselves look at selectors and conditions, which may use what the
/// API server does not know.
pub(super) fn mutating_webhook(
    draft: &PolicyDraft,
    generated: &[ConstraintsSource],
    conditions: &[NamedExpression],
) -> WebhookPlan {
    let policy = &draft.policy;
    let failure_policy = if policy.is_fail_closed { FailurePolicy::Fail } else { FailurePolicy::Ignore };
    let constraints = policy.constraints.iter().chain(generated);
    let mut rules: Vec<WebhookRule> =
        constraints.flat_map(|constraints| &constraints.rules).flat_map(rules_of_resources).collect();
    rules.sort();
    rules.dedup();
    let mut plan = WebhookPlan::new(AdmissionPhase::Mutating, failure_policy, rules);
    let written = draft.document.value.at(&["spec", "webhookConfiguration", "timeoutSeconds"]);
    if let Some(seconds) = written.and_then(Value::as_i64) {
        let seconds = u8::try_from(seconds.clamp(1, MAX_TIMEOUT_SECONDS));
        plan.timeout_seconds = seconds.unwrap_or(WebhookPlan::DEFAULT_TIMEOUT_SECONDS);
    }
    if !conditions.is_empty() {
        plan.match_conditions =
            conditions.iter().map(|one| (one.name.value.clone(), one.expression.value.clone())).collect();
        plan.dedicated_name = Some(format!("mpol.{}", policy.key().replace('/', ".")).into());
    }
    plan
}

fn rules_of_resources(rule: &ResourceRule) -> Vec<WebhookRule> {
    let mut all = Vec::new();
    for group in &rule.groups {
        for version in &rule.versions {
            all.extend(rule.resources.iter().map(|resource| {
                let (name, part) = resource.value.split_once('/').unwrap_or((&resource.value, ""));
                WebhookRule {
                    group: group.clone(),
                    version: version.clone(),
                    name: KindOrResource::Resource(Text::new(name)),
                    subresource: Text::new(part),
                    operations: rule.operations,
                }
            }));
        }
    }
    all
}
