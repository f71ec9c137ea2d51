//! Patches with paths that select: `/spec/containers[?(@.name=='app')]/env/-`.
//!
//! A path is a JSON pointer whose segments may also choose items of a list. It is parsed
//! once, [`PatchPath::expand`]ed against a document into the places it means there, and applied
//! at all of them or at none: everything that can fail is looked at before the first edit.
//!
//! What leads through a list is strict: a filter that chooses nothing, `[*]` over an empty
//! list and an index beyond the end are failures. What leads through objects is lenient: `add`
//! makes the parents that are missing, `remove` of a key that is not there does nothing.
//!
//! Items of one list are removed and inserted in one pass over it, so that no index goes stale.

mod edit;
mod failure;
mod filter;
mod form;
mod parse;
mod scan;
mod single;
mod walk;
mod writers;

use std::fmt;

use kubewright_value::{Budget, Exhausted, Position, Step, Text, Value};
use thiserror::Error;

pub use form::PatchPathTemplate;
pub use scan::PathPiece;
pub use writers::{OverwrittenPlace, PathWriters};

/// The most places that one path may mean in one document.
pub const MAX_PLACES: usize = 65_536;

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPath {
    text: Box<str>,
    // INVARIANT: never empty; only the last one is `Append`.
    segments: Vec<SegmentSpan>,
}

/// One segment of a [`PatchPath`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// `name` or `['name']`: the key of an object.
    Key(Text),
    /// `8080`: an item of a list, or the key of an object; the index is absent below zero and while it is not known.
    Number(Text, Option<usize>),
    /// `[0]`: an item of a list.
    Index(usize),
    /// `-`: the place after the last item of a list.
    Append,
    /// `[*]`: every item of a list.
    Every,
    /// `[?(@.a.b=='v')]`: the items of a list whose field has this text.
    Filter {
        /// The keys that lead from the item to the field.
        field: Vec<Text>,
        /// The text the field is compared with.
        value: Text,
    },
}

/// A segment and its range in the text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SegmentSpan {
    segment: PathSegment,
    start: usize,
    end: usize,
}

/// An operation at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathOp {
    /// Sets a key, inserts before an item, or appends.
    Add,
    /// Sets what is there.
    Replace,
    /// Removes what is there.
    Remove,
    /// Puts the keys of an object into the object that is there; sets any other value.
    Merge,
}

/// The effect of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathChange {
    /// The places of the new values, or the former places of the removed ones; in document order.
    pub places: Vec<Vec<Step>>,
    /// The value at each of the places before, if there was one that is now gone.
    pub was: Vec<Option<Value>>,
    /// Whether a list has grown, so that doing the same again would make it grow again.
    pub is_insertion: bool,
}

/// The reason why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct PathError {
    /// The value found and the one expected.
    pub message: String,
    /// A correct way to write it.
    pub help: Option<String>,
    /// The position in the path.
    pub position: Position,
    /// The number of characters it is about; at least 1.
    pub length: u32,
}

/// An error of an operation on a document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct PathPatchError {
    /// The sort of failure.
    pub kind: PathPatchErrorKind,
    /// The value found and the one expected.
    pub message: String,
    /// A suggestion.
    pub help: Option<String>,
    /// The index of the segment that failed, from 0.
    pub segment: usize,
    /// The position of that segment in the path.
    pub position: Position,
    /// The number of its characters; at least 1.
    pub length: u32,
}

/// The sorts of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathPatchErrorKind {
    /// No item is chosen: a filter matches none, or `[*]` is applied to an empty list.
    NoMatch,
    /// A filter, `[*]`, `-` or an index where a list is missing.
    NotAList,
    /// A key where an object is missing.
    NotAnObject,
    /// A key that must be there is not.
    Missing,
    /// An index beyond the end of a list, or below zero.
    OutOfRange,
    /// The operation cannot be done with this path or value at all.
    Unfit,
    /// The budget is used up.
    Limit,
}

impl PatchPath {
    /// Returns the path that `text` is.
    ///
    /// # Errors
    /// When `text` is not understood, or is the whole document, which no operation can change.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::from_pieces(&[PathPiece::Literal(text)])
    }

    /// Returns the path made of `pieces` one after another.
    ///
    /// Text that was put in is data: whatever it contains, it stays inside of the key, the index or the
    /// quotes around it. Whatever is put in, the path has the same segments, so that a path made of
    /// the expressions themselves can be checked when a rule is loaded, and shows where a segment was written
    /// that fails later. A path that is put in as a whole is for [`PatchPath::parse`].
    ///
    /// # Errors
    /// As [`PatchPath::parse`], and when a segment is nothing but empty text that was put in.
    pub fn from_pieces(pieces: &[PathPiece<'_>]) -> Result<Self, PathError> {
        parse::parse_patch_path(pieces)
    }

    /// Returns the segments in order.
    #[must_use]
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &PathSegment> {
        self.segments.iter().map(|written| &written.segment)
    }

    /// Returns the path as it is written, with what was put in.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the position and the number of characters of segment `number` in the text.
    #[must_use]
    pub fn position(&self, number: usize) -> (Position, u32) {
        let (start, end) = self.segments.get(number).map_or((0, 0), |written| (written.start, written.end));
        (Position::of(&self.text, start), parse::char_count(&self.text, start, end))
    }

    /// Returns whether the path may mean several places.
    #[must_use]
    pub fn selects(&self) -> bool {
        self.segments().any(|segment| matches!(segment, PathSegment::Every | PathSegment::Filter { .. }))
    }

    /// Finds out whether `op` can be done with this path in any document at all.
    ///
    /// # Errors
    /// When the path ends with `-` and something must be there already.
    pub fn check(&self, op: PathOp) -> Result<(), PathPatchError> {
        let last = self.segments.len().saturating_sub(1);
        match self.segments.last() {
            Some(SegmentSpan { segment: PathSegment::Append, .. }) if op != PathOp::Add => {
                Err(failure::append_not_possible(self, last, op))
            }
            _ => Ok(()),
        }
    }

    /// Returns the places that the path means in `document`, in document order; none if no item is chosen,
    /// or if there is nothing to remove.
    ///
    /// # Errors
    /// When `op` could not be done there.
    pub fn expand(
        &self,
        document: &Value,
        op: PathOp,
        budget: &mut Budget,
    ) -> Result<Vec<Vec<Step>>, PathPatchError> {
        self.check(op)?;
        Ok(walk::expand_path(self, document, op, budget)?.places)
    }

    /// Does `op` with `value`, which `Remove` ignores, at every place that the path means.
    ///
    /// # Errors
    /// When it cannot be done at one of them, or when there is none (which `Merge` takes for nothing to do);
    /// `document` is then as it was.
    pub fn apply(
        &self,
        op: PathOp,
        value: &Value,
        document: &mut Value,
        budget: &mut Budget,
    ) -> Result<PathChange, PathPatchError> {
        self.check(op)?;
        if op == PathOp::Merge && value.as_object().is_none() {
            return Err(failure::not_mergeable(self, value.kind()));
        }
        if let Some(applied) = single::apply_at_single(self, op, value, document, budget)? {
            return Ok(applied);
        }
        let walk::Expansion { places, missed, is_insertion } = walk::expand_path(self, document, op, budget)?;
        if let Some(missed) = missed
            && op != PathOp::Merge
        {
            return Err(missed.into_error(self, document));
        }
        edit::charge_places(self, op, value, places.len(), budget)?;
        Ok(edit::apply_at_places(op, value, places, is_insertion, document))
    }
}

/// Charges for `value` as if it were written, however much of it is shared.
///
/// # Errors
/// When the budget is used up.
pub fn charge_copy(value: &Value, budget: &mut Budget) -> Result<(), Exhausted> {
    crate::charge::charge_at_depth(0, value, budget)
}

impl fmt::Display for PatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PathOp {
    /// Returns the operation called `name`, in upper or lower case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Add, Self::Replace, Self::Remove, Self::Merge]
            .into_iter()
            .find(|op| op.name().eq_ignore_ascii_case(name))
    }

    /// Returns the name that rules know it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Remove => "remove",
            Self::Merge => "mergeShallow",
        }
    }

    /// Returns what it does to what is there.
    fn verb(self) -> &'static str {
        if self == Self::Merge { "merge with" } else { self.name() }
    }
}

#[cfg(test)]
mod tests;
