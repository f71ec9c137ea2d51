//! One object, judged by expressions.

use std::cell::{Cell, OnceCell, RefCell};

use kubewright_engine::{EvalError, Evaluation};
use kubewright_lang::cel::Val;
use kubewright_value::{Text, Value};

use super::scope::{Namespace, Scope, Stopped};
use super::{Assertion, CelCheck, Condition, Conditions, Variable};
use crate::kyverno::context::objects;
use crate::kyverno::evaluate::{Failure, From, Verdict};
use crate::kyverno::notes::Notes;

/// How long a message that is computed may be, in bytes.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// What a rule without parameters reads there.
static NO_PARAMS: Value = Value::Null;

/// What came of conditions.
enum Asked {
    Met,
    NotMet,
    Stopped(Stopped),
}

impl CelCheck {
    /// Judges `object`; `passed` is what is said when it is fine.
    pub(in super::super) fn check(
        &self,
        passed: &Text,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut Notes,
    ) -> Verdict {
        let passed = || Verdict::Pass(passed.clone());
        if self.is_elsewhere {
            return Verdict::Nothing("the ValidatingAdmissionPolicy that was made of it checks".into());
        }
        let spent = Cell::new(0);
        let Some(params) = &self.params else {
            return self.once(&NO_PARAMS, object, &spent, evaluation, notes).unwrap_or_else(passed);
        };
        let world = evaluation.world;
        let found = match params.find(&evaluation.request.namespace, world, evaluation.budget) {
            Ok(found) => found,
            Err(error) => return Verdict::Error(error),
        };
        for one in &found {
            if let Some(verdict) = self.once(one, object, &spent, evaluation, notes) {
                return verdict;
            }
        }
        passed()
    }

    /// Judges `object` with one object of parameters; nothing means that it is fine.
    fn once(
        &self,
        params: &Value,
        object: &Value,
        spent: &Cell<u64>,
        evaluation: &Evaluation<'_>,
        notes: &mut Notes,
    ) -> Option<Verdict> {
        let (object, old_object) = objects(evaluation.request, object);
        let scope = Scope {
            params,
            namespace: if self.needs_namespace { namespace(evaluation) } else { Namespace::None },
            ..scope(&object, &old_object, &self.variables, evaluation, spent, notes)
        };
        let verdict = self.judge(&scope);
        *notes = scope.notes.take();
        verdict
    }

    fn judge<'a>(&'a self, scope: &'a Scope<'a>) -> Option<Verdict> {
        match asked(&self.preconditions, "celPreconditions", scope) {
            Asked::Met => {}
            Asked::NotMet => return Some(Verdict::Skip("cel preconditions not met".into())),
            Asked::Stopped(Stopped::Error(error)) => return Some(Verdict::Error(error)),
            Asked::Stopped(Stopped::Failed(message)) => {
                let at = self.preconditions.first().map(|one| one.expression.path.clone());
                return Some(failed(message, Vec::new(), at.unwrap_or_default()));
            }
        }
        self.expressions.iter().enumerate().find_map(|(index, one)| one.judge(index, scope))
    }
}

impl Conditions {
    /// Returns whether all of them hold for the request of `evaluation`.
    pub(in super::super) fn are_met(
        &self,
        object: &Value,
        evaluation: &Evaluation<'_>,
        notes: &mut Notes,
    ) -> Result<bool, EvalError> {
        let (object, old_object) = objects(evaluation.request, object);
        let spent = Cell::new(0);
        let scope = scope(&object, &old_object, &[], evaluation, &spent, notes);
        let asked = asked(&self.0, "matchConditions", &scope);
        *notes = scope.notes.take();
        match asked {
            Asked::Met => Ok(true),
            Asked::NotMet => Ok(false),
            Asked::Stopped(Stopped::Error(error)) => Err(error),
            Asked::Stopped(Stopped::Failed(message)) => Err(EvalError::new(message)),
        }
    }
}

fn scope<'a>(
    object: &'a Value,
    old_object: &'a Value,
    variables: &'a [Variable],
    evaluation: &Evaluation<'a>,
    spent: &'a Cell<u64>,
    notes: &mut Notes,
) -> Scope<'a> {
    Scope {
        request: evaluation.request,
        world: evaluation.world,
        object,
        old_object,
        params: &NO_PARAMS,
        namespace: Namespace::None,
        variables,
        values: Scope::unread(variables),
        made: OnceCell::new(),
        spent,
        notes: RefCell::new(std::mem::take(notes)),
        unanswered: RefCell::new(None),
    }
}

/// A namespace is in no namespace.
fn namespace<'a>(evaluation: &Evaluation<'a>) -> Namespace<'a> {
    let kind = &evaluation.request.kind;
    if kind.group.is_empty() && kind.kind == "Namespace" {
        return Namespace::None;
    }
    match evaluation.namespace() {
        Ok(Some(namespace)) => Namespace::Known(namespace),
        Ok(None) => Namespace::None,
        Err(error) => Namespace::Unknown(error),
    }
}

/// One that does not hold is enough, whether others fail or not.
fn asked<'a>(conditions: &'a [Condition], list: &str, scope: &'a Scope<'a>) -> Asked {
    let mut failures = Vec::new();
    for one in conditions {
        match scope.evaluate(&one.expression, || format!("{list} {}", one.name)) {
            Ok(Val::Bool(true)) => {}
            Ok(Val::Bool(false)) => return Asked::NotMet,
            Ok(other) => failures.push(no_bool(&one.expression.text, &other)),
            Err(Stopped::Failed(message)) => failures.push(message),
            Err(stopped) => return Asked::Stopped(stopped),
        }
    }
    match failures.as_slice() {
        [] => Asked::Met,
        [one] => Asked::Stopped(Stopped::Failed(one.clone())),
        all => Asked::Stopped(Stopped::Failed(format!("[{}]", all.join(", ")))),
    }
}

impl Assertion {
    /// Nothing means that it holds.
    fn judge<'a>(&'a self, index: usize, scope: &'a Scope<'a>) -> Option<Verdict> {
        let path = || self.expression.path.clone();
        match scope.evaluate(&self.expression, || format!("expressions[{index}]")) {
            Ok(Val::Bool(true)) => None,
            Ok(Val::Bool(false)) => match self.message(scope) {
                Ok(message) => Some(failed(message, self.about.clone(), path())),
                Err(error) => Some(Verdict::Error(error)),
            },
            Ok(other) => Some(failed(no_bool(&self.expression.text, &other), self.about.clone(), path())),
            Err(Stopped::Failed(message)) => Some(failed(message, self.about.clone(), path())),
            Err(Stopped::Error(error)) => Some(Verdict::Error(error)),
        }
    }

    /// A message that cannot be computed, is empty, too long or of several lines gives way to the written one.
    fn message<'a>(&'a self, scope: &'a Scope<'a>) -> Result<String, EvalError> {
        if let Some(expression) = &self.message_expression {
            match scope.evaluate(expression, || "messageExpression".to_owned()) {
                Ok(value) => {
                    let text = value.as_str().unwrap_or_default().trim();
                    if !text.is_empty() && text.len() <= MESSAGE_LIMIT && !text.contains('\n') {
                        return Ok(text.to_owned());
                    }
                }
                Err(Stopped::Error(error)) => return Err(error),
                Err(Stopped::Failed(_)) => {}
            }
        }
        Ok(match self.message.trim() {
            "" => format!("failed expression: {}", self.expression.text.trim()),
            message => message.to_owned(),
        })
    }
}

fn failed(message: String, path: Vec<kubewright_value::Step>, at: Vec<kubewright_value::Step>) -> Verdict {
    Verdict::Fail(Failure { message, path, from: From::Object, at })
}

fn no_bool(text: &str, found: &Val<'_>) -> String {
    format!("expression '{text}' resulted in error: must evaluate to bool but got {}", found.type_name())
}
