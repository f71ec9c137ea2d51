//! One object, judged by expressions.

use std::cell::{Cell, OnceCell, RefCell};

use kubewright_cel::{Inputs, Val};
use kubewright_engine::{EvalError, Evaluation};
use kubewright_value::{Step, Text, Value};

use super::host::VerifiedImages;
use super::request::request_objects;
use super::scope::{
    ExpressionFailure, ExpressionScope, ObjectForm, ScopeNamespace, SpentCost, VariableValues,
};
use super::{CelAssertion, CelChecks, LazyVariable, Leniency, NamedCondition, Wording};
use kubewright_dialect_kit::notes::TraceNotes;

/// How long a message that is computed may be, in bytes.
const MAX_COMPUTED_MESSAGE_BYTES: usize = 5 * 1024;

/// The value of anything that is not provided.
pub(super) static NULL_VALUE: Value = Value::Null;

/// The object that expressions evaluate, with its inputs.
pub struct ExpressionSubject<'a> {
    /// The object.
    pub object: &'a Value,
    /// The form of the object.
    pub form: ObjectForm,
    /// Null where there are none.
    pub params: &'a Value,
    /// The values that exceptions allow, as expressions read them; null where they cannot be read.
    pub exceptions: &'a Value,
    /// Further variables, by name; null where there are none.
    pub extra: &'a Value,
    /// What was verified so far, where expressions verify images.
    pub verified: Option<&'a VerifiedImages>,
    /// The policy's names for its lists of conditions and validations, for traces.
    pub lists: (&'static str, &'static str),
    /// The cost spent on the object so far.
    pub spent: &'a Cell<SpentCost>,
    /// The inputs that functions cannot compute themselves.
    pub inputs: Inputs,
}

/// The result of all expressions for one object.
#[derive(Debug)]
pub enum CheckResult {
    /// All of it holds.
    Holds,
    /// The conditions do not hold, so the validations were not evaluated.
    NotAsked,
    /// Something does not hold.
    Violated(Violation),
    /// An expression does not fit the object.
    Failed(Violation),
    /// All validations hold, but an audit annotation could not be evaluated.
    Unsaid(Violation),
    /// The engine could not evaluate the expressions.
    Error(EvalError),
}

/// A validation that does not hold.
#[derive(Debug)]
pub struct Violation {
    /// The message for the requester.
    pub message: String,
    /// The message as its author wrote it; empty where there is none.
    pub template: Text,
    /// The path of the violation in the object.
    pub path: Vec<Step>,
    /// The path of the validation in the document.
    pub at: Vec<Step>,
}

/// The result of match conditions.
#[derive(Debug)]
pub enum ConditionResult {
    /// All of them hold.
    Met,
    /// One does not hold.
    NotMet,
    /// One does not fit the object.
    Failed(String),
    /// The engine could not evaluate them.
    Error(EvalError),
}

impl<'a> ExpressionSubject<'a> {
    /// Returns a subject with default inputs.
    pub fn of(object: &'a Value, lists: (&'static str, &'static str), spent: &'a Cell<SpentCost>) -> Self {
        Self {
            object,
            form: ObjectForm::Plain,
            params: &NULL_VALUE,
            exceptions: &NULL_VALUE,
            extra: &NULL_VALUE,
            verified: None,
            lists,
            spent,
            inputs: Inputs::default(),
        }
    }
}

impl<'a> ExpressionSubject<'a> {
    /// Returns the object as it will be and as it was.
    pub(super) fn objects(&self, evaluation: &Evaluation<'a>) -> (&'a Value, &'a Value) {
        match self.form {
            ObjectForm::Plain => request_objects(evaluation.request, self.object),
            ObjectForm::Payload | ObjectForm::Http | ObjectForm::Envoy => (self.object, &Value::Null),
            ObjectForm::Target => (self.object, &evaluation.request.old_object),
        }
    }

    /// Returns the namespace of the object where an expression reads it.
    pub(super) fn namespace_if<'e>(
        &self,
        is_needed: bool,
        evaluation: &Evaluation<'e>,
    ) -> ScopeNamespace<'e> {
        if is_needed { self.namespace(evaluation) } else { ScopeNamespace::None }
    }

    /// A namespace is in no namespace.
    pub(super) fn namespace<'e>(&self, evaluation: &Evaluation<'e>) -> ScopeNamespace<'e> {
        let kind = &evaluation.request.kind;
        if kind.group.is_empty() && kind.kind == "Namespace" {
            return ScopeNamespace::None;
        }
        match evaluation.namespace() {
            Ok(Some(namespace)) => ScopeNamespace::Known(namespace),
            Ok(None) => ScopeNamespace::None,
            Err(error) => ScopeNamespace::Unknown(error),
        }
    }
}

impl CelChecks {
    /// Evaluates the conditions, then the validations until one does not hold.
    pub fn judge(
        &self,
        subject: &ExpressionSubject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> CheckResult {
        let (object, old_object) = subject.objects(evaluation);
        if self.is_namespace_late {
            let namespace = ScopeNamespace::Known(&NULL_VALUE);
            let scope =
                ExpressionScope { namespace, ..new_scope(object, old_object, subject, evaluation, notes) };
            let unmet = self.unmet(&scope, subject.lists.0);
            *notes = scope.notes.take();
            if let Some(finding) = unmet {
                return finding;
            }
        }
        let mut scope = scope_with(&self.variables, (object, old_object), subject, evaluation, notes);
        if self.needs_namespace {
            scope.namespace = subject.namespace(evaluation);
        }
        let scope = scope;
        let finding = self.find(&scope, subject.lists);
        *notes = scope.notes.take();
        finding
    }

    fn find<'a>(
        &'a self,
        scope: &'a ExpressionScope<'a>,
        (conditions, assertions): (&str, &str),
    ) -> CheckResult {
        if !self.is_namespace_late
            && let Some(finding) = self.unmet(scope, conditions)
        {
            return finding;
        }
        for (index, one) in self.assertions.iter().enumerate() {
            match one.judge(index, assertions, self.wording, scope) {
                Ok(()) => {}
                Err(CheckResult::Failed(_)) if self.leniency == Leniency::Everything => {}
                Err(finding) => return finding,
            }
        }
        self.annotate(scope)
    }

    /// Returns the result when the conditions do not hold or fail.
    fn unmet<'a>(&'a self, scope: &'a ExpressionScope<'a>, conditions: &str) -> Option<CheckResult> {
        if self.conditions.is_empty() {
            return None;
        }
        match evaluate_condition_list(&self.conditions, conditions, scope) {
            ConditionResult::Met => None,
            ConditionResult::NotMet => Some(CheckResult::NotAsked),
            ConditionResult::Error(error) => Some(CheckResult::Error(error)),
            ConditionResult::Failed(_) if self.leniency != Leniency::None => Some(CheckResult::NotAsked),
            ConditionResult::Failed(message) => {
                let at = self.conditions.first().map(|one| one.expression.path.clone()).unwrap_or_default();
                Some(CheckResult::Failed(Violation {
                    message,
                    template: Text::default(),
                    path: Vec::new(),
                    at,
                }))
            }
        }
    }

    /// An audit annotation that fails counts as a violation.
    fn annotate<'a>(&'a self, scope: &'a ExpressionScope<'a>) -> CheckResult {
        for one in &self.annotations {
            match scope.evaluate(&one.expression, || format!("auditAnnotations {}", one.name)) {
                Ok(_) => {}
                Err(ExpressionFailure::Failed(_)) if self.leniency == Leniency::Everything => {}
                Err(ExpressionFailure::Failed(message)) => {
                    let at = one.expression.path.clone();
                    return CheckResult::Unsaid(Violation {
                        message,
                        template: Text::default(),
                        path: Vec::new(),
                        at,
                    });
                }
                Err(ExpressionFailure::Error(error)) => return CheckResult::Error(error),
            }
        }
        CheckResult::Holds
    }
}

/// Returns whether all of `conditions` hold.
pub fn evaluate_match_conditions(
    conditions: &[NamedCondition],
    subject: &ExpressionSubject<'_>,
    evaluation: &Evaluation<'_>,
    notes: &mut TraceNotes,
) -> ConditionResult {
    let (object, old_object) = subject.objects(evaluation);
    let namespace = match conditions.iter().any(NamedCondition::reads_namespace) {
        true => subject.namespace(evaluation),
        false => ScopeNamespace::None,
    };
    let scope = ExpressionScope { namespace, ..new_scope(object, old_object, subject, evaluation, notes) };
    let asked = evaluate_condition_list(conditions, subject.lists.0, &scope);
    *notes = scope.notes.take();
    asked
}

impl CelChecks {
    /// Returns the values of `expressions`, which see the variables of the policy, by name.
    ///
    /// # Errors
    /// When one has no value.
    pub fn values(
        &self,
        expressions: &[NamedCondition],
        subject: &ExpressionSubject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vec<(Text, Value)>, EvalError> {
        let (object, old_object) = subject.objects(evaluation);
        let scope = ExpressionScope {
            variables: &self.variables,
            values: VariableValues::of(&self.variables),
            ..new_scope(object, old_object, subject, evaluation, notes)
        };
        let mut values = Vec::with_capacity(expressions.len());
        for one in expressions {
            let value = match scope.evaluate(&one.expression, || one.name.to_string()) {
                Ok(value) => value.to_value().map_err(EvalError::new),
                Err(ExpressionFailure::Failed(message)) => Err(EvalError::new(message)),
                Err(ExpressionFailure::Error(error)) => Err(error),
            };
            values.push((one.name.clone(), value?));
        }
        *notes = scope.notes.take();
        Ok(values)
    }
}

impl NamedCondition {
    fn reads_namespace(&self) -> bool {
        self.expression.program.variable_names().any(|name| name == "namespaceObject")
    }
}

pub(super) fn new_scope<'a>(
    object: &'a Value,
    old_object: &'a Value,
    subject: &ExpressionSubject<'a>,
    evaluation: &Evaluation<'a>,
    notes: &mut TraceNotes,
) -> ExpressionScope<'a> {
    scope_with(&[], (object, old_object), subject, evaluation, notes)
}

/// Returns the scope of expressions that may read `variables`.
fn scope_with<'a>(
    variables: &'a [LazyVariable],
    (object, old_object): (&'a Value, &'a Value),
    subject: &ExpressionSubject<'a>,
    evaluation: &Evaluation<'a>,
    notes: &mut TraceNotes,
) -> ExpressionScope<'a> {
    ExpressionScope {
        request: evaluation.request,
        world: evaluation.world,
        object: Cell::new(object),
        form: subject.form,
        old_object,
        params: subject.params,
        exceptions: subject.exceptions,
        extra: subject.extra,
        verified: subject.verified,
        namespace: ScopeNamespace::None,
        variables,
        values: VariableValues::of(variables),
        made: OnceCell::new(),
        spent: subject.spent,
        inputs: subject.inputs,
        notes: RefCell::new(std::mem::take(notes)),
        generated: RefCell::default(),
        unanswered: RefCell::default(),
        wants_places: evaluation.wants_places,
    }
}

/// One that does not hold is enough, whether others fail or not.
pub(super) fn evaluate_condition_list<'a>(
    conditions: &'a [NamedCondition],
    list: &str,
    scope: &'a ExpressionScope<'a>,
) -> ConditionResult {
    let mut failures: Vec<String> = Vec::new();
    for one in conditions {
        let failure = match scope.evaluate(&one.expression, || format!("{list} {}", one.name)) {
            Ok(Val::Bool(true)) => continue,
            Ok(Val::Bool(false)) => return ConditionResult::NotMet,
            Ok(other) => not_a_boolean_message(&one.expression.text, &other),
            Err(ExpressionFailure::Failed(message)) => message,
            Err(ExpressionFailure::Error(error)) => return ConditionResult::Error(error),
        };
        // A message equal to the expression's text is shown once.
        if !failures.contains(&failure) {
            failures.push(failure);
        }
    }
    match failures.as_slice() {
        [] => ConditionResult::Met,
        [one] => ConditionResult::Failed(one.clone()),
        all => ConditionResult::Failed(format!("[{}]", all.join(", "))),
    }
}

impl CelAssertion {
    fn judge<'a>(
        &'a self,
        index: usize,
        list: &str,
        wording: Wording,
        scope: &'a ExpressionScope<'a>,
    ) -> Result<(), CheckResult> {
        let violation = |message: String| Violation {
            message,
            template: self.message.trim().into(),
            path: if scope.wants_places { self.about().to_vec() } else { Vec::new() },
            at: self.expression.path.clone(),
        };
        match scope.evaluate(&self.expression, || format!("{list}[{index}]")) {
            Ok(Val::Bool(true)) => Ok(()),
            Ok(Val::Bool(false)) => Err(match self.message(index, wording, scope) {
                Ok(message) => CheckResult::Violated(violation(message)),
                Err(error) => CheckResult::Error(error),
            }),
            Ok(other) => {
                Err(CheckResult::Failed(violation(not_a_boolean_message(&self.expression.text, &other))))
            }
            Err(ExpressionFailure::Failed(message)) => Err(CheckResult::Failed(violation(message))),
            Err(ExpressionFailure::Error(error)) => Err(CheckResult::Error(error)),
        }
    }

    /// A message that cannot be computed, is empty, too long or of several lines gives way to the written one.
    fn message<'a>(
        &'a self,
        index: usize,
        wording: Wording,
        scope: &'a ExpressionScope<'a>,
    ) -> Result<String, EvalError> {
        if let Some(expression) = &self.message_expression {
            match scope.evaluate(expression, || "messageExpression".to_owned()) {
                Ok(value) => {
                    let text = value.as_str().unwrap_or_default().trim();
                    let is_one_line = wording == Wording::Policy || !text.contains('\n');
                    if !text.is_empty() && text.len() <= MAX_COMPUTED_MESSAGE_BYTES && is_one_line {
                        return Ok(text.to_owned());
                    }
                }
                Err(ExpressionFailure::Error(error)) => return Err(error),
                Err(ExpressionFailure::Failed(_)) => {}
            }
        }
        Ok(match (self.message.trim(), wording) {
            ("", Wording::ApiServer) => format!("failed expression: {}", self.expression.text.trim()),
            ("", Wording::Policy) => format!("CEL expression validation failed at index {index}"),
            (message, _) => message.to_owned(),
        })
    }
}

pub(super) fn not_a_boolean_message(text: &str, found: &Val<'_>) -> String {
    format!("expression '{text}' resulted in error: must evaluate to bool but got {}", found.type_name())
}
