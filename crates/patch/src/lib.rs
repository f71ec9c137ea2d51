//! JSON Patch (RFC 6902): reading, applying and making patches; and structured merge, in [`structured`].
//!
//! [`apply_patch`] follows the standard to the letter under [`PatchOptions::rfc6902`]; what an
//! implementation in the field does differently is one flag of [`PatchOptions`] each.
//! [`diff_values`] makes the patch that leads from one value to another. [`strategic`] merges patches that look like
//! the object.

mod apply;
mod charge;
mod diff;
mod failure;
mod index;
pub mod older;
mod operation;
pub mod path;
mod pointer;
pub mod strategic;
pub mod structured;
pub mod textdiff;
mod walk;

pub use apply::{KeyPositions, apply_operations, apply_patch};
pub use diff::diff_values;
pub use operation::JsonPatchOperation;
pub use pointer::{Pointer, PointerError};

use thiserror::Error;

/// Options of applying patches. Every flag is a departure from the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent departures from one standard")]
pub struct PatchOptions {
    /// `add` makes the parents that are missing or null: a list where the next segment is
    /// an index, filled up with nulls, otherwise an object.
    pub create_parents: bool,
    /// `remove` of something that is not there does nothing.
    pub ignore_missing_removes: bool,
    /// An index below zero counts from the end of a list; `-1` is its last item.
    pub negative_indices: bool,
    /// At the end of an `add`, indices below zero count the place after the last item too,
    /// so that `-1` appends and `-2` inserts before the last item.
    pub minus_one_appends: bool,
    /// An index may have a sign and leading zeros, as in `+1` and `007`.
    pub loose_indices: bool,
    /// `-` below a parent that `add` has to make is a key, so that the parent becomes an object.
    pub dash_creates_object: bool,
    /// The whole document cannot be set: `add` and `replace` of it fail, and it counts as missing
    /// when it is removed.
    pub fixed_root: bool,
    /// `test` for null holds for a key that an object does not have.
    pub missing_tests_as_null: bool,
}

impl PatchOptions {
    /// Returns the standard's own behaviour: no departure.
    #[must_use]
    pub fn rfc6902() -> Self {
        Self::default()
    }

    /// Returns every departure at once, as the most lenient implementation in the field has them.
    #[must_use]
    pub const fn lenient() -> Self {
        Self {
            create_parents: true,
            ignore_missing_removes: true,
            negative_indices: true,
            minus_one_appends: true,
            loose_indices: true,
            dash_creates_object: true,
            fixed_root: true,
            missing_tests_as_null: true,
        }
    }
}

/// An error of reading or applying a patch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PatchError {
    /// The index of the operation that failed, from 0.
    pub operation: usize,
    /// The path at which it failed, as it is written.
    pub path: String,
    /// The sort of failure.
    pub kind: PatchErrorKind,
    /// The value found and the one expected.
    pub message: String,
}

/// The sorts of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchErrorKind {
    /// There is nothing at the path.
    Missing,
    /// An index beyond the end of a list.
    OutOfRange,
    /// A step into a value that has no parts.
    NotAContainer,
    /// A segment that is not an index, where a list needs one.
    BadIndex,
    /// A `test` that does not hold.
    TestFailed,
    /// A `move` of a value into itself.
    IntoItself,
    /// The whole document, where it may not be set.
    Root,
    /// Not a well-formed operation.
    Syntax,
    /// The budget is used up.
    Limit,
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
