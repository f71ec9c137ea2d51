//! The JSON value that every rule language shares, the readers that make it
//! from text, and the Kubernetes scalar types that are written as text.
//!
//! Nothing here knows what a rule is. Everything here is pure: text in, value out.

pub mod bounded;
mod budget;
mod compact_sort;
pub mod display;
pub mod duration;
mod eight_bytes;
mod fields;
pub mod json;
mod map;
mod meter;
mod number;
pub mod quantity;
#[cfg(test)]
mod random;
pub mod semver;
mod source;
pub mod suggest;
pub mod text;
mod value;
pub mod workers;
pub mod yaml;

pub use budget::{Budget, Deadline, Exhausted, Limits};
pub use compact_sort::CompactSort;
pub use fields::FieldSet;
pub use map::{Map, PositionHint};
pub use meter::{StepCounter, StepMeter};
pub use number::Number;
pub use smol_str::SmolStr as Text;
pub use source::{
    Document, LineOrigin, Location, ParseProblem, ParseProblemKind, ParsedStream, Position, PositionIndex,
    Positions, Source, SourceOrigins, Step, ValueOrigin,
};
pub use value::{Value, ValueKind};

/// Returns the digits of `index` as text, without a detour through the heap.
#[must_use]
pub fn index_text(index: usize) -> Text {
    use smol_str::ToSmolStr as _;
    const DIGITS: &str = "0123456789";
    // Most lists are short, and formatting is slow.
    match DIGITS.get(index..index.saturating_add(1)) {
        Some(digit) => Text::new_inline(digit),
        None => index.to_smolstr(),
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
