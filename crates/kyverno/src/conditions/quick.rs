//! Whether conditions surely hold, or surely do not.
//!
//! Most objects are not denied, so this looks at values alone: no context of variables, no notes, no messages. Where a
//! condition reads more than the object or the element of a loop, or cannot be evaluated, nothing is sure: the evaluation
//! that explains then decides.

use kubewright_engine::DerivedCache;
use kubewright_value::{Budget, Value};

use super::{CompiledCondition, ConditionGroup, ConditionOperand, ConditionSet};
use crate::context::{Sourced, search_object, search_tainted};
use crate::operator::{ComparedOperand, ConditionOperator};

/// What conditions may read.
#[derive(Clone, Copy)]
pub(in super::super) struct QuickInput<'a> {
    pub(in super::super) object: &'a Value,
    /// The element of a loop, and whether someone other than the policy's author may have written it.
    pub(in super::super) element: Option<(&'a Value, bool)>,
    pub(in super::super) derived: &'a DerivedCache,
}

impl ConditionSet {
    /// Returns whether the conditions hold, if that is sure.
    #[inline]
    pub(in super::super) fn surely_hold(&self, input: QuickInput<'_>, budget: &mut Budget) -> Option<bool> {
        for group in &self.groups {
            if !group.surely_holds(input, budget)? {
                return Some(false);
            }
        }
        Some(true)
    }
}

impl ConditionGroup {
    fn surely_holds(&self, input: QuickInput<'_>, budget: &mut Budget) -> Option<bool> {
        let any = match &self.any {
            Some(conditions) => surely_until(conditions, true, input, budget)?,
            None => true,
        };
        // Also where nothing of `any` holds: it may be an error.
        let all = surely_until(&self.all, false, input, budget)?;
        Some(any && all)
    }
}

/// Looks at conditions until one is `wanted`; returns whether one was found, or else whether none was needed.
fn surely_until(
    conditions: &[CompiledCondition],
    wanted: bool,
    input: QuickInput<'_>,
    budget: &mut Budget,
) -> Option<bool> {
    for condition in conditions {
        if condition.surely_holds(input, budget)? == wanted {
            return Some(wanted);
        }
    }
    Some(!wanted)
}

impl CompiledCondition {
    fn surely_holds(&self, input: QuickInput<'_>, budget: &mut Budget) -> Option<bool> {
        let operator = self.operator?;
        let key = self.key.found(input, budget)?;
        let value = self.value.found(input, budget)?;
        let (mut of_key, mut of_value) = (None, None);
        let key = self.key.operand(key.map(Sourced::into_mixed), &mut of_key);
        let value = self.value.operand(value.map(Sourced::into_mixed), &mut of_value);
        let compare: fn(ConditionOperator, &ComparedOperand, &ComparedOperand, &mut Budget) -> _ =
            if self.is_excuse { ConditionOperator::excuses } else { ConditionOperator::holds };
        compare(operator, key, value, budget).ok()
    }
}

impl ConditionOperand {
    /// Returns the value inside, which is none for a constant, if the object or the element alone has it.
    fn found(&self, input: QuickInput<'_>, budget: &mut Budget) -> Option<Option<Sourced>> {
        if self.constant.is_some() {
            return Some(None);
        }
        let query = self.template.sole_query()?;
        let found = match (query.on_object(), query.on_element(), input.element) {
            (Some(choice), ..) => {
                search_object(choice, query.shared_number, input.object, input.derived, budget)
            }
            (None, Some(choice), Some(element)) => search_tainted(choice, &[], element, budget),
            _ => return None,
        };
        found.ok().map(Some)
    }
}
