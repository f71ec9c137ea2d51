//! The webhook of a policy.

use kubewright_engine::{AdmissionPhase, FailurePolicy, WebhookPlan};
use kubewright_value::{Document, Value};

use super::targets;
use crate::autogen::AutogenRule;
use crate::source::PolicySource;

/// The longest timeout that the API server accepts.
const MAX_TIMEOUT_SECONDS: i64 = 30;

/// A checked policy and the rules that were generated from it for controllers.
#[derive(Clone, Copy)]
pub(crate) struct Planned<'p> {
    pub(crate) document: &'p Document,
    pub(crate) policy: &'p PolicySource,
    pub(crate) generated: &'p [AutogenRule],
}

impl Planned<'_> {
    /// Returns the webhooks of all rules but the one called `without`: one for each phase in which there are rules.
    pub(crate) fn webhooks(self, without: Option<&str>) -> Vec<WebhookPlan> {
        let phases = [AdmissionPhase::Mutating, AdmissionPhase::Validating];
        let plans = phases.map(|phase| self.webhook(without, phase));
        let is_needed =
            |plan: &WebhookPlan| plan.phase == AdmissionPhase::Validating || !plan.rules.is_empty();
        plans.into_iter().filter(is_needed).collect()
    }

    fn webhook(self, without: Option<&str>, phase: AdmissionPhase) -> WebhookPlan {
        let Self { document, policy, generated } = self;
        let failure_policy =
            if policy.settings.is_fail_closed { FailurePolicy::Fail } else { FailurePolicy::Ignore };
        let rules = match policy.settings.is_admission {
            true => targets::webhook_rules_of(policy, generated, without, phase),
            false => Vec::new(),
        };
        let mut plan = WebhookPlan::new(phase, failure_policy, rules);
        plan.timeout_seconds = timeout_seconds(document);
        plan.namespaces = policy.namespace.iter().cloned().collect();
        let conditions = policy.settings.match_conditions.iter();
        plan.match_conditions =
            conditions.map(|one| (one.name.value.clone(), one.expression.value.clone())).collect();
        if !plan.match_conditions.is_empty() {
            dedicate(&mut plan, policy);
        }
        plan
    }
}

fn timeout_seconds(document: &Document) -> u8 {
    let spec = |path: &[&str]| document.value.at(&[&["spec"], path].concat());
    let written = spec(&["webhookConfiguration", "timeoutSeconds"]).or(spec(&["webhookTimeoutSeconds"]));
    let seconds = written.and_then(Value::as_i64).map(|seconds| seconds.clamp(1, MAX_TIMEOUT_SECONDS));
    seconds.and_then(|seconds| u8::try_from(seconds).ok()).unwrap_or(WebhookPlan::DEFAULT_TIMEOUT_SECONDS)
}

/// Gives the policy a webhook of its own, because its match conditions are those of no other.
fn dedicate(plan: &mut WebhookPlan, policy: &PolicySource) {
    // Namespaces have no dots in their names.
    let name = &policy.name.value;
    plan.dedicated_name = Some(match &policy.namespace {
        None => format!("cpol.{name}").into(),
        Some(namespace) => format!("pol.{namespace}.{name}").into(),
    });
}
