//! ImageValidatingPolicy and NamespacedImageValidatingPolicy: validations in CEL about the images of an object.

mod compile;
mod digests;
mod evaluate;
mod source;

use crate::policies::{PolicyLanguage, watched_policies};

/// The name that starts every rule id.
const NAME: &str = "ivpol";

/// The dialect of ImageValidatingPolicies.
pub(crate) const LANGUAGE: PolicyLanguage = PolicyLanguage {
    name: NAME,
    watched: watched_policies([
        ("ImageValidatingPolicy", "imagevalidatingpolicies"),
        ("NamespacedImageValidatingPolicy", "namespacedimagevalidatingpolicies"),
    ]),
    component: "kyverno-admission",
    compile: |surroundings, document| {
        compile::compile_image_policy(surroundings.inputs, &surroundings.exceptions, document)
    },
    policy_rules: &[],
    checks_exceptions: false,
    claims_webhook: false,
    missing_access: None,
};

#[cfg(test)]
mod tests;
