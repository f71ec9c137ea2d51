//! The webhook of a policy.

use kubewright_engine::{AdmissionPhase, FailurePolicy, WebhookPlan};
use kubewright_value::{Document, Map, Value};

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
    /// Returns the webhooks of all rules but the one called `without`: one for what validates, and one for the mutating
    /// phase of image rules.
    pub(crate) fn webhooks(self, without: Option<&str>) -> Vec<WebhookPlan> {
        let Self { document, policy, generated } = self;
        let failure_policy =
            if policy.settings.is_fail_closed { FailurePolicy::Fail } else { FailurePolicy::Ignore };
        let (rules, image_rules) = match policy.settings.is_admission {
            true => (
                targets::webhook_rules_of(policy, generated, without),
                targets::webhook_rules_of_images(policy, generated),
            ),
            false => Default::default(),
        };
        let mut plan = WebhookPlan::new(AdmissionPhase::Validating, failure_policy, rules);
        plan.timeout_seconds = timeout_seconds(document);
        let conditions = policy.settings.match_conditions.iter();
        plan.match_conditions =
            conditions.map(|one| (one.name.value.clone(), one.expression.value.clone())).collect();
        if !plan.match_conditions.is_empty() {
            dedicate(&mut plan, policy);
        }
        if image_rules.is_empty() {
            return vec![plan];
        }
        let phase = AdmissionPhase::Mutating;
        let mutating = WebhookPlan { phase, rules: image_rules, ..plan.clone() };
        vec![plan, mutating]
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
    if let Some(namespace) = &policy.namespace {
        let labels = Map::from([("kubernetes.io/metadata.name", Value::from(namespace.as_str()))]);
        plan.namespace_selector = Map::from([("matchLabels", Value::from(labels))]).into();
    }
}
