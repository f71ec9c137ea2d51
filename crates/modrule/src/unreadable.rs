//! A rejecting rule with a mistake, which `--fail-closed` makes refuse the objects it cannot evaluate.
//!
//! The readable criteria of its `match` decide which objects it matches: possibly more than intended, never fewer. A
//! rule without a readable criterion on a kind is left out: refusing everything would lock the namespace.

use kubewright_engine::{Applies, Effect, EvalError, Evaluation, RuleProgram};
use kubewright_value::{Text, Value};

use super::evaluate::ModRuleProgram;

/// A rule that ends in an error for every object it matches.
pub(super) struct UnreadableRule {
    pub(super) rule: ModRuleProgram,
    /// The first mistake in it.
    pub(super) reason: Text,
}

impl RuleProgram for UnreadableRule {
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        self.rule.applies(object, evaluation)
    }

    fn evaluate(&self, _: &mut Value, _: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        Err(EvalError::new(format!("the rule is not valid: {}", self.reason)))
    }
}
