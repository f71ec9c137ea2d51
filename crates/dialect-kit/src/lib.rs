//! Parts that the rule languages share: reading fields with diagnostics, compile limits, selectors, and traces.

pub mod bounded;
pub mod description;
pub mod fields;
pub mod notes;
pub mod secrets;
pub mod selector;
pub mod shared;
pub mod trace;

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
