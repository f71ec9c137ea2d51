//! Which objects a role is for: conditions that all, some or none must hold.

use kubewright_value::{Budget, Exhausted, Location, Value};

use super::key::{Frame, Key, KeyStep, collect_anchor};
use super::operator::{Operand, Operator};

/// The filter of a role.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) all: Vec<Condition>,
    pub(crate) any: Vec<Condition>,
    pub(crate) none: Vec<Condition>,
}

/// One condition.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    pub(crate) key: Key,
    pub(crate) operator: Operator,
    pub(crate) operands: Operands,
    pub(crate) location: Location,
}

/// What the values at a path are compared with.
#[derive(Debug, Clone)]
pub(crate) enum Operands {
    Written(Vec<Operand>),
    /// The values at another path of the same object.
    From(Key),
}

impl Filter {
    /// Returns whether nothing is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.any.is_empty() && self.none.is_empty()
    }

    /// Adds the arrays of which one element is meant.
    pub(crate) fn collect_anchors(&self, anchors: &mut Vec<Vec<KeyStep>>) {
        for condition in self.all.iter().chain(&self.any).chain(&self.none) {
            collect_anchor(&condition.key, anchors);
            if let Operands::From(key) = &condition.operands {
                collect_anchor(key, anchors);
            }
        }
    }

    /// Returns whether `object` passes, with the elements that `frame` means.
    pub(crate) fn passes(
        &self,
        object: &Value,
        frame: &Frame,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<bool, Exhausted> {
        for condition in &self.all {
            if !condition.holds(object, frame, budget, incomparable)? {
                return Ok(false);
            }
        }
        for condition in &self.none {
            if condition.holds(object, frame, budget, incomparable)? {
                return Ok(false);
            }
        }
        for condition in &self.any {
            if condition.holds(object, frame, budget, incomparable)? {
                return Ok(true);
            }
        }
        Ok(self.any.is_empty())
    }
}

impl Condition {
    pub(crate) fn holds(
        &self,
        object: &Value,
        frame: &Frame,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<bool, Exhausted> {
        let values = self.key.values(object, frame, budget)?;
        match &self.operands {
            Operands::Written(operands) => self.operator.holds(&values, operands, budget, incomparable),
            Operands::From(key) => {
                let found = key.values(object, frame, budget)?;
                let operands: Vec<Operand> = found.into_iter().filter_map(Operand::of).collect();
                self.operator.holds(&values, &operands, budget, incomparable)
            }
        }
    }
}
