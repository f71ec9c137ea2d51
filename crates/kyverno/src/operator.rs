//! The operators of conditions: `Equals`, `AnyIn`, `GreaterThan` and the others, on any two values.
//!
//! What a text means depends on the operator: a duration (`1h`), a quantity (`1Gi`), a number, a version, a range
//! (`1-10`), an array in JSON, or wildcards. Wildcards and ranges count only where the author of the policy wrote them.
//! An operator that cannot compare its two sides is false, and so is its opposite.

mod equality;
mod membership;
mod operand;
mod order;
mod range;

use kubewright_value::{Budget, Exhausted};

use membership::{Meaning, MembershipTest};
pub use operand::ComparedOperand;
use operand::OperandShape;

/// How the key and the value of a condition are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionOperator {
    /// Both sides are equal.
    Equals,
    /// The sides are not equal.
    NotEquals,
    /// Deprecated.
    In,
    /// Deprecated.
    NotIn,
    /// One value of the key is among those of the value.
    AnyIn,
    /// All values of the key are among those of the value.
    AllIn,
    /// One value of the key is not among those of the value.
    AnyNotIn,
    /// No value of the key is among those of the value.
    AllNotIn,
    /// One side is larger.
    Compare(OrderOperator),
    /// Deprecated.
    CompareDuration(OrderOperator),
}

/// Which side is to be larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderOperator {
    /// The key is larger.
    GreaterThan,
    /// The key is larger, or both are equal.
    GreaterThanOrEquals,
    /// The value is larger.
    LessThan,
    /// The value is larger, or both are equal.
    LessThanOrEquals,
}

/// Every operator by its name, in the order in which they are listed to a user.
const NAMES: [(&str, ConditionOperator); 18] = [
    ("Equals", ConditionOperator::Equals),
    ("NotEquals", ConditionOperator::NotEquals),
    ("AnyIn", ConditionOperator::AnyIn),
    ("AllIn", ConditionOperator::AllIn),
    ("AnyNotIn", ConditionOperator::AnyNotIn),
    ("AllNotIn", ConditionOperator::AllNotIn),
    ("GreaterThan", ConditionOperator::Compare(OrderOperator::GreaterThan)),
    ("GreaterThanOrEquals", ConditionOperator::Compare(OrderOperator::GreaterThanOrEquals)),
    ("LessThan", ConditionOperator::Compare(OrderOperator::LessThan)),
    ("LessThanOrEquals", ConditionOperator::Compare(OrderOperator::LessThanOrEquals)),
    ("In", ConditionOperator::In),
    ("NotIn", ConditionOperator::NotIn),
    ("DurationGreaterThan", ConditionOperator::CompareDuration(OrderOperator::GreaterThan)),
    ("DurationGreaterThanOrEquals", ConditionOperator::CompareDuration(OrderOperator::GreaterThanOrEquals)),
    ("DurationLessThan", ConditionOperator::CompareDuration(OrderOperator::LessThan)),
    ("DurationLessThanOrEquals", ConditionOperator::CompareDuration(OrderOperator::LessThanOrEquals)),
    ("Equal", ConditionOperator::Equals),
    ("NotEqual", ConditionOperator::NotEquals),
];

impl ConditionOperator {
    /// Returns the operator called `name`, however its letters are cased.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, operator)| *operator)
    }

    /// Returns the names of all operators.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns the replacement of a deprecated operator.
    pub(super) fn replacement(self) -> Option<&'static [&'static str]> {
        match self {
            Self::In => Some(&["AllIn", "AnyIn"]),
            Self::NotIn => Some(&["AllNotIn", "AnyNotIn"]),
            Self::CompareDuration(order) => Some(match order {
                OrderOperator::GreaterThan => &["GreaterThan"],
                OrderOperator::GreaterThanOrEquals => &["GreaterThanOrEquals"],
                OrderOperator::LessThan => &["LessThan"],
                OrderOperator::LessThanOrEquals => &["LessThanOrEquals"],
            }),
            _ => None,
        }
    }

    /// Returns whether `key` compares with `value` under the operator.
    ///
    /// # Errors
    /// When comparing takes more steps than are left.
    pub fn holds(
        self,
        key: &ComparedOperand,
        value: &ComparedOperand,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        self.compares(key, value, Meaning::Accuses, budget)
    }

    /// Returns the same where holding excuses an object, so that its wildcards do not help it.
    ///
    /// # Errors
    /// As [`Operator::holds`].
    pub(super) fn excuses(
        self,
        key: &ComparedOperand,
        value: &ComparedOperand,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        self.compares(key, value, Meaning::Excuses, budget)
    }

    fn compares(
        self,
        key: &ComparedOperand,
        value: &ComparedOperand,
        meaning: Meaning,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        budget.step(1 + key.size() + value.size())?;
        match self {
            Self::Equals => equality::operands_equal(key, value, budget),
            Self::NotEquals => Ok(!key.is_null() && !equality::operands_equal(key, value, budget)?),
            Self::AnyIn => membership::is_member(MembershipTest::OneIn, key, value, meaning, budget),
            Self::AllIn => membership::is_member(MembershipTest::AllIn, key, value, meaning, budget),
            Self::AnyNotIn => membership::is_member(MembershipTest::OneOut, key, value, meaning, budget),
            Self::AllNotIn => membership::is_member(MembershipTest::AllOut, key, value, meaning, budget),
            Self::In => membership::legacy(false, key, value, meaning, budget),
            Self::NotIn => membership::legacy(true, key, value, meaning, budget),
            Self::Compare(order) => {
                Ok(order::compare_operands(key, value).is_some_and(|found| order.admits(found)))
            }
            Self::CompareDuration(order) => {
                Ok(order::compare_durations(key, value).is_some_and(|found| order.admits(found)))
            }
        }
    }

    /// Returns the effect of the operator when it cannot use `value`, or only for keys that are lists.
    pub(super) fn objection(self, value: &ComparedOperand) -> Option<&'static str> {
        match (&value.shape, self) {
            (
                OperandShape::List(_) | OperandShape::Map(_) | OperandShape::Bool(_) | OperandShape::Null,
                Self::Compare(_) | Self::CompareDuration(_),
            ) => Some("compares numbers, quantities, durations and versions"),
            (OperandShape::Number(_), Self::Compare(_) | Self::CompareDuration(_)) => None,
            (OperandShape::Text(words), Self::Compare(_)) if !words.is_comparable() => {
                Some("compares numbers, quantities, durations and versions")
            }
            (OperandShape::Text(words), Self::CompareDuration(_)) if words.duration().is_none() => {
                Some("compares durations such as `1h30m`, and numbers of seconds")
            }
            (
                OperandShape::Number(_) | OperandShape::Bool(_) | OperandShape::Map(_) | OperandShape::Null,
                operator,
            ) if !matches!(operator, Self::Equals | Self::NotEquals) => {
                Some("looks for the key in a list, a range or a text")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
