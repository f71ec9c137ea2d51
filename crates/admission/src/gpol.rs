//! GeneratingPolicy and NamespacedGeneratingPolicy: objects that are made because of others.

pub(crate) mod compile;
mod evaluate;
mod source;

use crate::policies::{PolicyLanguage, watched_policies};

/// The name that starts every rule id.
const NAME: &str = "gpol";

/// The dialect of GeneratingPolicies.
pub(crate) const LANGUAGE: PolicyLanguage = PolicyLanguage {
    name: NAME,
    watched: watched_policies([
        ("GeneratingPolicy", "generatingpolicies"),
        ("NamespacedGeneratingPolicy", "namespacedgeneratingpolicies"),
    ]),
    component: "kyverno-generate",
    compile: |surroundings, document| {
        compile::compile_generating_policy(&surroundings.environments, &surroundings.exceptions, document)
    },
    policy_rules: &[],
    checks_exceptions: false,
    // Kyverno learns of triggers by a webhook, and programs wait for its condition. Here watches do that.
    claims_webhook: true,
    missing_access: Some(&crate::diagnostics::MISSING_ACCESS),
};

#[cfg(test)]
mod tests;
