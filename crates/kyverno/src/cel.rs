//! Rules in CEL: expressions that must hold, with variables, preconditions and parameters.

use std::cell::Cell;
use std::sync::Arc;

use kubewright_engine::{EvalError, Evaluation};
use kubewright_value::{Step, Text, Value};

use super::evaluate::{CheckVerdict, PathOrigin, RuleViolation};
use super::source::Cel;
use kubewright_cel_rules::diagnostics::CONSTANT_CEL;
use kubewright_cel_rules::source::NamedExpression;
use kubewright_cel_rules::{
    AvailableVariables, CelChecks, CheckResult, ConditionResult, Environments, ExpressionCompiler,
    ExpressionProblem, ExpressionSubject, NamedCondition, ParamWords, Params, WorkloadChecks,
};
use kubewright_cel_rules::{SpentCost, Violation, evaluate_match_conditions};
use kubewright_dialect_kit::fields::Located;
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_k8s::PodTemplatePath;

/// The names of the two lists in traces.
const LISTS: (&str, &str) = ("celPreconditions", "expressions");

/// Kyverno's wording of errors about parameters.
const PARAM_WORDS: ParamWords =
    ParamWords { problem: "error in parameterized resource", missing: "no params found" };

/// A rule in CEL.
pub(super) struct CelCheck {
    checks: WorkloadChecks,
    params: Option<Params>,
    /// Whether the API server checks it, through a ValidatingAdmissionPolicy.
    is_elsewhere: bool,
}

/// Everything of a rule in CEL that had to be parsed; a rule for controllers is made from the same.
pub(super) struct CelParts {
    checks: Arc<CelChecks>,
    params: Option<Params>,
    /// Whether it was written as a ValidatingAdmissionPolicy.
    pub(super) is_elsewhere: bool,
}

/// Match conditions, which are evaluated first and must all hold.
#[derive(Default)]
pub(super) struct CelPreconditions(Vec<NamedCondition>);

/// Compiles a CEL rule; `message` is the rule's, for expressions without one, and `kinds` are the matched kinds.
pub(super) fn compile_cel_rule(
    environments: &Environments,
    cel: &Cel,
    preconditions: &[NamedExpression],
    message: Option<&Located<Text>>,
    kinds: &[&str],
) -> (CelParts, Vec<ExpressionProblem>) {
    let mut compiler = ExpressionCompiler::new(kinds);
    let given = AvailableVariables { namespace: true, params: cel.params.is_some(), authorizer: true };
    let mut environment = environments.environment(given);
    let mut for_messages = environments.environment(AvailableVariables { authorizer: false, ..given });
    let variables = compiler.variables(&cel.variables, &mut [&mut environment, &mut for_messages]);
    let checks = CelChecks {
        variables,
        conditions: compiler.conditions(preconditions, &environment),
        assertions: compiler.assertions(&cel.expressions, &environment, &for_messages, message),
        ..CelChecks::default()
    };
    let checks = Arc::new(checks.finished());
    // These are not reported.
    compiler.annotations(&cel.audit_annotations, &environment);
    if cel.expressions.is_empty() {
        let message = "there are no expressions, so every object passes".to_owned();
        compiler.problems.push(ExpressionProblem::about(&CONSTANT_CEL, &cel.path, message, ""));
    }
    compiler.unused(&cel.variables);
    let params = cel.params.as_ref().map(|(kind, reference)| Params::compile(kind, reference, PARAM_WORDS));
    (CelParts { checks, params, is_elsewhere: false }, compiler.problems)
}

/// Compiles the webhook's match conditions.
pub(super) fn compile_match_conditions(
    environments: &Environments,
    conditions: &[NamedExpression],
) -> (CelPreconditions, Vec<ExpressionProblem>) {
    let mut compiler = ExpressionCompiler::new(&[]);
    let environment =
        environments.environment(AvailableVariables { authorizer: true, ..AvailableVariables::default() });
    (CelPreconditions(compiler.conditions(conditions, &environment)), compiler.problems)
}

impl CelParts {
    /// Returns the checks for `to`.
    pub(super) fn build(&self, to: PodTemplatePath) -> CelCheck {
        CelCheck {
            checks: WorkloadChecks::new(&self.checks, to),
            params: self.params.clone(),
            is_elsewhere: self.is_elsewhere,
        }
    }
}

impl CelCheck {
    /// Returns the branches that tests can leave out.
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        self.checks.branches(LISTS.0, LISTS.1)
    }

    /// Evaluates `object`; `passed` is the message when it passes.
    pub(super) fn check(
        &self,
        passed: &Text,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> CheckVerdict {
        if self.is_elsewhere {
            return CheckVerdict::Nothing(
                "checked by the ValidatingAdmissionPolicy generated from it".into(),
            );
        }
        cel_verdict(self.judged(object, evaluation, notes))
            .unwrap_or_else(|| CheckVerdict::Pass(passed.clone()))
    }

    /// Returns the only message that it has; empty where there are several.
    pub(super) fn message(&self) -> &str {
        self.checks.message()
    }

    /// Returns the first finding that the object is not fine.
    fn judged(&self, object: &Value, evaluation: &mut Evaluation<'_>, notes: &mut TraceNotes) -> CheckResult {
        let spent = Cell::new(SpentCost::within(evaluation.budget));
        let finding = self.finding(object, &spent, evaluation, notes);
        spent.get().charge(evaluation.budget);
        finding
    }

    fn finding(
        &self,
        object: &Value,
        spent: &Cell<SpentCost>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> CheckResult {
        let subject = ExpressionSubject::of(object, LISTS, spent);
        let Some(params) = &self.params else {
            return self.checks.judge(&subject, evaluation, notes);
        };
        let world = evaluation.world;
        let found = match params.find(evaluation.request, world, evaluation.budget) {
            Ok(found) => found,
            Err(error) => return CheckResult::Error(error),
        };
        let mut findings = found.iter().map(|params| {
            let subject = ExpressionSubject { params, ..ExpressionSubject::of(object, LISTS, spent) };
            self.checks.judge(&subject, evaluation, notes)
        });
        findings.find(|finding| !matches!(finding, CheckResult::Holds)).unwrap_or(CheckResult::Holds)
    }
}

/// Nothing means that the object is fine.
fn cel_verdict(finding: CheckResult) -> Option<CheckVerdict> {
    Some(match finding {
        CheckResult::Holds => return None,
        CheckResult::NotAsked => CheckVerdict::Skip("cel preconditions not met".into()),
        CheckResult::Violated(Violation { message, template, path, at })
        | CheckResult::Failed(Violation { message, template, path, at })
        | CheckResult::Unsaid(Violation { message, template, path, at }) => {
            let from = PathOrigin::Object;
            CheckVerdict::Fail(RuleViolation { template, path, from, at, ..RuleViolation::new(message) })
        }
        CheckResult::Error(error) => CheckVerdict::Error(error),
    })
}

impl CelPreconditions {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether all of them hold for the request of `evaluation`.
    pub(super) fn are_met(
        &self,
        object: &Value,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, EvalError> {
        let spent = Cell::default();
        let subject = ExpressionSubject::of(object, ("matchConditions", ""), &spent);
        match evaluate_match_conditions(&self.0, &subject, evaluation, notes) {
            ConditionResult::Met => Ok(true),
            ConditionResult::NotMet => Ok(false),
            ConditionResult::Error(error) => Err(error),
            ConditionResult::Failed(message) => Err(EvalError::new(message)),
        }
    }
}

#[cfg(test)]
mod tests;
