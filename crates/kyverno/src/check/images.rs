//! Checks of image rules.

use super::PolicyChecks;
use super::conditions::{self, ConditionPlace};
use crate::diagnostics as code;
use crate::source::images::ImagesSource;
use crate::source::{FailureAction, Method, PolicySource, RuleSource};
use kubewright_dialect_kit::fields::{Located, child_path};

/// Checks the conditions of image checks. Those of attestations see predicates, which are not known here.
pub(super) fn check_images(findings: &mut PolicyChecks<'_>, images: &ImagesSource) {
    for entry in &images.entries {
        if let Some(found) = entry.deny.as_ref().and_then(|deny| deny.conditions.as_ref()) {
            conditions::check_conditions(findings, found, ConditionPlace::Rule);
        }
        for found in entry.attestations.iter().filter_map(|one| one.conditions.as_ref()) {
            // A list of groups, each with `any` and `all`.
            let groups = found.value.as_array().unwrap_or_default().iter().enumerate();
            for (index, group) in groups {
                let group = Located { value: group.clone(), path: child_path(&found.path, index) };
                conditions::check_conditions(findings, &group, ConditionPlace::Rule);
            }
        }
    }
}

/// A policy that only reports must not change objects.
pub(super) fn check_image_action(findings: &mut PolicyChecks<'_>, policy: &PolicySource, rule: &RuleSource) {
    let Method::Images(images) = &rule.validate.method else { return };
    for entry in images.entries.iter().filter(|entry| entry.mutates_digest) {
        if entry.failure_action.unwrap_or(policy.settings.failure_action) == FailureAction::Audit {
            let key = child_path(&entry.path, "mutateDigest");
            let path = if findings.value(&key).is_some() { key } else { entry.path.clone() };
            let message = "`mutateDigest` is true, but the rule only reports";
            let help = "set `mutateDigest: false`, or `failureAction: Enforce`";
            findings.at_key(&code::AUDIT_MUTATES, &path, message, help);
        }
    }
}
