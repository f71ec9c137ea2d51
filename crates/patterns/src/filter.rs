//! Filters of roles: conditions of which all, some or none must hold.

use kubewright_value::{Budget, Exhausted, Location, Text, Value};

use super::key::{ArrayAnchor, ElementFrame, FieldKey, KeyStep, collect_anchors};
use super::operator::{ConditionOperand, ConditionOperator};
use kubewright_value::CompactSort as _;

/// The filter of a role.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoleFilter {
    pub(crate) all: Vec<FilterCondition>,
    pub(crate) any: Vec<FilterCondition>,
    pub(crate) none: Vec<FilterCondition>,
}

/// One condition.
#[derive(Debug, Clone)]
pub(crate) struct FilterCondition {
    pub(crate) key: FieldKey,
    pub(crate) operator: ConditionOperator,
    pub(crate) operands: Operands,
    /// For a condition about each element of an array: the elements, and the path inside of each.
    pub(crate) each: Option<EachElement>,
    /// The location of its key.
    pub(crate) location: Location,
    /// The same for conditions that ask the same of an object, whatever other objects there are.
    pub(crate) signature: Option<Text>,
}

/// For how many elements of an array a condition must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantifier {
    /// Some value fits; a negative operator says that none does.
    Any,
    /// The operator holds for every element by itself.
    All,
    /// The operator holds for no element by itself.
    EachLacks,
}

/// The elements that a condition speaks of one by one.
#[derive(Debug, Clone)]
pub(crate) struct EachElement {
    /// The path to the elements.
    pub(crate) elements: FieldKey,
    /// The path inside of one.
    pub(crate) inside: FieldKey,
    /// Whether the operator must hold for all of them or for none.
    pub(crate) holds: bool,
}

/// The operands of a condition.
#[derive(Debug, Clone)]
pub(crate) enum Operands {
    Written(Vec<ConditionOperand>),
    /// The values at another path of the same object.
    From(FieldKey),
}

impl RoleFilter {
    /// Returns what must hold, or must not, of an object as a whole, the easiest first; and what is left to ask.
    pub(crate) fn split(&self) -> (Vec<(FilterCondition, bool)>, Self) {
        let mut rest = Self { any: self.any.clone(), ..Self::default() };
        let mut quick = Vec::new();
        for (conditions, wanted, left) in
            [(&self.all, true, &mut rest.all), (&self.none, false, &mut rest.none)]
        {
            for condition in conditions {
                match condition.has_anchors() {
                    true => left.push(condition.clone()),
                    false => quick.push((condition.clone(), wanted)),
                }
            }
        }
        quick.compact_sort_by_key(|(condition, _)| condition.cost());
        (quick, rest)
    }

    /// Returns whether nothing is asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.any.is_empty() && self.none.is_empty()
    }

    /// Returns how many conditions there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len() + self.any.len() + self.none.len()
    }

    /// Adds the arrays of which one element is meant.
    pub(crate) fn collect_anchors(&self, anchors: &mut Vec<ArrayAnchor>) {
        for condition in self.all.iter().chain(&self.any).chain(&self.none) {
            collect_anchors(&condition.key, anchors);
            if let Operands::From(key) = &condition.operands {
                collect_anchors(key, anchors);
            }
        }
    }

    /// Returns the choices of elements with which `object` passes; `more` are anchors beside those of the filter.
    pub(crate) fn frames(
        &self,
        more: &[ArrayAnchor],
        object: &Value,
        budget: &mut Budget,
    ) -> Result<Vec<ElementFrame>, Exhausted> {
        let mut anchors = Vec::new();
        self.collect_anchors(&mut anchors);
        for anchor in more {
            if !anchors.contains(anchor) {
                anchors.push(ArrayAnchor::clone(anchor));
            }
        }
        let mut passing = Vec::new();
        for frame in ElementFrame::all(&anchors, object, budget)? {
            if self.passes(object, &frame, budget, &mut false)? {
                passing.push(frame);
            }
        }
        Ok(passing)
    }

    /// Returns whether `object` passes, with the elements that `frame` means.
    pub(crate) fn passes(
        &self,
        object: &Value,
        frame: &ElementFrame,
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

impl FilterCondition {
    /// Returns whether it may be about the name or the uid of the object.
    pub(crate) fn reads_name(&self) -> bool {
        let operand = match &self.operands {
            Operands::From(key) => Some(key),
            Operands::Written(_) => None,
        };
        let elements = self.each.as_ref().map(|each| &each.elements);
        std::iter::once(&self.key).chain(operand).chain(elements).any(FieldKey::reads_name)
    }

    /// Returns whether it means one element of an array.
    fn has_anchors(&self) -> bool {
        let mut anchors = Vec::new();
        collect_anchors(&self.key, &mut anchors);
        if let Operands::From(key) = &self.operands {
            collect_anchors(key, &mut anchors);
        }
        !anchors.is_empty()
    }

    /// Returns about how much work it is.
    pub(crate) fn cost(&self) -> usize {
        let step = |step: &KeyStep| match step {
            KeyStep::Each => 10,
            KeyStep::PodTemplate => 4,
            _ => 1,
        };
        let operands = match &self.operands {
            Operands::Written(operands) => operands.len(),
            Operands::From(_) => 10,
        };
        let regex = if self.operator.is_regex() { 20 } else { 0 };
        self.key.steps.iter().map(step).sum::<usize>() + operands + regex
    }

    pub(crate) fn holds(
        &self,
        object: &Value,
        frame: &ElementFrame,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<bool, Exhausted> {
        let found: Vec<ConditionOperand>;
        let operands = match &self.operands {
            Operands::Written(operands) => operands.as_slice(),
            Operands::From(key) => {
                let values = key.values(object, frame, budget)?;
                found = values.into_iter().filter_map(ConditionOperand::of).collect();
                &found
            }
        };
        let Some(each) = &self.each else {
            let values = self.key.values(object, frame, budget)?;
            return self.operator.holds(&values, operands, budget, incomparable);
        };
        for element in each.elements.values(object, frame, budget)? {
            let values = each.inside.values(element, &ElementFrame::default(), budget)?;
            if self.operator.holds(&values, operands, budget, incomparable)? != each.holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
