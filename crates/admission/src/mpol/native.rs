//! The MutatingAdmissionPolicy, with its binding, by which the API server does what a MutatingPolicy asks for.
//!
//! It is written only where the API server does the same: it is compiled as the API server's, which knows none of the
//! functions and variables of policies.

use kubewright_engine::{AdmissionPolicy, Dialect as _, NativeRule};
use kubewright_value::{Document, Map, Source, Text, Value};

use super::source::MutatingPolicySettings;
use crate::map::MutatingAdmissionPolicies;
use crate::native::{check_native_policy, generated_object, match_conditions};
use crate::source::CelPolicySource;
use crate::vpol::EvaluationTarget;
use crate::vpol::exceptions::CompiledPolicyException;

/// The fields of a policy that the API server's has under the same name.
const SHARED_FIELDS: [&str; 4] = ["matchConstraints", "failurePolicy", "variables", "mutations"];

/// A MutatingPolicy of which a MutatingAdmissionPolicy may be made.
pub(super) struct NativeCandidate<'c> {
    pub(super) document: &'c Document,
    pub(super) policy: &'c CelPolicySource,
    pub(super) settings: &'c MutatingPolicySettings,
    pub(super) exceptions: &'c [&'c CompiledPolicyException],
    /// Whether it also changes the controllers of Pods.
    pub(super) has_controllers: bool,
}

impl NativeCandidate<'_> {
    /// Returns what the API server can do in place of the policy, or why it cannot; nothing where the policy does not ask.
    pub(super) fn rule(&self) -> Option<Result<NativeRule, String>> {
        let asks = ["spec", "autogen", "mutatingAdmissionPolicy", "enabled"];
        if self.document.value.at(&asks).and_then(Value::as_bool) != Some(true) {
            return None;
        }
        let made = match self.obstacle() {
            Some(why) => Err(why.to_owned()),
            None => self.admission_policy(),
        };
        let rule = |admission_policy| NativeRule { admission_policy, remaining_webhooks: Vec::new() };
        Some(made.map(rule).map_err(|why| format!("skip generating MutatingAdmissionPolicy: {why}.")))
    }

    /// Returns what the API server has nothing for.
    fn obstacle(&self) -> Option<&'static str> {
        let settings = self.settings;
        let obstacles = [
            (self.policy.namespace.is_some(), "a policy of one namespace has none"),
            (settings.mode != EvaluationTarget::Kubernetes, "the policy is not about objects"),
            (!settings.is_admission, "admission is off"),
            (settings.changes_existing, "mutateExisting is enabled"),
            (settings.replaces_atomics, "useServerSideApply is enabled"),
            (self.has_controllers, "pod controllers autogen is enabled"),
        ];
        obstacles.into_iter().find(|(is_there, _)| *is_there).map(|(_, why)| why)
    }

    fn admission_policy(&self) -> Result<AdmissionPolicy, String> {
        let name = format!("mpol-{}", self.policy.name.value);
        let policy = generated_object(self.document, "MutatingAdmissionPolicy", &name, self.spec());
        let spec = Map::from([("policyName", name.as_str().into())]);
        let binding = format!("{name}-binding");
        let binding = generated_object(self.document, "MutatingAdmissionPolicyBinding", &binding, spec);
        let document = |value: &Value| Document::made(value.clone(), Source::new("", ""));
        let compiled = MutatingAdmissionPolicies::new().compile(&document(&policy), &[document(&binding)]);
        check_native_policy(&compiled)?;
        Ok(AdmissionPolicy { rule: Text::default(), policy, binding })
    }

    fn spec(&self) -> Map {
        let written = self.document.value.get("spec").and_then(Value::as_object);
        let mut spec = Map::new();
        for key in SHARED_FIELDS {
            if let Some(value) = written.and_then(|spec| spec.get(key)) {
                spec.insert(key.into(), value.clone());
            }
        }
        let reinvocation = self.document.value.str_at(&["spec", "reinvocationPolicy"]);
        let reinvocation = if reinvocation.is_empty() { "Never" } else { reinvocation };
        spec.insert("reinvocationPolicy".into(), reinvocation.into());
        let conditions = self.conditions();
        if !conditions.is_empty() {
            spec.insert("matchConditions".into(), Value::array(conditions));
        }
        spec
    }

    /// Returns the conditions: no exception applies, then those of the policy and of its webhook.
    fn conditions(&self) -> Vec<Value> {
        let mut all: Vec<(Text, Text)> =
            self.exceptions.iter().filter_map(|one| one.negated_condition()).collect();
        let own = self.policy.conditions.iter().chain(&self.settings.webhook_conditions);
        all.extend(own.map(|one| (one.name.value.clone(), one.expression.value.clone())));
        match_conditions(all.into_iter())
    }
}

#[cfg(test)]
mod tests;
