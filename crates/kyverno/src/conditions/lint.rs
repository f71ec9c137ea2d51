//! Lints of conditions.

use kubewright_engine::nearest_word;
use kubewright_value::{Budget, Step};

use super::{CompiledCondition, ConditionSet};
use crate::operator::ConditionOperator;
use kubewright_dialect_kit::fields::child_path;

/// Something that looks wrong.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConditionLint {
    /// Relative to the conditions.
    pub(crate) at: Vec<Step>,
    pub(crate) kind: ConditionLintKind,
}

/// The kind of the lint.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConditionLintKind {
    /// The operator is unknown, perhaps misspelt.
    UnknownOperator { near: Option<&'static str> },
    /// There are better operators.
    Deprecated { instead: &'static [&'static str] },
    /// Without variables it always has this result.
    Always(bool),
    /// The operator cannot use the value; the text is its effect.
    Unfit(&'static str),
    /// Of no conditions none holds.
    EmptyAny,
}

impl ConditionSet {
    /// Returns all lints, in document order.
    pub(crate) fn lint(&self) -> Vec<ConditionLint> {
        let mut found = Vec::new();
        for group in &self.groups {
            if group.any.as_ref().is_some_and(Vec::is_empty) {
                found.push(ConditionLint {
                    at: child_path(&group.at, "any"),
                    kind: ConditionLintKind::EmptyAny,
                });
            }
            for condition in group.any.iter().flatten().chain(&group.all) {
                found.extend(condition.lint());
            }
        }
        found
    }
}

impl CompiledCondition {
    fn lint(&self) -> Vec<ConditionLint> {
        let at = |key: &str| child_path(&self.at, key);
        let Some(operator) = self.operator else {
            let near = nearest_word(&self.written.operator, ConditionOperator::names());
            return vec![ConditionLint {
                at: at("operator"),
                kind: ConditionLintKind::UnknownOperator { near },
            }];
        };
        let deprecated = operator.replacement().map(|instead| ConditionLint {
            at: at("operator"),
            kind: ConditionLintKind::Deprecated { instead },
        });
        let always = match (&self.key.constant, &self.value.constant) {
            (Some(key), Some(value)) => operator.holds(key, value, &mut Budget::default()).ok(),
            _ => None,
        };
        let unfit = self.value.constant.as_ref().and_then(|value| operator.objection(value));
        let second = match (always, unfit) {
            (Some(always), _) => {
                Some(ConditionLint { at: self.at.clone(), kind: ConditionLintKind::Always(always) })
            }
            (None, Some(does)) => {
                Some(ConditionLint { at: at("value"), kind: ConditionLintKind::Unfit(does) })
            }
            (None, None) => None,
        };
        deprecated.into_iter().chain(second).collect()
    }
}
