//! The value of a variable with its origin, or why there is none.

use std::sync::Arc;

use kubewright_engine::{EvalError, OutcomeReason};
use kubewright_value::{Exhausted, Step, Text, Value};

use super::super::tainted::{Tainted, join_parts};

/// A value, and whether someone other than the policy's author may have written it.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Sourced {
    pub(in super::super) value: Value,
    pub(in super::super) is_foreign: bool,
    /// The origins of its parts, if some are the author's.
    pub(super) parts: Option<Arc<Tainted>>,
}

/// Why a variable has no value.
#[derive(Debug, Clone)]
pub(in super::super) enum Unresolved {
    /// An object lacks a key; the message names it.
    Missing(Box<EvalError>),
    // Boxed, because results of this type are on the stack of every level of nested entries.
    Error(Box<EvalError>),
}

impl Sourced {
    /// Returns a value that the author wrote.
    pub(in super::super) fn own(value: Value) -> Self {
        Self { value, is_foreign: false, parts: None }
    }

    /// Returns a foreign value.
    pub(in super::super) fn foreign(value: Value) -> Self {
        Self { value, is_foreign: true, parts: None }
    }

    /// Returns the value as one that is not the author's if `is_tainted`.
    pub(in super::super) fn tainted(self, is_tainted: bool) -> Self {
        if is_tainted { Self::foreign(self.value) } else { self }
    }

    /// Returns the items of an array, each with who wrote it; nothing for anything else.
    pub(in super::super) fn items(&self) -> Option<Vec<Self>> {
        if let Some(Tainted::List(items)) = self.parts.as_deref() {
            return Some(items.iter().cloned().map(Self::from).collect());
        }
        let item = |value: &Value| Self { value: value.clone(), is_foreign: self.is_foreign, parts: None };
        self.value.as_array().map(|items| items.iter().map(item).collect())
    }

    /// Returns the value at the end of `keys`, if its origin is known.
    pub(super) fn part(parts: &Tainted, keys: &[Text]) -> Option<Self> {
        let mut at = parts.clone();
        for key in keys {
            at = entry_of(&at, key)?;
        }
        Some(Self::from(at))
    }

    /// Returns the value with the origins of its parts.
    pub(in super::super) fn into_mixed(self) -> Tainted {
        match self.parts {
            Some(parts) => Arc::unwrap_or_clone(parts),
            None if self.is_foreign => Tainted::Untrusted(self.value),
            None => Tainted::Trusted(self.value),
        }
    }
}

impl From<Tainted> for Sourced {
    fn from(mixed: Tainted) -> Self {
        match mixed {
            Tainted::Trusted(value) => Self::own(value),
            Tainted::Untrusted(value) => Self::foreign(value),
            mixed => {
                Self { parts: Some(Arc::new(mixed.clone())), ..Self::foreign(mixed.plain().into_owned()) }
            }
        }
    }
}

impl Unresolved {
    /// Returns that a key is missing.
    pub(in super::super) fn missing(error: EvalError) -> Self {
        Self::Missing(Box::new(error))
    }

    /// Returns another error.
    pub(in super::super) fn error(error: EvalError) -> Self {
        Self::Error(Box::new(error))
    }

    /// Returns the same with `prefix` before its message.
    #[must_use]
    pub(in super::super) fn within(self, prefix: &str) -> Self {
        self.changed(|error| {
            let message = format!("{prefix}{}", error.message);
            // The innermost message is the cause.
            if error.reason.is_none() {
                let text = std::mem::take(&mut error.message);
                error.reason = Some(Box::new(OutcomeReason { text, ..OutcomeReason::default() }));
            }
            error.message = message;
        })
    }

    /// Returns the same with better words for its cause.
    #[must_use]
    pub(in super::super) fn explained(self, better: impl FnOnce(OutcomeReason) -> OutcomeReason) -> Self {
        self.changed(|error| {
            let reason = error.reason.take().map(|reason| *reason).unwrap_or_default();
            error.reason = Some(Box::new(better(reason)));
        })
    }

    /// Returns the same at `path` of the rule's document, of which it knows only the rest.
    #[must_use]
    pub(in super::super) fn below(self, path: &[Step]) -> Self {
        self.changed(|error| {
            if let Some(reason) = &mut error.reason {
                reason.at = path.iter().chain(&reason.at).cloned().collect();
            }
        })
    }

    fn changed(mut self, change: impl FnOnce(&mut EvalError)) -> Self {
        let (Self::Missing(error) | Self::Error(error)) = &mut self;
        change(error);
        self
    }

    /// Returns the cause in plain words, and what to do about it.
    pub(in super::super) fn cause(&self) -> (&str, &str) {
        let (Self::Missing(error) | Self::Error(error)) = self;
        match &error.reason {
            Some(reason) if !reason.text.is_empty() => (&reason.text, &reason.help),
            _ => (&error.message, ""),
        }
    }

    /// Returns the error of a step that could not be done because of it.
    pub(in super::super) fn into_error(self, step: &str) -> EvalError {
        self.within(&format!("{step}: ")).into()
    }

    /// Returns the path in the object of what is missing; empty where it is not known.
    pub(in super::super) fn subject(&self) -> Vec<Step> {
        let (Self::Missing(error) | Self::Error(error)) = self;
        error.reason.as_ref().map(|reason| reason.path.clone()).unwrap_or_default()
    }

    /// Returns the message.
    #[cfg(test)]
    pub(in super::super) fn message(&self) -> &str {
        let (Self::Missing(error) | Self::Error(error)) = self;
        &error.message
    }

    /// Returns whether a default may take its place: no limit was reached, and no query is open.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Missing(_) => true,
            Self::Error(error) => error.kind.is_final(),
        }
    }
}

impl From<Exhausted> for Unresolved {
    fn from(exhausted: Exhausted) -> Self {
        Self::error(exhausted.into())
    }
}

impl From<Unresolved> for EvalError {
    fn from(unresolved: Unresolved) -> Self {
        match unresolved {
            Unresolved::Missing(error) | Unresolved::Error(error) => *error,
        }
    }
}

/// Returns the value under `key`.
fn entry_of(mixed: &Tainted, key: &str) -> Option<Tainted> {
    match mixed {
        Tainted::Trusted(value) => value.get(key).cloned().map(Tainted::Trusted),
        Tainted::Untrusted(value) => value.get(key).cloned().map(Tainted::Untrusted),
        Tainted::Map(entries) => {
            entries.iter().find(|(name, _)| join_parts(name) == key).map(|(_, value)| value.clone())
        }
        Tainted::Text(_) | Tainted::List(_) => None,
    }
}
