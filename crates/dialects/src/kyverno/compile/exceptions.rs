//! Which exceptions are made from a rule.

use super::Compiler;
use crate::fields::Placed;
use crate::kyverno::conditions::Conditions;
use crate::kyverno::evaluate::Exception;
use crate::kyverno::matching::Matcher;
use crate::kyverno::pod_security::Exclusion;
use crate::kyverno::source;
use kubewright_lang::glob;
use kubewright_value::{Budget, Text};

impl Compiler<'_> {
    /// Returns the exceptions from the rule called `name`.
    pub(super) fn exceptions(&mut self, name: &Text) -> Vec<Exception> {
        let (policy, dialect) = (self.policy.key(), self.dialect);
        let own = dialect.exceptions.iter().filter(|exception| exception.is_for(&policy, name));
        own.map(|exception| self.exception(exception)).collect()
    }

    fn exception(&mut self, exception: &source::Exception) -> Exception {
        let functions = &self.dialect.functions;
        let compile = |conditions: &Placed<_>| {
            let conditions = Conditions::compile(conditions, functions).0.excusing();
            let variables = conditions.templates().flat_map(|template| template.variables());
            self.observe(variables.filter_map(|variable| variable.roots()));
            conditions
        };
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
    pub(crate) fn is_for(&self, policy: &Text, rule: &Text) -> bool {
        let fits = |pattern: &Text| glob::matches(pattern, rule, &mut Budget::default()).unwrap_or(false);
        self.policies.iter().any(|(name, rules)| name == policy && rules.iter().any(fits))
    }
}
