//! The response to a proxy's authorization request: that of the first expression with a result.

use kubewright_cel::Val;
use kubewright_cel::library::policy::CheckResponse;
use kubewright_engine::{EvalError, Evaluation};
use kubewright_value::Step;

use super::judge::{self, ConditionResult, ExpressionSubject};
use super::request::request_objects;
use super::scope::{ExpressionFailure, ExpressionScope, VariableValues};
use super::{CelChecks, Leniency};
use kubewright_dialect_kit::notes::TraceNotes;

/// The response to a request.
pub enum CheckResponseValue {
    /// Nothing: the conditions do not hold, or no expression has an answer.
    None,
    /// The response of an expression, and the path of the expression in the document.
    Given(CheckResponse, Vec<Step>),
    /// An expression does not fit the request.
    Failed(String),
    /// The engine could not evaluate the expressions.
    Error(EvalError),
}

impl CelChecks {
    /// Returns the response to `subject`, which is a request.
    pub fn respond(
        &self,
        subject: &ExpressionSubject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> CheckResponseValue {
        let (object, old_object) = request_objects(evaluation.request, subject.object);
        let scope = ExpressionScope {
            variables: &self.variables,
            values: VariableValues::of(&self.variables),
            ..judge::new_scope(object, old_object, subject, evaluation, notes)
        };
        let response = self.first(&scope, subject.lists);
        *notes = scope.notes.take();
        match response {
            CheckResponseValue::Failed(_) if self.leniency != Leniency::None => CheckResponseValue::None,
            response => response,
        }
    }

    fn first<'a>(
        &'a self,
        scope: &'a ExpressionScope<'a>,
        (conditions, answers): (&str, &str),
    ) -> CheckResponseValue {
        match judge::evaluate_condition_list(&self.conditions, conditions, scope) {
            ConditionResult::Met => {}
            ConditionResult::NotMet => return CheckResponseValue::None,
            ConditionResult::Failed(message) => return CheckResponseValue::Failed(message),
            ConditionResult::Error(error) => return CheckResponseValue::Error(error),
        }
        for (index, one) in self.assertions.iter().enumerate() {
            let value = match scope.evaluate(&one.expression, || format!("{answers}[{index}]")) {
                Ok(Val::Null) => continue,
                Ok(value) => value,
                Err(ExpressionFailure::Failed(message)) => return CheckResponseValue::Failed(message),
                Err(ExpressionFailure::Error(error)) => return CheckResponseValue::Error(error),
            };
            return match CheckResponse::of(&value) {
                Some(answer) => CheckResponseValue::Given(answer, one.expression.path.clone()),
                None => CheckResponseValue::Failed(format!(
                    "a response is expected, found `{}`",
                    value.type_name()
                )),
            };
        }
        CheckResponseValue::None
    }
}
