//! Constant folding.

use super::call::is_conversion;
use super::{CelPlan, PlannedStepKind, Planner};
use crate::bindings::CelBindings;
use crate::cost::CelCost;
use crate::environment::CelEnvironment;
use crate::error::CelFailure;
use crate::eval::CelEvaluator;
use crate::val::{ListVal, MapVal, Val};

/// The largest cost of a constant that is computed at compile time.
const MAX_CONSTANT_COST: u64 = 1_000;

/// The largest work of a constant that is computed at compile time. Any literal needs less.
const MAX_CONSTANT_WORK: u64 = 400_000;

impl Planner<'_> {
    /// Replaces `plan` by its value if all operands are constants. A plan that fails is kept, since it may
    /// never be evaluated.
    pub(super) fn folded(&self, plan: CelPlan) -> CelPlan {
        if !has_constant_operands(&plan) {
            return plan;
        }
        match compute_constant(&plan, self.environment) {
            Ok((value, cost)) if !is_free_constant(&plan) => CelPlan::Constant(value, cost),
            Ok((value, _)) => CelPlan::Constant(value, 0),
            Err(_) => plan,
        }
    }
}

/// Returns the value of a constant expression, and the cost of computing it.
pub(super) fn compute_constant(
    plan: &CelPlan,
    environment: &CelEnvironment,
) -> Result<(Val<'static>, u64), CelFailure> {
    let mut cost = CelCost::new(MAX_CONSTANT_COST).with_work(MAX_CONSTANT_WORK);
    let bindings = CelBindings::new();
    let made = to_owned_val(
        CelEvaluator::new(&bindings, &[], 0, &mut cost).forgiving(environment.is_forgiving()).eval(plan)?,
    );
    Ok((made.ok_or_else(CelFailure::mismatch)?, cost.used()))
}

/// Returns whether the API server also computes this at compile time, so that it costs nothing: literals of
/// literals, and conversions of them.
fn is_free_constant(plan: &CelPlan) -> bool {
    let is = |plan: &CelPlan| matches!(plan, CelPlan::Constant(_, 0));
    match plan {
        CelPlan::List(parts) => parts.iter().all(|part| is(&part.plan)),
        CelPlan::Map(parts, _) => parts.iter().all(|(key, part)| is(key) && is(&part.plan)),
        CelPlan::Call(calling) => is_conversion(&calling.name) && calling.arguments.iter().all(is),
        _ => false,
    }
}

/// Returns whether all operands of `plan` are constants.
fn has_constant_operands(plan: &CelPlan) -> bool {
    let is = |plan: &CelPlan| matches!(plan, CelPlan::Constant(..));
    match plan {
        CelPlan::And(parts, _) | CelPlan::Or(parts, _) => parts.iter().all(is),
        CelPlan::Not(operand, _) | CelPlan::Negate(operand, _) => is(operand),
        CelPlan::Binary(binary) => is(&binary.left) && is(&binary.right),
        CelPlan::Conditional(parts, _) => parts.iter().all(is),
        CelPlan::List(parts) => parts.iter().all(|part| is(&part.plan)),
        CelPlan::Map(parts, _) => parts.iter().all(|(key, part)| is(key) && is(&part.plan)),
        CelPlan::Structure(structure) => structure.fields.iter().all(|(_, part)| is(&part.plan)),
        CelPlan::Call(calling) => calling.arguments.iter().all(is),
        CelPlan::Path(path) => {
            is(&path.root)
                && path.steps.iter().all(|step| match &step.what {
                    PlannedStepKind::Field(_) => true,
                    PlannedStepKind::Index(index) => is(index),
                })
        }
        _ => false,
    }
}

/// Returns the value with all borrowed parts copied.
pub(super) fn to_owned_val(value: Val<'_>) -> Option<Val<'static>> {
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
        Val::Optional(Some(value)) => Val::some(to_owned_val((*value).clone())?),
        Val::List(ListVal::Borrowed(items)) => Val::List(ListVal::Shared(items.clone())),
        Val::List(ListVal::Shared(items)) => Val::List(ListVal::Shared(items)),
        Val::List(ListVal::Made(items)) => {
            Val::list(items.iter().cloned().map(to_owned_val).collect::<Option<Vec<_>>>()?)
        }
        Val::Map(MapVal::Borrowed(map)) => Val::Map(MapVal::Shared(map.clone())),
        Val::Map(MapVal::Shared(map)) => Val::Map(MapVal::Shared(map)),
        Val::Map(map) => {
            let mut entries = crate::val::MapEntries::new().named(map.structure().cloned());
            for (key, value) in map.iter() {
                entries.insert(to_owned_val(key)?, to_owned_val(value)?);
            }
            Val::Map(MapVal::Made(entries.into()))
        }
    })
}
