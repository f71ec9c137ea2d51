//! One object, judged by expressions.

use std::cell::{Cell, OnceCell, RefCell};

use kubewright_engine::{EvalError, Evaluation};
use kubewright_lang::cel::Val;
use kubewright_value::{Step, Text, Value};

use super::request::objects;
use super::scope::{Namespace, Scope, Stopped};
use super::{Assertion, Checks, Condition, Leniency, Wording};
use crate::notes::Notes;

/// How long a message that is computed may be, in bytes.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// What is not given.
static NOTHING: Value = Value::Null;

/// What is judged, and with what.
pub(crate) struct Subject<'a> {
    pub(crate) object: &'a Value,
    /// Null where there are none.
    pub(crate) params: &'a Value,
    /// What exceptions allow, as expressions read it; null where they cannot.
    pub(crate) exceptions: &'a Value,
    /// What a policy calls its conditions and what must hold, for traces.
    pub(crate) lists: (&'static str, &'static str),
    /// What was spent on the object already.
    pub(crate) spent: &'a Cell<u64>,
}

/// What came of everything that was asked.
#[derive(Debug)]
pub(crate) enum Finding {
    /// All of it holds; with what is said beside it.
    Holds(Vec<(Text, Text)>),
    /// The conditions do not hold, so nothing else was asked.
    NotAsked,
    /// Something does not hold.
    Violated(Violation),
    /// An expression does not fit the object.
    Failed(Violation),
    /// Nobody can say.
    Error(EvalError),
}

/// What does not hold.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) message: String,
    /// The part of the object that it is about.
    pub(crate) path: Vec<Step>,
    /// Where it was said, in the document.
    pub(crate) at: Vec<Step>,
    /// Which of the list; nothing for a condition.
    pub(crate) index: Option<usize>,
}

/// What came of conditions.
#[derive(Debug)]
pub(crate) enum Asked {
    Met,
    NotMet,
    /// One does not fit the object.
    Failed(String),
    Error(EvalError),
}

impl<'a> Subject<'a> {
    /// Returns an object that is judged with nothing besides.
    pub(crate) fn of(object: &'a Value, lists: (&'static str, &'static str), spent: &'a Cell<u64>) -> Self {
        Self { object, params: &NOTHING, exceptions: &NOTHING, lists, spent }
    }
}

impl Checks {
    /// Judges `subject`: first the conditions, then what must hold, until something does not.
    pub(crate) fn judge(
        &self,
        subject: &Subject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut Notes,
    ) -> Finding {
        let (object, old_object) = objects(evaluation.request, subject.object);
        let scope = Scope {
            namespace: if self.needs_namespace { namespace(evaluation) } else { Namespace::None },
            variables: &self.variables,
            values: Scope::unread(&self.variables),
            ..scope(&object, &old_object, subject, evaluation, notes)
        };
        let finding = self.find(&scope, subject.lists);
        *notes = scope.notes.take();
        finding
    }

    fn find<'a>(&'a self, scope: &'a Scope<'a>, (conditions, assertions): (&str, &str)) -> Finding {
        match asked(&self.conditions, conditions, scope) {
            Asked::Met => {}
            Asked::NotMet => return Finding::NotAsked,
            Asked::Error(error) => return Finding::Error(error),
            Asked::Failed(_) if self.leniency != Leniency::None => return Finding::NotAsked,
            Asked::Failed(message) => {
                let at = self.conditions.first().map(|one| one.expression.path.clone()).unwrap_or_default();
                return Finding::Failed(Violation { message, path: Vec::new(), at, index: None });
            }
        }
        for (index, one) in self.assertions.iter().enumerate() {
            match one.judge(index, assertions, self.wording, scope) {
                Ok(()) => {}
                Err(Finding::Failed(_)) if self.leniency == Leniency::Everything => {}
                Err(finding) => return finding,
            }
        }
        Finding::Holds(self.said(scope))
    }

    /// Returns what is said beside the decision; what cannot be said is left out.
    fn said<'a>(&'a self, scope: &'a Scope<'a>) -> Vec<(Text, Text)> {
        let mut said = Vec::new();
        for one in &self.annotations {
            if let Ok(value) = scope.evaluate(&one.expression, || format!("auditAnnotations {}", one.name))
                && let Some(text) = value.as_str().filter(|text| !text.is_empty())
            {
                said.push((one.name.clone(), text.into()));
            }
        }
        said
    }
}

/// Returns whether all of `conditions` hold.
pub(crate) fn are_met(
    conditions: &[Condition],
    subject: &Subject<'_>,
    evaluation: &Evaluation<'_>,
    notes: &mut Notes,
) -> Asked {
    let (object, old_object) = objects(evaluation.request, subject.object);
    let namespace = match conditions.iter().any(Condition::reads_namespace) {
        true => namespace(evaluation),
        false => Namespace::None,
    };
    let scope = Scope { namespace, ..scope(&object, &old_object, subject, evaluation, notes) };
    let asked = asked(conditions, subject.lists.0, &scope);
    *notes = scope.notes.take();
    asked
}

impl Condition {
    fn reads_namespace(&self) -> bool {
        self.expression.program.names().any(|name| name == "namespaceObject")
    }
}

fn scope<'a>(
    object: &'a Value,
    old_object: &'a Value,
    subject: &Subject<'a>,
    evaluation: &Evaluation<'a>,
    notes: &mut Notes,
) -> Scope<'a> {
    Scope {
        request: evaluation.request,
        world: evaluation.world,
        object,
        old_object,
        params: subject.params,
        exceptions: subject.exceptions,
        namespace: Namespace::None,
        variables: &[],
        values: Vec::new(),
        made: OnceCell::new(),
        spent: subject.spent,
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
            Err(Stopped::Error(error)) => return Asked::Error(error),
        }
    }
    match failures.as_slice() {
        [] => Asked::Met,
        [one] => Asked::Failed(one.clone()),
        all => Asked::Failed(format!("[{}]", all.join(", "))),
    }
}

impl Assertion {
    fn judge<'a>(
        &'a self,
        index: usize,
        list: &str,
        wording: Wording,
        scope: &'a Scope<'a>,
    ) -> Result<(), Finding> {
        let violation = |message: String| Violation {
            message,
            path: self.about.clone(),
            at: self.expression.path.clone(),
            index: Some(index),
        };
        match scope.evaluate(&self.expression, || format!("{list}[{index}]")) {
            Ok(Val::Bool(true)) => Ok(()),
            Ok(Val::Bool(false)) => Err(match self.message(index, wording, scope) {
                Ok(message) => Finding::Violated(violation(message)),
                Err(error) => Finding::Error(error),
            }),
            Ok(other) => Err(Finding::Failed(violation(no_bool(&self.expression.text, &other)))),
            Err(Stopped::Failed(message)) => Err(Finding::Failed(violation(message))),
            Err(Stopped::Error(error)) => Err(Finding::Error(error)),
        }
    }

    /// A message that cannot be computed, is empty, too long or of several lines gives way to the written one.
    fn message<'a>(
        &'a self,
        index: usize,
        wording: Wording,
        scope: &'a Scope<'a>,
    ) -> Result<String, EvalError> {
        if let Some(expression) = &self.message_expression {
            match scope.evaluate(expression, || "messageExpression".to_owned()) {
                Ok(value) => {
                    let text = value.as_str().unwrap_or_default().trim();
                    let is_one_line = wording == Wording::Policy || !text.contains('\n');
                    if !text.is_empty() && text.len() <= MESSAGE_LIMIT && is_one_line {
                        return Ok(text.to_owned());
                    }
                }
                Err(Stopped::Error(error)) => return Err(error),
                Err(Stopped::Failed(_)) => {}
            }
        }
        Ok(match (self.message.trim(), wording) {
            ("", Wording::ApiServer) => format!("failed expression: {}", self.expression.text.trim()),
            ("", Wording::Policy) => format!("CEL expression validation failed at index {index}"),
            (message, _) => message.to_owned(),
        })
    }
}

fn no_bool(text: &str, found: &Val<'_>) -> String {
    format!("expression '{text}' resulted in error: must evaluate to bool but got {}", found.type_name())
}
