//! Checks of CleanupPolicies.

use kubewright_engine::Diagnostic;
use kubewright_value::Document;

use super::super::source::{CleanupSource, ContextSource};
use super::conditions::{ConditionPlace, check_conditions};
use super::{PolicyChecks, code, matching};
use kubewright_dialect_kit::fields::child_path;

/// Returns the diagnostics of a policy that deletes objects.
pub(in super::super) fn check_cleanup_policy(document: &Document, policy: &CleanupSource) -> Vec<Diagnostic> {
    let mut findings = PolicyChecks::new(document);
    for one in std::iter::once(&policy.matching).chain(&policy.exclude) {
        matching::check_match_shape(&mut findings, one, policy.namespace.as_ref());
        matching::users(&mut findings, one);
    }
    if let Some(conditions) = &policy.conditions {
        check_conditions(&mut findings, conditions, ConditionPlace::Rule);
    }
    for entry in &policy.context {
        let (field, what) = match &entry.from {
            ContextSource::ConfigMap { .. } => ("configMap", "ConfigMaps"),
            ContextSource::ImageRegistry { .. } => ("imageRegistry", "image registries"),
            ContextSource::Variable { .. }
            | ContextSource::ApiCall { .. }
            | ContextSource::GlobalReference { .. } => continue,
        };
        let message = format!("a cleanup policy does not read {what}");
        let help = "use `apiCall`, `globalReference` or `variable`";
        findings.at_key(&code::CLEANUP_LOOKUP, &child_path(&entry.path, field), message, help);
    }
    findings.diagnostics
}
