//! The webhook of a policy: the resources of its constraints, and those of the controllers that make Pods.

use kubewright_engine::{AdmissionPhase, FailurePolicy, KindOrResource, WebhookPlan, WebhookRule};
use kubewright_value::{Document, Text, Value};

use crate::source::{CelPolicySource, ConstraintsSource, ResourceRule};

/// The timeout of a webhook for which a policy sets none.
const DEFAULT_TIMEOUT_SECONDS: i64 = 10;
/// The longest timeout that the API server accepts.
const MAX_TIMEOUT_SECONDS: i64 = 30;

/// The webhook that policies of one kind share in one phase.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WebhookShare {
    Validate,
    Mutate,
    MutateImages,
    ValidateImages,
}

impl WebhookShare {
    fn phase(self) -> AdmissionPhase {
        match self {
            Self::Validate | Self::ValidateImages => AdmissionPhase::Validating,
            Self::Mutate | Self::MutateImages => AdmissionPhase::Mutating,
        }
    }

    /// As Kyverno calls it.
    fn name(self) -> Text {
        Text::new_static(match self {
            Self::Validate => "vpol.validate.kyverno.svc",
            Self::Mutate => "mpol.mutate.kyverno.svc",
            Self::MutateImages => "ivpol.mutate.kyverno.svc",
            Self::ValidateImages => "ivpol.validate.kyverno.svc",
        })
    }
}

/// Returns the webhook for `policy`, whose controllers are in `generated`. Policies share one by their failure policy: the
/// rules themselves look at selectors and match conditions, which may use what the API server does not know.
pub(crate) fn admission_webhooks(
    document: &Document,
    policy: &CelPolicySource,
    generated: &[&ConstraintsSource],
    share: WebhookShare,
) -> Vec<WebhookPlan> {
    let failure_policy = if policy.is_fail_closed { FailurePolicy::Fail } else { FailurePolicy::Ignore };
    let constraints = policy.constraints.iter().chain(generated.iter().copied());
    let mut rules: Vec<WebhookRule> =
        constraints.flat_map(|constraints| &constraints.rules).flat_map(webhook_rules).collect();
    rules.sort();
    rules.dedup();
    let mut plan = WebhookPlan::new(share.phase(), failure_policy, rules);
    plan.timeout_seconds = timeout_seconds(document);
    plan.shared_name = Some(share.name());
    vec![plan]
}

fn webhook_rules(rule: &ResourceRule) -> Vec<WebhookRule> {
    let mut all = Vec::new();
    for group in &rule.groups {
        for version in &rule.versions {
            for resource in &rule.resources {
                let (name, part) = resource.value.split_once('/').unwrap_or((&resource.value, ""));
                all.push(WebhookRule {
                    group: group.clone(),
                    version: version.clone(),
                    name: KindOrResource::Resource(Text::new(name)),
                    subresource: Text::new(part),
                    operations: rule.operations,
                });
            }
        }
    }
    all
}

fn timeout_seconds(document: &Document) -> u8 {
    let written =
        document.value.at(&["spec", "webhookConfiguration", "timeoutSeconds"]).and_then(Value::as_i64);
    let seconds = written.unwrap_or(DEFAULT_TIMEOUT_SECONDS).clamp(1, MAX_TIMEOUT_SECONDS);
    u8::try_from(seconds).unwrap_or(WebhookPlan::DEFAULT_TIMEOUT_SECONDS)
}
