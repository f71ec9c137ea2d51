//! The differences that are known, each with the reason why it stays.

use super::{ComparedAnswer, ComparedQuestion};

/// A difference that stays.
pub struct KnownDifference {
    /// The language.
    pub language: &'static str,
    /// What it is about.
    pub name: &'static str,
    /// Why our answer stays.
    pub reason: &'static str,
    /// Returns whether this is why our answer (the second) differs from that of the original program (the third).
    applies: fn(&ComparedQuestion, &ComparedAnswer, &ComparedAnswer) -> bool,
}

/// All known differences.
pub const KNOWN_DIFFERENCES: &[KnownDifference] = &[];

pub(super) fn find_known(
    language: &str,
    question: &ComparedQuestion,
    ours: &ComparedAnswer,
    theirs: &ComparedAnswer,
) -> Option<&'static KnownDifference> {
    KNOWN_DIFFERENCES
        .iter()
        .find(|known| known.language == language && (known.applies)(question, ours, theirs))
}
