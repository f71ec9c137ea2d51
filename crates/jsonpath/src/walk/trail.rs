//! The way to a value: every step, and the keys that were captured.

use std::fmt;

use kubewright_golib::quote::quote_go;
use kubewright_value::{Step, Text, Value};

/// A key that a wildcard, filter, range, union or `..` went through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapturedKey {
    /// Of an array.
    Index(usize),
    /// Of an object.
    Name(Text),
}

impl From<&CapturedKey> for Value {
    fn from(key: &CapturedKey) -> Self {
        match key {
            CapturedKey::Index(index) => (*index).into(),
            CapturedKey::Name(name) => name.clone().into(),
        }
    }
}

/// The steps so far. Recorded only on request.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct WalkTrail {
    pub(super) keeps_keys: bool,
    pub(super) keeps_steps: bool,
    pub(in super::super) keys: Vec<CapturedKey>,
    /// For each step that captures, where its keys start and whether it may have any number.
    pub(in super::super) parts: Vec<(usize, bool)>,
    pub(in super::super) steps: Vec<Step>,
    /// Whether the value was computed, and is not a part of the object.
    pub(super) is_computed: bool,
}

impl WalkTrail {
    /// Returns how many bytes a copy takes.
    pub(super) fn size(&self) -> usize {
        self.keys.len() * size_of::<CapturedKey>() + self.steps.len() * size_of::<Step>()
    }

    /// Adds the step that `key` is, unless the value was computed.
    pub(super) fn note(&mut self, key: &CapturedKey) {
        if self.keeps_steps && !self.is_computed {
            self.steps.push(match key {
                CapturedKey::Index(index) => Step::Index(*index),
                CapturedKey::Name(name) => Step::Key(name.clone()),
            });
        }
    }
}

/// Returns the captured keys of one step as Go prints them.
pub(in super::super) fn capture_text(trail: &WalkTrail, number: usize) -> Option<String> {
    let (start, is_many) = *trail.parts.get(number)?;
    let end = trail.parts.get(number + 1).map_or(trail.keys.len(), |(next, _)| *next);
    let keys: Vec<_> = trail.keys.get(start..end)?.iter().map(CapturedKey::to_string).collect();
    Some(if is_many { format!("[{}]", keys.join(" ")) } else { keys.join(" ") })
}

/// Returns every captured key as one path.
pub(in super::super) fn all_captures_text(trail: &WalkTrail) -> String {
    let quoted = trail.keys.iter().map(|key| format!("[{}]", quote_go(&key.to_string())));
    std::iter::once("$".to_owned()).chain(quoted).collect()
}

impl fmt::Display for CapturedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}
