//! Existing objects that a policy changes because of another one.

use std::cell::Cell;

use kubewright_cel_rules::{
    CelChecks, CelExpression, ExpressionSubject, NamedCondition, ObjectForm, SpentCost,
};
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_engine::{
    ApiCall, DecisionCache, Effect, EvalError, Evaluation, ObjectWrite, Query, QueryAnswer, WorldView,
    WriteVerb,
};
use kubewright_value::{Text, Value};

use super::{LIST_NAMES, MutationInvocation, MutationProgram, target_request};
use crate::matching::ConstraintsMatcher;
use crate::source::ConstraintsSource;

/// How many objects one request may change.
const MAX_TARGETS: usize = 10_000;

/// Which objects are changed.
pub(crate) struct MutationTargets {
    pub(crate) origin: TargetOrigin,
    /// Those of the policy without its conditions, which are about the object of the request.
    pub(crate) checks: CelChecks,
    /// `targetMatchConditions`
    pub(crate) conditions: Vec<NamedCondition>,
}

/// Where the objects come from.
pub(crate) enum TargetOrigin {
    /// All objects of the resources that constraints name, whatever the operations.
    Constraints {
        /// The addresses of the lists.
        lists: Vec<Text>,
        matcher: ConstraintsMatcher,
    },
    /// The objects that an expression gives.
    Expression(CelExpression),
    /// The object because of which the policy is evaluated.
    Trigger,
}

impl TargetOrigin {
    /// Returns the objects that `constraints` of a policy in the namespace `home` match.
    pub(crate) fn of_constraints(constraints: &ConstraintsSource, home: Option<&Text>) -> Self {
        let mut constraints = constraints.clone();
        let mut lists = Vec::new();
        for rule in &mut constraints.rules {
            rule.operations = kubewright_k8s::Operations::ALL;
            for resource in &rule.resources {
                for group in &rule.groups {
                    let versions = rule.versions.iter();
                    lists.extend(versions.map(|version| list_address(group, version, &resource.value, home)));
                }
            }
        }
        Self::Constraints { lists, matcher: ConstraintsMatcher::compile(&constraints) }
    }

    /// Returns what objects are matched by; nothing where they are given.
    pub(crate) fn matcher(&self) -> Option<&ConstraintsMatcher> {
        match self {
            Self::Constraints { matcher, .. } => Some(matcher),
            Self::Expression(_) | Self::Trigger => None,
        }
    }
}

fn list_address(group: &str, version: &str, resource: &str, home: Option<&Text>) -> Text {
    let root = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    match home {
        Some(home) => format!("{root}/namespaces/{home}/{resource}").into(),
        None => format!("{root}/{resource}").into(),
    }
}

impl MutationTargets {
    /// Returns the writes that the policy asks for because of `object`.
    pub(super) fn effect(
        &self,
        program: &MutationProgram,
        object: &Value,
        allowed: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        if !self.is_triggered(program, object, allowed, evaluation, notes)? {
            return Ok(program.skipped());
        }
        let targets = self.find(program, object, evaluation, notes)?;
        let mut writes = Vec::new();
        for target in targets {
            evaluation.budget.step(1)?;
            if !self.is_meant(program, &target, evaluation, notes)? {
                continue;
            }
            let changed = program.invoked(&target, &self.invocation(allowed), evaluation, notes)?;
            let changed = changed.filter(|object| *object != target);
            writes.extend(changed.map(|object| ObjectWrite::new(WriteVerb::Update, object)));
        }
        Ok(Effect::Write { writes, message: program.success() })
    }

    fn invocation<'i>(&'i self, allowed: &'i Value) -> MutationInvocation<'i> {
        MutationInvocation {
            checks: &self.checks,
            params: &Value::Null,
            exceptions: allowed,
            form: ObjectForm::Target,
        }
    }

    /// The conditions of the policy are about the object of the request.
    fn is_triggered(
        &self,
        program: &MutationProgram,
        object: &Value,
        allowed: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, EvalError> {
        let spent = Cell::new(SpentCost::within(evaluation.budget));
        let subject = ExpressionSubject {
            exceptions: allowed,
            inputs: program.inputs,
            ..ExpressionSubject::of(object, LIST_NAMES, &spent)
        };
        let checks = &program.checks;
        let is_met = checks.are_met(&checks.conditions, &subject, evaluation, notes);
        spent.get().charge(evaluation.budget);
        is_met
    }

    fn find(
        &self,
        program: &MutationProgram,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Vec<Value>, EvalError> {
        let mut found = Vec::new();
        match &self.origin {
            TargetOrigin::Expression(expression) => {
                let spent = Cell::new(SpentCost::within(evaluation.budget));
                let subject = ExpressionSubject {
                    inputs: program.inputs,
                    ..ExpressionSubject::of(object, LIST_NAMES, &spent)
                };
                let value = program.checks.value_of(expression, &subject, evaluation, notes);
                spent.get().charge(evaluation.budget);
                add_objects(value?, &mut found)?;
            }
            TargetOrigin::Trigger => found.push(object.clone()),
            TargetOrigin::Constraints { lists, matcher } => {
                for list in lists {
                    let mut listed = Vec::new();
                    add_objects(look_up(list, evaluation.world)?, &mut listed)?;
                    for target in listed {
                        evaluation.budget.step(1)?;
                        if is_matched(matcher, &target, evaluation)? {
                            found.push(target);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    fn is_meant(
        &self,
        program: &MutationProgram,
        target: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<bool, EvalError> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let spent = Cell::new(SpentCost::within(evaluation.budget));
        let subject = ExpressionSubject {
            form: ObjectForm::Target,
            inputs: program.inputs,
            ..ExpressionSubject::of(target, ("targetMatchConditions", ""), &spent)
        };
        let is_met = program.checks.are_met(&self.conditions, &subject, evaluation, notes);
        spent.get().charge(evaluation.budget);
        is_met
    }
}

/// Judges stored objects of those that a policy changes because of others.
pub(crate) struct StoredTargetJudge {
    pub(crate) targets: MutationTargets,
    /// What the policy itself is about.
    pub(crate) own: Option<ConstraintsMatcher>,
}

impl StoredTargetJudge {
    /// An object passes where it is as the policy makes it. Otherwise there is nothing to report, because perhaps nothing
    /// asked for the change yet; and nothing about an object that the policy is about itself, of which its first rule says
    /// the same.
    pub(super) fn effect(
        &self,
        program: &MutationProgram,
        object: &Value,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        let Self { targets, own } = self;
        let is_own = match own {
            Some(matcher) => {
                matcher.matches(object, evaluation)?.is_none()
                    && targets.is_triggered(program, object, &Value::Null, evaluation, notes)?
            }
            None => false,
        };
        if is_own || !targets.is_meant(program, object, evaluation, notes)? {
            return Ok(Effect::NotReported("the object is no target".into()));
        }
        let changed = program.invoked(object, &targets.invocation(&Value::Null), evaluation, notes)?;
        Ok(match changed.is_some_and(|changed| changed == *object) {
            true => Effect::Pass(program.success()),
            false => Effect::NotReported("the object is not as the policy would make it".into()),
        })
    }
}

fn look_up(list: &Text, world: WorldView<'_>) -> Result<Value, EvalError> {
    let query = Query::Api(ApiCall::resource("GET", list, Text::default()));
    match world.get(&query) {
        QueryAnswer::Found(found) => Ok(found),
        QueryAnswer::Absent => Ok(Value::Null),
        QueryAnswer::Unknown => Err(EvalError::unanswered(query)),
        QueryAnswer::Failed(why) => Err(EvalError::failed(&query, &why)),
        QueryAnswer::Refused(why) => Err(EvalError::refused(&query, &why)),
    }
}

fn is_matched(
    matcher: &ConstraintsMatcher,
    target: &Value,
    evaluation: &mut Evaluation<'_>,
) -> Result<bool, EvalError> {
    let request = target_request(target, evaluation.request);
    let cache = DecisionCache::default();
    let Evaluation { world, budget, tracer, .. } = evaluation;
    let mut inner = Evaluation::new(&request, *world, budget, tracer, &cache);
    Ok(matcher.matches(target, &mut inner)?.is_none())
}

/// Adds the objects that `value` is: one, a list of them, or an object with `items`.
fn add_objects(value: Value, found: &mut Vec<Value>) -> Result<(), EvalError> {
    if found.len() >= MAX_TARGETS {
        return Err(EvalError::limit(format!("more than {MAX_TARGETS} targets")));
    }
    match value {
        Value::Null => Ok(()),
        Value::Array(items) => items.iter().try_for_each(|item| add_objects(item.clone(), found)),
        Value::Object(ref map) => match map.get("items") {
            Some(Value::Array(items)) => {
                items.iter().try_for_each(|item| add_objects(with_kind_of_list(item, &value), found))
            }
            _ => {
                found.push(value);
                Ok(())
            }
        },
        other => Err(EvalError::new(format!("a target must be an object, found {}", other.kind().name()))),
    }
}

/// The API server leaves out the kinds of the items of its lists.
fn with_kind_of_list(item: &Value, list: &Value) -> Value {
    let kind = list.str_at(&["kind"]).strip_suffix("List").unwrap_or_default();
    let mut item = item.clone();
    if kind.is_empty() || item.get("kind").is_some() {
        return item;
    }
    if let Some(item) = item.as_object_mut() {
        item.insert("apiVersion".into(), list.str_at(&["apiVersion"]).into());
        item.insert("kind".into(), kind.into());
    }
    item
}
