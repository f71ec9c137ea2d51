//! A request that a proxy asks about, answered by the first expression that has an answer.

use kubewright_cel::Val;
use kubewright_cel::library::policy::CheckResponse;
use kubewright_engine::{EvalError, Evaluation};
use kubewright_value::Step;

use super::judge::{self, Asked, Subject};
use super::request::objects;
use super::scope::{Scope, Stopped, Values};
use super::{Checks, Leniency};
use kubewright_dialect_kit::notes::Notes;

/// What a request is told.
pub enum Response {
    /// Nothing: the conditions do not hold, or no expression has an answer.
    None,
    /// The answer of an expression, and where the expression stands in the document.
    Given(CheckResponse, Vec<Step>),
    /// An expression does not fit the request.
    Failed(String),
    /// Nobody can say.
    Error(EvalError),
}

impl Checks {
    /// Returns what `subject`, which is a request, is told.
    pub fn respond(&self, subject: &Subject<'_>, evaluation: &Evaluation<'_>, notes: &mut Notes) -> Response {
        let (object, old_object) = objects(evaluation.request, subject.object);
        let scope = Scope {
            variables: &self.variables,
            values: Values::of(&self.variables),
            ..judge::scope(object, old_object, subject, evaluation, notes)
        };
        let response = self.first(&scope, subject.lists);
        *notes = scope.notes.take();
        match response {
            Response::Failed(_) if self.leniency != Leniency::None => Response::None,
            response => response,
        }
    }

    fn first<'a>(&'a self, scope: &'a Scope<'a>, (conditions, answers): (&str, &str)) -> Response {
        match judge::asked(&self.conditions, conditions, scope) {
            Asked::Met => {}
            Asked::NotMet => return Response::None,
            Asked::Failed(message) => return Response::Failed(message),
            Asked::Error(error) => return Response::Error(error),
        }
        for (index, one) in self.assertions.iter().enumerate() {
            let value = match scope.evaluate(&one.expression, || format!("{answers}[{index}]")) {
                Ok(Val::Null) => continue,
                Ok(value) => value,
                Err(Stopped::Failed(message)) => return Response::Failed(message),
                Err(Stopped::Error(error)) => return Response::Error(error),
            };
            return match CheckResponse::of(&value) {
                Some(answer) => Response::Given(answer, one.expression.path.clone()),
                None => Response::Failed(format!("a response is expected, found `{}`", value.type_name())),
            };
        }
        Response::None
    }
}
