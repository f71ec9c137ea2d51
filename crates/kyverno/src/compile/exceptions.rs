//! Which exceptions are made from a rule.

use std::sync::Arc;

use super::PolicyCompiler;
use crate::conditions::ConditionSet;
use crate::evaluate::{CompiledException, NearException, Rooted};
use crate::matching::MatchExclude;
use crate::pod_security::CompiledExclusion;
use crate::source;
use kubewright_dialect_kit::fields::Located;
use kubewright_golib::glob;
use kubewright_value::{Budget, Text};

impl PolicyCompiler<'_> {
    /// Returns the exceptions from the rule called `name`.
    pub(super) fn exceptions(&mut self, name: &Text) -> Vec<CompiledException> {
        let (policy, dialect) = (self.policy.key(), self.dialect);
        let own = dialect.exceptions.iter().filter(|exception| exception.is_for(&policy, name));
        own.map(|exception| self.exception(exception)).collect()
    }

    /// Returns the exceptions from other rules of the policy.
    pub(super) fn near_exceptions(&self, name: &Text) -> Vec<NearException> {
        let policy = self.policy.key();
        let near = self.dialect.exceptions.iter().filter(|exception| !exception.is_for(&policy, name));
        near.filter_map(|exception| {
            let (_, named) = exception.policies.iter().find(|(other, _)| *other == policy)?;
            Some(NearException {
                key: exception.key.clone(),
                rule: name.clone(),
                named: named.clone(),
                location: exception.location.clone(),
            })
        })
        .collect()
    }

    fn exception(&mut self, exception: &source::ExceptionSource) -> CompiledException {
        let functions = &self.dialect.functions;
        let compile = |written: &Located<_>| {
            let conditions = ConditionSet::compile(written, functions).0.excusing();
            let variables = conditions.templates().flat_map(|template| template.variables());
            self.observe(variables.filter_map(|variable| variable.roots()));
            Rooted { value: conditions, path: written.path.clone() }
        };
        CompiledException {
            key: exception.key.clone(),
            location: exception.location.clone(),
            document: Arc::clone(&exception.document),
            matcher: MatchExclude::of_exception(&exception.matching),
            conditions: exception.conditions.as_ref().map(compile),
            pod_security: exception.pod_security.iter().map(CompiledExclusion::compile).collect(),
        }
    }
}

impl source::ExceptionSource {
    /// Returns whether it is made from `rule` of the policy called `policy`.
    #[must_use]
    pub fn is_for(&self, policy: &Text, rule: &Text) -> bool {
        let fits =
            |pattern: &Text| glob::matches_wildcard(pattern, rule, &mut Budget::default()).unwrap_or(false);
        self.policies.iter().any(|(name, rules)| name == policy && rules.iter().any(fits))
    }
}
