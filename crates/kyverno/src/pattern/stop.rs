//! Why a match ended early.
//!
//! The kind of a stop is a type and never a text, so that no value of an object can change it.

use kubewright_value::{Exhausted, Step};

use super::place::ComparedPath;

/// Why a match ended early.
#[derive(Debug)]
pub(super) enum Halt {
    Exhausted(Exhausted),
    Stop(ComparisonStop),
}

impl From<Exhausted> for Halt {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

/// A part of the object that does not match the pattern, or is skipped.
#[derive(Debug)]
pub(super) struct ComparisonStop {
    pub(super) kind: StopKind,
    /// The explanation; `None` while only the result is needed.
    pub(super) told: Option<Box<MismatchReport>>,
}

/// The kind of the stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopKind {
    /// A value is not as it should be.
    Mismatch,
    /// A key is there that must not be.
    Negation,
    /// A condition of the object around it does not hold.
    Skip,
    /// Something below was skipped.
    SkipBelow,
}

impl StopKind {
    pub(super) fn is_skip(self) -> bool {
        matches!(self, Self::Skip | Self::SkipBelow)
    }
}

/// The explanation of a stop.
#[derive(Debug, Default)]
pub(super) struct MismatchReport {
    pub(super) message: String,
    pub(super) detail: ReportDetail,
    /// `None` where Kyverno has none, which makes a failure an error.
    pub(super) text_path: Option<String>,
    pub(super) path: Vec<Step>,
    pub(super) at: Vec<Step>,
    pub(super) wanted: String,
    pub(super) found: String,
}

impl MismatchReport {
    /// Returns the paths; the explanation is added later.
    pub(super) fn at(place: &ComparedPath<'_>) -> Self {
        Self {
            text_path: Some(place.text()),
            path: place.in_object(),
            at: place.in_pattern(),
            ..Self::default()
        }
    }

    /// Returns the path that a message names; the explanation is added later.
    pub(super) fn named_at(place: &ComparedPath<'_>) -> Self {
        Self { text_path: Some(place.text()), detail: ReportDetail::NamedPath, ..Self::default() }
    }

    /// Returns nothing but room for a message.
    pub(super) fn brief() -> Self {
        Self { detail: ReportDetail::Message, ..Self::default() }
    }
}

/// How much of an explanation is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ReportDetail {
    /// The message alone.
    Message,
    /// The message, and the path that it names.
    NamedPath,
    /// Everything.
    #[default]
    Whole,
}

/// The skips of one object or list, on their way to become one.
#[derive(Debug, Default)]
pub(super) struct Skips {
    pub(super) has_any: bool,
    /// Whether one is the object's own.
    pub(super) has_own: bool,
    told: Option<Box<MismatchReport>>,
}

impl Skips {
    pub(super) fn add(&mut self, stop: ComparisonStop) {
        self.has_any = true;
        self.has_own |= stop.kind == StopKind::Skip;
        match (&mut self.told, stop.told) {
            (Some(told), Some(more)) => {
                told.message.push_str("; ");
                told.message.push_str(&more.message);
            }
            (told, Some(first)) => *told = Some(first),
            (_, None) => {}
        }
    }

    pub(super) fn into_stop(self) -> ComparisonStop {
        ComparisonStop { kind: StopKind::SkipBelow, told: self.told }
    }
}
