//! Which exceptions are made from a rule.

use super::Compiler;
use crate::conditions::Conditions;
use crate::evaluate::Exception;
use crate::matching::Matcher;
use crate::pod_security::Exclusion;
use crate::source;
use kubewright_dialect_kit::fields::Placed;
use kubewright_golib::glob;
use kubewright_value::{Budget, Text};

impl Compiler<'_> {
    /// Returns the exceptions from the rule called `name`.
    pub(super) fn exceptions(&self, name: &Text) -> Vec<Exception> {
        let policy = self.policy.key();
        let about = self.dialect.exceptions.iter().filter(|exception| exception.is_for(&policy, name));
        about.map(|exception| self.exception(exception)).collect()
    }

    fn exception(&self, exception: &source::Exception) -> Exception {
        let compile =
            |conditions: &Placed<_>| Conditions::compile(conditions, &self.dialect.functions).0.excusing();
        Exception {
            key: exception.key.clone(),
            matcher: Matcher::of_exception(&exception.matching),
            conditions: exception.conditions.as_ref().map(compile),
            pod_security: exception.pod_security.iter().map(Exclusion::compile).collect(),
        }
    }
}

impl source::Exception {
    /// Returns whether it is made from `rule` of the policy called `policy`.
    #[must_use]
    pub fn is_for(&self, policy: &Text, rule: &Text) -> bool {
        let fits = |pattern: &Text| glob::matches(pattern, rule, &mut Budget::default()).unwrap_or(false);
        self.policies.iter().any(|(name, rules)| name == policy && rules.iter().any(fits))
    }
}
