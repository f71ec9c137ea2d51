//! Changes that may make an object pass a rule, and the smallest edit of its text that makes them.
//!
//! Nothing here decides whether a rule passes. [`candidate_changes`] proposes, the caller judges the
//! changed object with the rule itself, [`smallest_changes`] leaves out what is not needed, and [`edit_text`] refuses an edit
//! that would not read back as the changed object.

mod candidates;
mod change;
mod difference;
mod edit;
mod known;
mod leaf;
mod pattern;
mod search;

pub use candidates::{FailedCheck, candidate_changes};
pub use change::FieldChange;
pub use difference::value_changes;
pub use edit::{ObjectPlace, edit_text};
pub use known::known_changes;
pub use pattern::{PatternScope, pattern_changes};
pub use search::smallest_changes;

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
