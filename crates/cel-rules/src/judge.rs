//! One object, judged by expressions.

use std::cell::{Cell, OnceCell, RefCell};

use kubewright_cel::{Inputs, Val};
use kubewright_engine::{EvalError, Evaluation};
use kubewright_value::{Step, Text, Value};

use super::request::objects;
use super::scope::{Form, Namespace, Scope, Spent, Stopped, Values};
use super::{Assertion, Checks, Condition, Leniency, Wording};
use kubewright_dialect_kit::notes::Notes;

/// How long a message that is computed may be, in bytes.
const MESSAGE_LIMIT: usize = 5 * 1024;

/// What is not given.
static NOTHING: Value = Value::Null;

/// What is judged, and with what.
pub struct Subject<'a> {
    /// The object.
    pub object: &'a Value,
    /// What expressions read of the request.
    pub form: Form,
    /// Null where there are none.
    pub params: &'a Value,
    /// What exceptions allow, as expressions read it; null where they cannot.
    pub exceptions: &'a Value,
    /// What a policy calls its conditions and what must hold, for traces.
    pub lists: (&'static str, &'static str),
    /// What was spent on the object already.
    pub spent: &'a Cell<Spent>,
    /// What no function can know by itself.
    pub inputs: Inputs,
}

/// What came of everything that was asked.
#[derive(Debug)]
pub enum Finding {
    /// All of it holds.
    Holds,
    /// The conditions do not hold, so nothing else was asked.
    NotAsked,
    /// Something does not hold.
    Violated(Violation),
    /// An expression does not fit the object.
    Failed(Violation),
    /// Everything holds, and what is to be said beside it does not fit the object.
    Unsaid(Violation),
    /// Nobody can say.
    Error(EvalError),
}

/// What does not hold.
#[derive(Debug)]
pub struct Violation {
    /// What is wrong, for a person.
    pub message: String,
    /// The message as its author wrote it; empty where there is none.
    pub template: Text,
    /// The part of the object that it is about.
    pub path: Vec<Step>,
    /// Where it was said, in the document.
    pub at: Vec<Step>,
}

/// What came of conditions.
#[derive(Debug)]
pub enum Asked {
    /// All of them hold.
    Met,
    /// One does not hold.
    NotMet,
    /// One does not fit the object.
    Failed(String),
    /// The engine could not evaluate them.
    Error(EvalError),
}

impl<'a> Subject<'a> {
    /// Returns an object that is judged with nothing besides.
    pub fn of(object: &'a Value, lists: (&'static str, &'static str), spent: &'a Cell<Spent>) -> Self {
        Self {
            object,
            form: Form::Plain,
            params: &NOTHING,
            exceptions: &NOTHING,
            lists,
            spent,
            inputs: Inputs::default(),
        }
    }
}

impl<'a> Subject<'a> {
    /// Returns the object as it will be and as it was.
    fn objects(&self, evaluation: &Evaluation<'a>) -> (&'a Value, &'a Value) {
        match self.form {
            Form::Plain => objects(evaluation.request, self.object),
            Form::Payload | Form::Http | Form::Envoy => (self.object, &Value::Null),
        }
    }

    /// A namespace is in no namespace.
    fn namespace<'e>(&self, evaluation: &Evaluation<'e>) -> Namespace<'e> {
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
}

impl Checks {
    /// Judges `subject`: first the conditions, then what must hold, until something does not.
    pub fn judge(&self, subject: &Subject<'_>, evaluation: &Evaluation<'_>, notes: &mut Notes) -> Finding {
        let (object, old_object) = subject.objects(evaluation);
        if self.is_namespace_late {
            let namespace = Namespace::Known(&NOTHING);
            let scope = Scope { namespace, ..scope(object, old_object, subject, evaluation, notes) };
            let unmet = self.unmet(&scope, subject.lists.0);
            *notes = scope.notes.take();
            if let Some(finding) = unmet {
                return finding;
            }
        }
        let scope = Scope {
            namespace: if self.needs_namespace { subject.namespace(evaluation) } else { Namespace::None },
            variables: &self.variables,
            values: Values::of(&self.variables),
            ..scope(object, old_object, subject, evaluation, notes)
        };
        let finding = self.find(&scope, subject.lists);
        *notes = scope.notes.take();
        finding
    }

    fn find<'a>(&'a self, scope: &'a Scope<'a>, (conditions, assertions): (&str, &str)) -> Finding {
        if !self.is_namespace_late
            && let Some(finding) = self.unmet(scope, conditions)
        {
            return finding;
        }
        for (index, one) in self.assertions.iter().enumerate() {
            match one.judge(index, assertions, self.wording, scope) {
                Ok(()) => {}
                Err(Finding::Failed(_)) if self.leniency == Leniency::Everything => {}
                Err(finding) => return finding,
            }
        }
        self.annotate(scope)
    }

    /// Returns what comes of conditions that do not hold or fail.
    fn unmet<'a>(&'a self, scope: &'a Scope<'a>, conditions: &str) -> Option<Finding> {
        match asked(&self.conditions, conditions, scope) {
            Asked::Met => None,
            Asked::NotMet => Some(Finding::NotAsked),
            Asked::Error(error) => Some(Finding::Error(error)),
            Asked::Failed(_) if self.leniency != Leniency::None => Some(Finding::NotAsked),
            Asked::Failed(message) => {
                let at = self.conditions.first().map(|one| one.expression.path.clone()).unwrap_or_default();
                Some(Finding::Failed(Violation { message, template: Text::default(), path: Vec::new(), at }))
            }
        }
    }

    /// What cannot be said beside a decision is as wrong as what does not hold.
    fn annotate<'a>(&'a self, scope: &'a Scope<'a>) -> Finding {
        for one in &self.annotations {
            match scope.evaluate(&one.expression, || format!("auditAnnotations {}", one.name)) {
                Ok(_) => {}
                Err(Stopped::Failed(_)) if self.leniency == Leniency::Everything => {}
                Err(Stopped::Failed(message)) => {
                    let at = one.expression.path.clone();
                    return Finding::Unsaid(Violation {
                        message,
                        template: Text::default(),
                        path: Vec::new(),
                        at,
                    });
                }
                Err(Stopped::Error(error)) => return Finding::Error(error),
            }
        }
        Finding::Holds
    }
}

/// Returns whether all of `conditions` hold.
pub fn are_met(
    conditions: &[Condition],
    subject: &Subject<'_>,
    evaluation: &Evaluation<'_>,
    notes: &mut Notes,
) -> Asked {
    let (object, old_object) = subject.objects(evaluation);
    let namespace = match conditions.iter().any(Condition::reads_namespace) {
        true => subject.namespace(evaluation),
        false => Namespace::None,
    };
    let scope = Scope { namespace, ..scope(object, old_object, subject, evaluation, notes) };
    let asked = asked(conditions, subject.lists.0, &scope);
    *notes = scope.notes.take();
    asked
}

impl Condition {
    fn reads_namespace(&self) -> bool {
        self.expression.program.variable_names().any(|name| name == "namespaceObject")
    }
}

pub(super) fn scope<'a>(
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
        form: subject.form,
        old_object,
        params: subject.params,
        exceptions: subject.exceptions,
        namespace: Namespace::None,
        variables: &[],
        values: Values::default(),
        made: OnceCell::new(),
        spent: subject.spent,
        inputs: subject.inputs,
        notes: RefCell::new(std::mem::take(notes)),
        unanswered: RefCell::default(),
    }
}

/// One that does not hold is enough, whether others fail or not.
pub(super) fn asked<'a>(conditions: &'a [Condition], list: &str, scope: &'a Scope<'a>) -> Asked {
    let mut failures: Vec<String> = Vec::new();
    for one in conditions {
        let failure = match scope.evaluate(&one.expression, || format!("{list} {}", one.name)) {
            Ok(Val::Bool(true)) => continue,
            Ok(Val::Bool(false)) => return Asked::NotMet,
            Ok(other) => no_bool(&one.expression.text, &other),
            Err(Stopped::Failed(message)) => message,
            Err(Stopped::Error(error)) => return Asked::Error(error),
        };
        // The same words twice say no more than once.
        if !failures.contains(&failure) {
            failures.push(failure);
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
            template: self.message.trim().into(),
            path: self.about.clone(),
            at: self.expression.path.clone(),
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
