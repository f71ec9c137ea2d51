//! Patches with paths that select: `/spec/containers[?(@.name=='app')]/env/-`.
//!
//! A path is a JSON pointer whose segments may also choose items of a list. It is parsed
//! once, [`Path::expand`]ed against a document into the places it means there, and applied
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

pub use form::Form;
pub use scan::Piece;
pub use writers::{Overwritten, Writers};

/// The most places that one path may mean in one document.
pub const MOST_PLACES: usize = 65_536;

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: Box<str>,
    // INVARIANT: never empty; only the last one is `Append`.
    segments: Vec<Written>,
}

/// One segment of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
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
        /// What the field is compared with.
        value: Text,
    },
}

/// A segment and where it stands in the text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    segment: Segment,
    start: usize,
    end: usize,
}

/// What is done at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Sets a key, inserts before an item, or appends.
    Add,
    /// Sets what is there.
    Replace,
    /// Removes what is there.
    Remove,
    /// Puts the keys of an object into the object that is there; sets what is no object.
    Merge,
}

/// What an operation did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Where the value stands now, or where what was removed stood before; in document order.
    pub places: Vec<Vec<Step>>,
    /// What stood at each of the places before, if something did that no longer stands anywhere.
    pub was: Vec<Option<Value>>,
    /// Whether a list has grown, so that doing the same again would make it grow again.
    pub is_insertion: bool,
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PathError {
    /// What was found and what was expected.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// Where in the path.
    pub position: Position,
    /// How many characters it is about; at least 1.
    pub length: u32,
}

/// Why an operation cannot be done to a document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct PatchError {
    /// What sort of failure.
    pub kind: PatchErrorKind,
    /// What was found and what was expected.
    pub message: String,
    /// What may have been meant.
    pub help: Option<String>,
    /// Which segment failed, counted from 0.
    pub segment: usize,
    /// Where that segment stands in the path.
    pub position: Position,
    /// How many characters it has; at least 1.
    pub length: u32,
}

/// The sorts of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchErrorKind {
    /// No item is chosen: a filter matches none, or `[*]` stands for an empty list.
    NoMatch,
    /// A filter, `[*]`, `-` or an index where there is no list.
    NotAList,
    /// A key where there is no object.
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

impl Path {
    /// Returns the path that `text` is.
    ///
    /// # Errors
    /// When `text` is not understood, or is the whole document, which no operation can change.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::from_pieces(&[Piece::Literal(text)])
    }

    /// Returns the path made of `pieces` one after another.
    ///
    /// Text that was put in is data: whatever it contains, it stays inside of the key, the index or the
    /// quotes in which it stands. Whatever is put in, the path has the same segments, so that a path made of
    /// the expressions themselves can be checked when a rule is loaded, and tells where a segment was written
    /// that fails later. A path that is put in as a whole is for [`Path::parse`].
    ///
    /// # Errors
    /// As [`Path::parse`], and when a segment is nothing but empty text that was put in.
    pub fn from_pieces(pieces: &[Piece<'_>]) -> Result<Self, PathError> {
        parse::path(pieces)
    }

    /// Returns the segments in order.
    #[must_use]
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &Segment> {
        self.segments.iter().map(|written| &written.segment)
    }

    /// Returns the path as it is written, with what was put in.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns where segment `number` stands in the text, and how many characters it has.
    #[must_use]
    pub fn position(&self, number: usize) -> (Position, u32) {
        let (start, end) = self.segments.get(number).map_or((0, 0), |written| (written.start, written.end));
        (Position::of(&self.text, start), parse::length(&self.text, start, end))
    }

    /// Returns whether the path may mean several places.
    #[must_use]
    pub fn selects(&self) -> bool {
        self.segments().any(|segment| matches!(segment, Segment::Every | Segment::Filter { .. }))
    }

    /// Finds out whether `op` can be done with this path in any document at all.
    ///
    /// # Errors
    /// When the path ends with `-` and something must be there already.
    pub fn check(&self, op: Op) -> Result<(), PatchError> {
        let last = self.segments.len().saturating_sub(1);
        match self.segments.last() {
            Some(Written { segment: Segment::Append, .. }) if op != Op::Add => {
                Err(failure::append(self, last, op))
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
        op: Op,
        budget: &mut Budget,
    ) -> Result<Vec<Vec<Step>>, PatchError> {
        self.check(op)?;
        Ok(walk::expand(self, document, op, budget)?.places)
    }

    /// Does `op` with `value`, which `Remove` ignores, at every place that the path means.
    ///
    /// # Errors
    /// When it cannot be done at one of them, or when there is none (which `Merge` takes for nothing to do);
    /// `document` is then as it was.
    pub fn apply(
        &self,
        op: Op,
        value: &Value,
        document: &mut Value,
        budget: &mut Budget,
    ) -> Result<Applied, PatchError> {
        self.check(op)?;
        if op == Op::Merge && value.as_object().is_none() {
            return Err(failure::not_mergeable(self, value.kind()));
        }
        if let Some(applied) = single::apply(self, op, value, document, budget)? {
            return Ok(applied);
        }
        let walk::Expansion { places, missed, is_insertion } = walk::expand(self, document, op, budget)?;
        if let Some(missed) = missed
            && op != Op::Merge
        {
            return Err(missed.into_error(self, document));
        }
        edit::charge(self, op, value, places.len(), budget)?;
        Ok(edit::apply(op, value, places, is_insertion, document))
    }
}

/// Charges for `value` as if it were written, however much of it is shared.
///
/// # Errors
/// When the budget is used up.
pub fn charge(value: &Value, budget: &mut Budget) -> Result<(), Exhausted> {
    crate::charge::charge(0, value, budget)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Op {
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
