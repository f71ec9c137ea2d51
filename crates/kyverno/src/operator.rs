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

use membership::{Meaning, Wanted};
pub use operand::Operand;
use operand::Shape;

/// How the key and the value of a condition are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
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
    Compare(Order),
    /// Deprecated.
    CompareDuration(Order),
}

/// Which side is to be larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
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
const NAMES: [(&str, Operator); 18] = [
    ("Equals", Operator::Equals),
    ("NotEquals", Operator::NotEquals),
    ("AnyIn", Operator::AnyIn),
    ("AllIn", Operator::AllIn),
    ("AnyNotIn", Operator::AnyNotIn),
    ("AllNotIn", Operator::AllNotIn),
    ("GreaterThan", Operator::Compare(Order::GreaterThan)),
    ("GreaterThanOrEquals", Operator::Compare(Order::GreaterThanOrEquals)),
    ("LessThan", Operator::Compare(Order::LessThan)),
    ("LessThanOrEquals", Operator::Compare(Order::LessThanOrEquals)),
    ("In", Operator::In),
    ("NotIn", Operator::NotIn),
    ("DurationGreaterThan", Operator::CompareDuration(Order::GreaterThan)),
    ("DurationGreaterThanOrEquals", Operator::CompareDuration(Order::GreaterThanOrEquals)),
    ("DurationLessThan", Operator::CompareDuration(Order::LessThan)),
    ("DurationLessThanOrEquals", Operator::CompareDuration(Order::LessThanOrEquals)),
    ("Equal", Operator::Equals),
    ("NotEqual", Operator::NotEquals),
];

impl Operator {
    /// Returns the operator called `name`, however its letters are cased.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, operator)| *operator)
    }

    /// Returns the names of all operators.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Returns what is to be written in place of a deprecated operator.
    pub(super) fn replacement(self) -> Option<&'static [&'static str]> {
        match self {
            Self::In => Some(&["AllIn", "AnyIn"]),
            Self::NotIn => Some(&["AllNotIn", "AnyNotIn"]),
            Self::CompareDuration(order) => Some(match order {
                Order::GreaterThan => &["GreaterThan"],
                Order::GreaterThanOrEquals => &["GreaterThanOrEquals"],
                Order::LessThan => &["LessThan"],
                Order::LessThanOrEquals => &["LessThanOrEquals"],
            }),
            _ => None,
        }
    }

    /// Returns whether `key` compares with `value` as the operator says.
    ///
    /// # Errors
    /// When comparing takes more steps than are left.
    pub fn holds(self, key: &Operand, value: &Operand, budget: &mut Budget) -> Result<bool, Exhausted> {
        self.compares(key, value, Meaning::Accuses, budget)
    }

    /// Returns the same where holding excuses an object, so that its wildcards do not help it.
    ///
    /// # Errors
    /// As [`Operator::holds`].
    pub(super) fn excuses(
        self,
        key: &Operand,
        value: &Operand,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        self.compares(key, value, Meaning::Excuses, budget)
    }

    fn compares(
        self,
        key: &Operand,
        value: &Operand,
        meaning: Meaning,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        budget.step(1 + key.size() + value.size())?;
        match self {
            Self::Equals => equality::equals(key, value, budget),
            Self::NotEquals => Ok(!key.is_null() && !equality::equals(key, value, budget)?),
            Self::AnyIn => membership::holds(Wanted::OneIn, key, value, meaning, budget),
            Self::AllIn => membership::holds(Wanted::AllIn, key, value, meaning, budget),
            Self::AnyNotIn => membership::holds(Wanted::OneOut, key, value, meaning, budget),
            Self::AllNotIn => membership::holds(Wanted::AllOut, key, value, meaning, budget),
            Self::In => membership::legacy(false, key, value, meaning, budget),
            Self::NotIn => membership::legacy(true, key, value, meaning, budget),
            Self::Compare(order) => Ok(order::compare(key, value).is_some_and(|found| order.admits(found))),
            Self::CompareDuration(order) => {
                Ok(order::compare_durations(key, value).is_some_and(|found| order.admits(found)))
            }
        }
    }

    /// Returns what the operator does, when it can do nothing with `value`, or only with keys that are lists.
    pub(super) fn objection(self, value: &Operand) -> Option<&'static str> {
        match (&value.shape, self) {
            (
                Shape::List(_) | Shape::Map(_) | Shape::Bool(_) | Shape::Null,
                Self::Compare(_) | Self::CompareDuration(_),
            ) => Some("compares numbers, quantities, durations and versions"),
            (Shape::Number(_), Self::Compare(_) | Self::CompareDuration(_)) => None,
            (Shape::Text(words), Self::Compare(_)) if !words.is_comparable() => {
                Some("compares numbers, quantities, durations and versions")
            }
            (Shape::Text(words), Self::CompareDuration(_)) if words.duration().is_none() => {
                Some("compares durations such as `1h30m`, and numbers of seconds")
            }
            (Shape::Number(_) | Shape::Bool(_) | Shape::Map(_) | Shape::Null, operator)
                if !matches!(operator, Self::Equals | Self::NotEquals) =>
            {
                Some("looks for the key in a list, a range or a text")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
