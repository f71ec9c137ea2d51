//! The webhook of a policy: the resources of its constraints, and those of the controllers that make Pods.

use std::sync::LazyLock;

use kubewright_cel::CelEnvironment;
use kubewright_cel_rules::source::NamedExpression;
use kubewright_cel_rules::{AvailableVariables, Environments, ExpressionCompiler};
use kubewright_engine::{AdmissionPhase, FailurePolicy, KindOrResource, WebhookPlan, WebhookRule};
use kubewright_value::{Document, Text, Value};

use crate::source::{CelPolicySource, ConstraintsSource, ResourceRule};
use crate::text_field;

/// The timeout of a webhook for which a policy sets none.
const DEFAULT_TIMEOUT_SECONDS: i64 = 10;
/// The longest timeout that the API server accepts.
const MAX_TIMEOUT_SECONDS: i64 = 30;

/// The environment in which the API server evaluates the conditions of webhooks.
static CONDITION_ENVIRONMENT: LazyLock<CelEnvironment> = LazyLock::new(|| {
    let given = AvailableVariables { namespace: false, params: false, authorizer: true };
    Environments::admission().environment(given)
});

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

/// Returns the webhook for `policy`, whose controllers are in `generated`. Policies share one by their failure policy, but
/// one with conditions that the API server can evaluate has its own, which is called only where they hold. The rules
/// themselves look at selectors and at all conditions, which may use what the API server does not know.
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
    plan.namespaces = policy.namespace.iter().cloned().collect();
    plan.shared_name = Some(share.name());
    // The conditions of a policy about Pods are not about their controllers.
    let conditions = if generated.is_empty() { native_conditions(policy) } else { Vec::new() };
    if !conditions.is_empty() {
        plan.repeats_conditions = true;
        dedicate_webhook(&mut plan, document, policy, conditions);
    }
    vec![plan]
}

/// Gives `policy` a webhook of its own, which the API server calls only where `conditions` hold.
pub(crate) fn dedicate_webhook(
    plan: &mut WebhookPlan,
    document: &Document,
    policy: &CelPolicySource,
    conditions: Vec<(Text, Text)>,
) {
    plan.match_conditions = conditions;
    let kind = text_field(document, "kind");
    let short = match kind.strip_prefix("Namespaced").unwrap_or(kind) {
        "MutatingPolicy" => "mpol",
        "ImageValidatingPolicy" => "ivpol",
        _ => "vpol",
    };
    let name = &policy.name.value;
    // Namespaces have no dots in their names.
    plan.dedicated_name = Some(match &policy.namespace {
        None => format!("{short}.{name}").into(),
        Some(namespace) => format!("n{short}.{namespace}.{name}").into(),
    });
}

/// Returns those of the conditions that the API server can evaluate: it knows no variables and no functions of policies.
fn native_conditions(policy: &CelPolicySource) -> Vec<(Text, Text)> {
    let is_native = |one: &&NamedExpression| {
        let mut compiler = ExpressionCompiler::new(&[]);
        compiler.conditions(std::slice::from_ref(*one), &CONDITION_ENVIRONMENT);
        compiler.problems.is_empty()
    };
    let native = policy.conditions.iter().filter(is_native);
    native.map(|one| (one.name.value.clone(), one.expression.value.clone())).collect()
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
