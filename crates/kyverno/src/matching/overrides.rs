//! Another action for some namespaces: `failureActionOverrides`.

use kubewright_engine::{EvalError, Evaluation};
use kubewright_golib::glob::WildcardPattern;

use super::clause::{matched_namespace, namespace_labels};
use crate::source::{ActionOverride, FailureAction};
use kubewright_dialect_kit::selector::WildcardSelector;

/// Compiled overrides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    list: Vec<Override>,
}

#[derive(Debug, Clone)]
struct Override {
    action: FailureAction,
    namespaces: Vec<WildcardPattern>,
    selector: Option<WildcardSelector>,
}

impl Overrides {
    /// Returns the overrides that are written in `overrides`.
    pub(crate) fn compile(overrides: &[ActionOverride]) -> Self {
        let list = overrides.iter().map(|written| Override {
            action: written.action,
            namespaces: written.namespaces.iter().map(|name| WildcardPattern::parse(name)).collect(),
            selector: written.namespace_selector.as_ref().map(WildcardSelector::compile),
        });
        Self { list: list.collect() }
    }

    /// Returns the action of the first override that matches the namespace of the object.
    ///
    /// # Errors
    /// When the labels of the namespace matter and are not known yet, or the budget is used up.
    pub(crate) fn action(&self, evaluation: &mut Evaluation<'_>) -> Result<Option<FailureAction>, EvalError> {
        for candidate in &self.list {
            if candidate.is_about(evaluation)? {
                return Ok(Some(candidate.action));
            }
        }
        Ok(None)
    }
}

impl Override {
    fn is_about(&self, evaluation: &mut Evaluation<'_>) -> Result<bool, EvalError> {
        let namespace = matched_namespace(evaluation.request);
        let mut is_named = self.namespaces.is_empty();
        for name in &self.namespaces {
            is_named = is_named || name.matches(namespace, evaluation.budget)?;
        }
        match &self.selector {
            Some(selector) if is_named => {
                Ok(selector.matches(namespace_labels(evaluation)?, evaluation.budget)?)
            }
            _ => Ok(is_named),
        }
    }
}
