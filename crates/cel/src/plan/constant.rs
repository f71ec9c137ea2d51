//! Computing what does not depend on anything.

use super::call::is_conversion;
use super::{Plan, Planner, StepKind};
use crate::bindings::Bindings;
use crate::cost::Cost;
use crate::environment::Environment;
use crate::error::Failure;
use crate::eval::Run;
use crate::val::{List, MapVal, Val};

/// How much computing a constant may cost; what costs more waits for the evaluation.
const MOST: u64 = 1_000;

/// How much work it may be besides. More than any literal that an expression has room for.
const MOST_WORK: u64 = 400_000;

impl Planner<'_> {
    /// Returns the result of `plan` where all it needs is constant. What fails is left as it is: it may
    /// never be evaluated.
    pub(super) fn folded(&self, plan: Plan) -> Plan {
        if !is_constant(&plan) {
            return plan;
        }
        match compute(&plan, self.environment) {
            Ok((value, cost)) if !is_free(&plan) => Plan::Constant(value, cost),
            Ok((value, _)) => Plan::Constant(value, 0),
            Err(_) => plan,
        }
    }
}

/// Returns what a constant is, and what computing it costs.
pub(super) fn compute(plan: &Plan, environment: &Environment) -> Result<(Val<'static>, u64), Failure> {
    let mut cost = Cost::new(MOST).with_work(MOST_WORK);
    let bindings = Bindings::new();
    let made =
        owned(Run::new(&bindings, &[], 0, &mut cost).forgiving(environment.is_forgiving()).eval(plan)?);
    Ok((made.ok_or_else(Failure::mismatch)?, cost.used()))
}

/// Returns whether the API server computes this beforehand too, so that it costs nothing: literals of
/// literals, and conversions of them.
fn is_free(plan: &Plan) -> bool {
    let is = |plan: &Plan| matches!(plan, Plan::Constant(_, 0));
    match plan {
        Plan::List(parts) => parts.iter().all(|part| is(&part.plan)),
        Plan::Map(parts, _) => parts.iter().all(|(key, part)| is(key) && is(&part.plan)),
        Plan::Call(calling) => is_conversion(&calling.name) && calling.arguments.iter().all(is),
        _ => false,
    }
}

/// Returns whether everything directly in `plan` is a constant.
fn is_constant(plan: &Plan) -> bool {
    let is = |plan: &Plan| matches!(plan, Plan::Constant(..));
    match plan {
        Plan::And(parts, _) | Plan::Or(parts, _) => parts.iter().all(is),
        Plan::Not(operand, _) | Plan::Negate(operand, _) => is(operand),
        Plan::Binary(binary) => is(&binary.left) && is(&binary.right),
        Plan::Conditional(parts, _) => parts.iter().all(is),
        Plan::List(parts) => parts.iter().all(|part| is(&part.plan)),
        Plan::Map(parts, _) => parts.iter().all(|(key, part)| is(key) && is(&part.plan)),
        Plan::Call(calling) => calling.arguments.iter().all(is),
        Plan::Path(path) => {
            is(&path.root)
                && path.steps.iter().all(|step| match &step.what {
                    StepKind::Field(_) => true,
                    StepKind::Index(index) => is(index),
                })
        }
        _ => false,
    }
}

/// Returns a value that borrows nothing.
pub(super) fn owned(value: Val<'_>) -> Option<Val<'static>> {
    Some(match value {
        Val::Null => Val::Null,
        Val::Bool(value) => Val::Bool(value),
        Val::Int(value) => Val::Int(value),
        Val::UInt(value) => Val::UInt(value),
        Val::Double(value) => Val::Double(value),
        Val::String(text) => Val::text(text.into_owned()),
        Val::Bytes(bytes) => Val::Bytes(bytes),
        Val::Timestamp(time) => Val::Timestamp(time),
        Val::Duration(duration) => Val::Duration(duration),
        Val::Type(name) => Val::Type(name),
        Val::Opaque(value) => Val::Opaque(value),
        Val::Optional(None) => Val::Optional(None),
        Val::Optional(Some(value)) => Val::some(owned((*value).clone())?),
        Val::List(List::Borrowed(items)) => Val::List(List::Shared(items.clone())),
        Val::List(List::Shared(items)) => Val::List(List::Shared(items)),
        Val::List(List::Made(items)) => {
            Val::list(items.iter().cloned().map(owned).collect::<Option<Vec<_>>>()?)
        }
        Val::Map(MapVal::Borrowed(map)) => Val::Map(MapVal::Shared(map.clone())),
        Val::Map(MapVal::Shared(map)) => Val::Map(MapVal::Shared(map)),
        Val::Map(map) => {
            let mut entries = crate::val::Entries::new();
            for (key, value) in map.iter() {
                entries.insert(owned(key)?, owned(value)?);
            }
            Val::Map(MapVal::Made(entries.into()))
        }
    })
}
