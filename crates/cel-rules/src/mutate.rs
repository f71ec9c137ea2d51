//! Expressions that say how an object changes.

use std::cell::OnceCell;

use kubewright_cel::library::kubernetes::{JSON_PATCH_TYPE, OBJECT_TYPE};
use kubewright_cel::{CelEnvironment, CelKind, CelType, FieldRead, StructureField, Val};
use kubewright_engine::{Code, EvalError, Evaluation};
use kubewright_value::{Step, Text, Value};

use super::compile::{ExpressionCompiler, ExpressionProblem};
use super::judge::{NULL_VALUE, new_scope, not_a_boolean_message};
use super::scope::{ExpressionScope, ScopeNamespace, VariableValues};
use super::source::NamedExpression;
use super::{CelChecks, CelExpression, ExpressionSubject, LazyVariable, NamedCondition, diagnostics as code};
use kubewright_dialect_kit::fields::Located;
use kubewright_dialect_kit::notes::TraceNotes;

/// The language of a mutation's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutationLanguage {
    /// A part of an object, which is merged into it: `Object{...}`.
    ApplyConfiguration,
    /// A list of operations: `[JSONPatch{...}]`.
    JsonPatch,
}

/// A compiled mutation.
#[derive(Clone)]
pub struct CelMutation {
    language: MutationLanguage,
    expression: CelExpression,
}

impl CelMutation {
    /// Returns the language of its result.
    #[must_use]
    pub fn language(&self) -> MutationLanguage {
        self.language
    }

    /// Returns the path of the expression in the document.
    #[must_use]
    pub fn path(&self) -> &[Step] {
        &self.expression.path
    }

    pub(super) fn expression(&self) -> &CelExpression {
        &self.expression
    }

    /// Returns the fields of the structures that it writes.
    #[must_use]
    pub fn structure_fields(&self) -> Vec<StructureField> {
        self.expression.program.structure_fields()
    }

    /// Returns whether the expression reads `path` of a variable, or a part of it.
    #[must_use]
    pub fn reads(&self, variable: &str, path: &[&str]) -> bool {
        let is_it = |read: FieldRead| {
            read.variable == variable
                && path.iter().zip(&read.path).all(|(a, b)| *a == *b)
                && read.path.len() >= path.len()
        };
        self.expression.program.reads().into_iter().any(is_it)
    }

    /// Returns a problem of `field`.
    #[must_use]
    pub fn problem_at(
        &self,
        field: &StructureField,
        code: &'static Code,
        message: String,
        help: String,
    ) -> ExpressionProblem {
        ExpressionProblem::within(code, &self.expression.path, (field.position, 1), message, help)
    }
}

/// Applies the results of mutations to objects.
pub trait PatchApplier {
    /// Returns `object` as `result`, which `mutation` gave, changes it.
    ///
    /// # Errors
    /// When it cannot be applied.
    fn apply(
        &mut self,
        mutation: &CelMutation,
        result: &Val<'_>,
        object: &Value,
        notes: &mut TraceNotes,
    ) -> Result<Value, EvalError>;
}

impl ExpressionCompiler<'_> {
    /// Compiles a mutation. A result whose type is not known before evaluation is checked then.
    pub fn mutation(
        &mut self,
        text: &Located<Text>,
        language: MutationLanguage,
        environment: &CelEnvironment,
    ) -> Option<CelMutation> {
        let expression = self.expression(text, environment, &[])?;
        let found = expression.program.result_type();
        let is_right = match language {
            MutationLanguage::ApplyConfiguration => is_structure(found, OBJECT_TYPE),
            MutationLanguage::JsonPatch => {
                found.kind == CelKind::List
                    && (found.elements().kind == CelKind::Any
                        || is_structure(&found.elements(), JSON_PATCH_TYPE))
            }
        };
        let may_be = found.kind == CelKind::Any && !expression.program.is_plain_read();
        if !is_right && !may_be {
            let (wanted, help) = match language {
                MutationLanguage::ApplyConfiguration => {
                    (OBJECT_TYPE, "write the fields to set, such as `Object{spec: Object.spec{...}}`")
                }
                MutationLanguage::JsonPatch => (
                    "list(JSONPatch)",
                    "write a list, such as `[JSONPatch{op: \"add\", path: \"/a\", value: 1}]`",
                ),
            };
            let message = format!("output is expected to be of type {wanted}, but is `{found}`");
            self.problems.push(ExpressionProblem::about(&code::CEL_TYPE, &text.path, message, help));
            return None;
        }
        Some(CelMutation { language, expression })
    }

    /// Compiles variables as [`ExpressionCompiler::variables`] does; all of them are of any type to other expressions.
    pub fn untyped_variables(
        &mut self,
        list: &[NamedExpression],
        environment: &mut CelEnvironment,
    ) -> Vec<LazyVariable> {
        let mut untyped = environment.clone();
        let variables = self.variables(list, &mut [environment]);
        for variable in &variables {
            untyped.add_variable(variable.name.clone(), CelType::ANY);
        }
        *environment = untyped;
        variables
    }

    /// Compiles an expression of any type.
    pub fn any_expression(
        &mut self,
        text: &Located<Text>,
        environment: &CelEnvironment,
    ) -> Option<CelExpression> {
        self.expression(text, environment, &[])
    }
}

fn is_structure(kind: &CelType, name: &str) -> bool {
    kind.structure.as_ref().is_some_and(|structure| structure == name)
}

impl CelChecks {
    /// Returns the object of `subject` after all mutations, each of which sees what the one before it made. Nothing when
    /// the conditions do not hold.
    ///
    /// # Errors
    /// When an expression or a patch fails.
    pub fn mutate(
        &self,
        subject: &ExpressionSubject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
        applier: &mut dyn PatchApplier,
    ) -> Result<Option<Value>, EvalError> {
        let (object, old_object) = subject.objects(evaluation);
        if self.is_namespace_late {
            let namespace = ScopeNamespace::Known(&NULL_VALUE);
            let scope =
                ExpressionScope { namespace, ..new_scope(object, old_object, subject, evaluation, notes) };
            let are_met = conditions_hold(&self.conditions, subject.lists.0, &scope);
            *notes = scope.notes.take();
            if !are_met? {
                return Ok(None);
            }
        }
        // One for each mutation: variables keep what they read of earlier states.
        let states: Vec<OnceCell<Value>> = self.mutations.iter().map(|_| OnceCell::new()).collect();
        let scope = ExpressionScope {
            namespace: match self.needs_namespace {
                true => subject.namespace(evaluation),
                false => ScopeNamespace::None,
            },
            variables: &self.variables,
            values: VariableValues::of(&self.variables),
            ..new_scope(object, old_object, subject, evaluation, notes)
        };
        let changed = self.run_mutations(&scope, subject.lists, &states, applier);
        *notes = scope.notes.take();
        changed
    }

    fn run_mutations<'a>(
        &'a self,
        scope: &'a ExpressionScope<'a>,
        (conditions, list): (&str, &str),
        states: &'a [OnceCell<Value>],
        applier: &mut dyn PatchApplier,
    ) -> Result<Option<Value>, EvalError> {
        if !self.is_namespace_late && !conditions_hold(&self.conditions, conditions, scope)? {
            return Ok(None);
        }
        for (index, (mutation, state)) in self.mutations.iter().zip(states).enumerate() {
            let result = scope.evaluate_plainly(&mutation.expression, || format!("{list}[{index}]"))?;
            let mut notes = scope.notes.take();
            let made = applier.apply(mutation, &result, scope.object.get(), &mut notes);
            scope.notes.replace(notes);
            let made = made?;
            scope.object.set(state.get_or_init(|| made));
        }
        for one in &self.annotations {
            scope.evaluate_plainly(&one.expression, || format!("auditAnnotations {}", one.name))?;
        }
        Ok(Some(scope.object.get().clone()))
    }

    /// Returns the same without the conditions.
    #[must_use]
    pub fn unconditional(&self) -> Self {
        Self { conditions: Vec::new(), ..self.clone() }
    }

    /// Returns the value of `expression` for the object of `subject`, as JSON.
    ///
    /// # Errors
    /// When the expression fails.
    pub fn value_of(
        &self,
        expression: &CelExpression,
        subject: &ExpressionSubject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Value, EvalError> {
        let (object, old_object) = subject.objects(evaluation);
        let scope = ExpressionScope {
            namespace: subject.namespace(evaluation),
            variables: &self.variables,
            values: VariableValues::of(&self.variables),
            ..new_scope(object, old_object, subject, evaluation, notes)
        };
        let found = scope.evaluate_plainly(expression, || "expression".to_owned());
        let found = found.and_then(|found| found.to_value().map_err(EvalError::new));
        *notes = scope.notes.take();
        found
    }

    /// Returns whether `conditions` hold for the object of `subject`; they may read the variables.
    ///
    /// # Errors
    /// When one fails and no other is false.
    pub fn are_met(
        &self,
        conditions: &[NamedCondition],
        subject: &ExpressionSubject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, EvalError> {
        let (object, old_object) = subject.objects(evaluation);
        let scope = ExpressionScope {
            namespace: subject.namespace(evaluation),
            variables: &self.variables,
            values: VariableValues::of(&self.variables),
            ..new_scope(object, old_object, subject, evaluation, notes)
        };
        let are_met = conditions_hold(conditions, subject.lists.0, &scope);
        *notes = scope.notes.take();
        are_met
    }
}

/// One that does not hold is enough, whether others fail or not.
fn conditions_hold<'a>(
    conditions: &'a [NamedCondition],
    list: &str,
    scope: &'a ExpressionScope<'a>,
) -> Result<bool, EvalError> {
    let mut failed = None;
    for one in conditions {
        match scope.evaluate_plainly(&one.expression, || format!("{list} {}", one.name)) {
            Ok(Val::Bool(true)) => {}
            Ok(Val::Bool(false)) => return Ok(false),
            Ok(other) => {
                let message = not_a_boolean_message(&one.expression.text, &other);
                failed.get_or_insert_with(|| EvalError::new(message));
            }
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(true), Err)
}
