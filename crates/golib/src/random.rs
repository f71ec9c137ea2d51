//! Texts made up by chance, such that a regular expression matches them.
//!
//! The result is not random: the caller gives a seed. Calls of one evaluation differ by the work that was
//! done before them, so the same evaluation makes up the same texts again.

use kubewright_value::{Budget, Exhausted};
use thiserror::Error;

use self::grammar::{CharacterChoice, GrammarNode};
use crate::regex;

mod grammar;

/// The maximum number of repetitions of `*` and `+` beyond the required ones.
const MAX_OPEN_REPEATS: u32 = 10;

/// The maximum size of a compiled pattern.
const MAX_REGEX_BYTES: usize = 256 << 10;

/// The reason why no text was made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RandomTextError {
    /// The pattern cannot be used.
    #[error("{0}")]
    Pattern(String),
    /// The budget is used up.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

/// Returns a text that `pattern` matches; the same one for the same seed and the same steps used before.
///
/// # Errors
/// When the pattern is not a regular expression that texts can be made from, or the budget is used up.
pub fn matching_text(pattern: &str, seed: u64, budget: &mut Budget) -> Result<String, RandomTextError> {
    regex::compile_regex_within(pattern, MAX_REGEX_BYTES)
        .map_err(|error| RandomTextError::Pattern(format!("bad regular expression `{pattern}`: {error}")))?;
    let root = grammar::parse_grammar(pattern).map_err(RandomTextError::Pattern)?;
    let mut maker =
        TextGenerator { state: seed ^ budget.steps_used().rotate_left(32), budget, out: String::new() };
    maker.make(&root)?;
    Ok(maker.out)
}

struct TextGenerator<'b> {
    state: u64,
    budget: &'b mut Budget,
    out: String,
}

impl TextGenerator<'_> {
    /// Nodes nest no deeper than the grammar allows.
    fn make(&mut self, node: &GrammarNode) -> Result<(), Exhausted> {
        self.budget.step(1)?;
        match node {
            GrammarNode::Sequence(parts) => parts.iter().try_for_each(|part| self.make(part)),
            GrammarNode::Either(branches) => match branches.get(self.below(branches.len())) {
                Some(branch) => self.make(branch),
                None => Ok(()),
            },
            GrammarNode::Repeat { inner, least, most } => {
                let most = most.unwrap_or(least.saturating_add(MAX_OPEN_REPEATS)).max(*least);
                let more = self.below((most - least) as usize + 1);
                for _ in 0..(*least as usize).saturating_add(more) {
                    self.make(inner)?;
                }
                Ok(())
            }
            GrammarNode::One(choice) => self.pick(choice),
        }
    }

    fn pick(&mut self, choice: &CharacterChoice) -> Result<(), Exhausted> {
        let place = self.below(choice.len());
        if let Some(c) = choice.get(place) {
            self.budget.produce(c.len_utf8())?;
            self.out.push(c);
        }
        Ok(())
    }

    /// Returns a number below `bound`, or 0.
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = (u128::from(mixed ^ (mixed >> 31)) * bound as u128) >> 64;
        usize::try_from(number).unwrap_or(0)
    }
}
