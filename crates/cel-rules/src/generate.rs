//! The objects that a policy makes: those that its expressions hand over, and those of its templates.

use kubewright_cel::CelFailure;
use kubewright_engine::{EvalError, Evaluation};
use kubewright_value::{Step, Text, Value};

use super::judge::{self, ConditionResult, ExpressionSubject, Violation};
use super::scope::{ExpressionFailure, ExpressionScope, VariableValues};
use super::template::ObjectTemplate;
use super::{CelChecks, CelExpression, LazyVariable, Leniency};
use kubewright_dialect_kit::notes::TraceNotes;

/// One entry of a list of what a policy makes.
#[derive(Clone)]
pub enum GenerateStep {
    /// An expression that hands objects over. Its own value does not count.
    Expression(CelExpression),
    /// Objects that are written as YAML, with expressions in them.
    Template(ObjectTemplate),
}

impl GenerateStep {
    /// Returns the path of the step in the document.
    #[must_use]
    pub fn path(&self) -> &[Step] {
        match self {
            Self::Expression(expression) => &expression.path,
            Self::Template(template) => template.path(),
        }
    }

    /// Returns `apiVersion` and `kind` of the objects that an expression, or one of the `variables` that it reads, writes out.
    #[must_use]
    pub fn written_kinds(&self, variables: &[LazyVariable]) -> Vec<(Text, Text)> {
        let Self::Expression(expression) = self else { return Vec::new() };
        let mut found = expression.program.written_kinds();
        for read in expression.program.reads() {
            let name = read.path.first().map(|name| format!("{}.{name}", read.variable));
            let variable = variables.iter().find(|one| name.as_deref() == Some(&one.name));
            found.extend(variable.into_iter().flat_map(|one| one.expression.program.written_kinds()));
        }
        found.sort();
        found.dedup();
        found
    }

    /// Returns whether an expression of it reads the namespace of the object.
    #[must_use]
    pub fn reads_namespace(&self) -> bool {
        let reads = |one: &CelExpression| one.program.variable_names().any(|name| name == "namespaceObject");
        match self {
            Self::Expression(expression) => reads(expression),
            Self::Template(template) => template.expressions().iter().any(|one| reads(one)),
        }
    }
}

/// An object that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedObject {
    /// The namespace that was given with it; nothing where the object says it itself.
    pub namespace: Option<Text>,
    /// The object.
    pub object: Value,
}

/// The result of all steps for one object.
#[derive(Debug)]
pub enum GenerateResult {
    /// The conditions do not hold.
    NotAsked,
    /// The objects, in order.
    Made(Vec<GeneratedObject>),
    /// An expression does not fit the object.
    Failed(Violation),
    /// The engine could not evaluate the expressions.
    Error(EvalError),
}

/// How many objects one policy may make because of one object.
const MAX_GENERATED_OBJECTS: usize = 10_000;

impl CelChecks {
    /// Returns the objects that `steps` make because of the object of `subject`.
    pub fn generate(
        &self,
        steps: &[GenerateStep],
        subject: &ExpressionSubject<'_>,
        evaluation: &Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> GenerateResult {
        let (object, old_object) = subject.objects(evaluation);
        let scope = ExpressionScope {
            namespace: subject.namespace_if(self.needs_namespace, evaluation),
            variables: &self.variables,
            values: VariableValues::of(&self.variables),
            ..judge::new_scope(object, old_object, subject, evaluation, notes)
        };
        let result = self.make(steps, &scope, subject.lists);
        *notes = scope.notes.take();
        result
    }

    fn make<'a>(
        &'a self,
        steps: &'a [GenerateStep],
        scope: &'a ExpressionScope<'a>,
        (conditions, list): (&str, &str),
    ) -> GenerateResult {
        match judge::evaluate_condition_list(&self.conditions, conditions, scope) {
            ConditionResult::Met => {}
            ConditionResult::NotMet => return GenerateResult::NotAsked,
            ConditionResult::Failed(_) if self.leniency != Leniency::None => return GenerateResult::NotAsked,
            ConditionResult::Failed(message) => return GenerateResult::Failed(violation(message, &[])),
            ConditionResult::Error(error) => return GenerateResult::Error(error),
        }
        for (index, step) in steps.iter().enumerate() {
            let place = format!("{list}[{index}]");
            let (done, at) = match step {
                GenerateStep::Expression(expression) => {
                    (scope.evaluate(expression, || place).map(|_| ()), expression.path.as_slice())
                }
                GenerateStep::Template(template) => (template.hand_over(scope, &place), template.path()),
            };
            match done {
                Ok(()) => {}
                Err(ExpressionFailure::Failed(message)) => {
                    return GenerateResult::Failed(violation(message, at));
                }
                Err(ExpressionFailure::Error(error)) => return GenerateResult::Error(error),
            }
        }
        // No audit log has them in the background, but one that fails is a mistake as in other policies.
        for one in &self.annotations {
            match scope.evaluate(&one.expression, || format!("auditAnnotations {}", one.name)) {
                Ok(_) => {}
                Err(ExpressionFailure::Failed(_)) if self.leniency != Leniency::None => {}
                Err(ExpressionFailure::Failed(message)) => {
                    return GenerateResult::Failed(violation(message, &one.expression.path));
                }
                Err(ExpressionFailure::Error(error)) => return GenerateResult::Error(error),
            }
        }
        GenerateResult::Made(scope.generated.take())
    }
}

impl ExpressionScope<'_> {
    /// Takes objects over from an expression; a list among them stands for its items.
    pub(super) fn take_over(&self, namespace: &Value, objects: &Value) -> Result<Value, CelFailure> {
        let namespace = namespace.as_str().map(Text::new);
        for object in objects.as_array().unwrap_or_default() {
            if object.as_object().is_none() {
                let found = object.kind();
                return Err(CelFailure::value(format!(
                    "no such overload: an object is wanted, found {found}"
                )));
            }
            for object in expand_list(object) {
                self.push_generated(GeneratedObject { namespace: namespace.clone(), object })?;
            }
        }
        Ok(Value::Bool(true))
    }

    /// Adds an object.
    pub(super) fn push_generated(&self, made: GeneratedObject) -> Result<(), CelFailure> {
        let mut generated = self.generated.borrow_mut();
        if generated.len() >= MAX_GENERATED_OBJECTS {
            let message = format!("more than {MAX_GENERATED_OBJECTS} objects are made");
            return Err(CelFailure::new(kubewright_cel::CelErrorKind::Limit, message));
        }
        generated.push(made);
        Ok(())
    }
}

/// Returns the items of a list, which do not say their kind themselves, or the object itself.
fn expand_list(object: &Value) -> Vec<Value> {
    let kind = object.str_at(&["kind"]);
    let (Some(stem), Some(items)) =
        (kind.strip_suffix("List"), object.get("items").and_then(Value::as_array))
    else {
        return vec![object.clone()];
    };
    let filled = |item: &Value| {
        let mut item = item.as_object().cloned().unwrap_or_default();
        if item.get("kind").is_none() && !stem.is_empty() {
            item.insert("kind".into(), stem.into());
        }
        if item.get("apiVersion").is_none() {
            item.insert("apiVersion".into(), object.get("apiVersion").cloned().unwrap_or_default());
        }
        item.into()
    };
    items.iter().map(filled).collect()
}

fn violation(message: String, at: &[Step]) -> Violation {
    Violation { message, template: Text::default(), path: Vec::new(), at: at.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_value::yaml;

    #[test]
    fn a_list_stands_for_its_items_which_get_its_kind() {
        let list = "{apiVersion: v1, kind: SecretList, items: [{metadata: {name: a}}, {kind: X, metadata: {name: b}}]}";
        let items = expand_list(&yaml::parse(list).expect("YAML"));
        let kinds: Vec<&str> = items.iter().map(|item| item.str_at(&["kind"])).collect();
        assert_eq!(kinds, ["Secret", "X"]);
        let one = yaml::parse("{apiVersion: v1, kind: AllowList, spec: {}}").expect("YAML");
        assert_eq!(expand_list(&one), vec![one.clone()]);
    }
}
