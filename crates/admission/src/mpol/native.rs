//! The MutatingAdmissionPolicy, with its binding, by which the API server does what a MutatingPolicy asks for.
//!
//! It is written only where the API server does the same: it is compiled as the API server's, which knows none of the
//! functions and variables of policies.

use std::collections::HashSet;

use kubewright_engine::{AdmissionPolicy, Diagnostic, Dialect as _, GENERATED_LABEL, NativeRule};
use kubewright_value::{Document, Map, Source, Text, Value};

use super::source::MutatingPolicySettings;
use crate::map::MutatingAdmissionPolicies;
use crate::source::CelPolicySource;
use crate::vpol::EvaluationTarget;
use crate::vpol::exceptions::CompiledPolicyException;

/// The version in which both are made; what the API server serves decides in which they are written.
const NATIVE_VERSION: &str = "admissionregistration.k8s.io/v1";

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
        let policy = self.object("MutatingAdmissionPolicy", &name, self.spec());
        let spec = Map::from([("policyName", name.as_str().into())]);
        let binding = self.object("MutatingAdmissionPolicyBinding", &format!("{name}-binding"), spec);
        check_native(&policy, &binding)?;
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
        let mut names = HashSet::new();
        let condition = |(number, (name, expression)): (usize, (Text, Text))| {
            // The API server refuses a name that is there twice.
            let is_new = names.insert(name.clone());
            let name = if is_new { name } else { format!("{name}-{number}").into() };
            Value::from(Map::from([("name", name.into()), ("expression", expression.into())]))
        };
        all.into_iter().enumerate().map(condition).collect()
    }

    fn object(&self, kind: &str, name: &str, spec: Map) -> Value {
        let labels = Map::from([
            ("app.kubernetes.io/managed-by", Value::from("kyverno")),
            (GENERATED_LABEL, "true".into()),
        ]);
        let metadata = Map::from([
            ("name", Value::from(name)),
            ("labels", labels.into()),
            ("ownerReferences", Value::array(vec![self.owner()])),
        ]);
        Map::from([
            ("apiVersion", Value::from(NATIVE_VERSION)),
            ("kind", kind.into()),
            ("metadata", metadata.into()),
            ("spec", spec.into()),
        ])
        .into()
    }

    /// Returns the reference that removes both together with the policy.
    fn owner(&self) -> Value {
        let part = |path: &[&str]| self.document.value.at(path).cloned().unwrap_or_default();
        Map::from([
            ("apiVersion", part(&["apiVersion"])),
            ("kind", part(&["kind"])),
            ("name", part(&["metadata", "name"])),
            ("uid", part(&["metadata", "uid"])),
        ])
        .into()
    }
}

/// Fails with the first reason why the API server would refuse `policy`.
fn check_native(policy: &Value, binding: &Value) -> Result<(), String> {
    let document = |value: &Value| Document::made(value.clone(), Source::new("", ""));
    let compiled = MutatingAdmissionPolicies::new().compile(&document(policy), &[document(binding)]);
    match compiled.diagnostics.iter().find(|diagnostic| Diagnostic::is_error(diagnostic)) {
        Some(error) => Err(format!("the API server would refuse it: {}", error.message)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
