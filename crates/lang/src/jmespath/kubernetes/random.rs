//! Texts made up by chance, such that a regular expression matches them.
//!
//! There is no chance here: the caller gives a seed. Calls of one evaluation differ by the work that was
//! done before them, so the same evaluation makes up the same texts again.

use kubewright_value::{Budget, Value};

use self::grammar::{Choice, Node};
use super::super::function::{Accepts, Argument, Builtin, Failure, Functions, builtin};
use crate::goregex;

mod grammar;

pub(super) const TABLE: &[Builtin] = &[builtin(
    "random",
    &[Accepts::STRING],
    "string",
    "a text made up by chance that the regular expression matches",
    |_, _| Err(Failure::wrong_value("`random` is not known here: the caller has to give a seed")),
)
.volatile()];

/// How often `*` and `+` repeat at most, besides what they need.
const MOST_REPEATS: u32 = 10;

/// What a pattern may take when it is compiled, and what that costs.
const REGEX_SIZE: usize = 256 << 10;
const REGEX_STEPS: u64 = 2_000;

/// Returns `functions` where `random` draws from `seed`.
pub(super) fn with_seed(functions: Functions, seed: u64) -> Functions {
    functions.instead("random", move |arguments, budget| {
        let pattern = arguments.first().map_or("", Argument::text);
        budget.step(REGEX_STEPS.saturating_add(pattern.len() as u64 * 64))?;
        let bad = |message: String| Failure::wrong_value(message).about(0);
        if pattern.is_empty() {
            return Err(bad("no pattern provided".to_owned()));
        }
        made_up(pattern, seed, budget).map(Value::from)
    })
}

/// Returns a text that `pattern` matches; the same one for the same seed and the same steps used before.
pub(crate) fn made_up(pattern: &str, seed: u64, budget: &mut Budget) -> Result<String, Failure> {
    let bad = |message: String| Failure::wrong_value(message).about(0);
    goregex::compile_within(pattern, REGEX_SIZE)
        .map_err(|error| bad(format!("bad regular expression `{pattern}`: {error}")))?;
    let root = grammar::parse(pattern).map_err(bad)?;
    let mut maker = Maker { state: seed ^ budget.steps_used().rotate_left(32), budget, out: String::new() };
    maker.make(&root)?;
    Ok(maker.out)
}

struct Maker<'b> {
    state: u64,
    budget: &'b mut Budget,
    out: String,
}

impl Maker<'_> {
    /// Nodes nest no deeper than the grammar allows.
    fn make(&mut self, node: &Node) -> Result<(), Failure> {
        self.budget.step(1)?;
        match node {
            Node::Sequence(parts) => parts.iter().try_for_each(|part| self.make(part)),
            Node::Either(branches) => match branches.get(self.below(branches.len())) {
                Some(branch) => self.make(branch),
                None => Ok(()),
            },
            Node::Repeat { inner, least, most } => {
                let most = most.unwrap_or(least.saturating_add(MOST_REPEATS)).max(*least);
                let more = self.below((most - least) as usize + 1);
                for _ in 0..(*least as usize).saturating_add(more) {
                    self.make(inner)?;
                }
                Ok(())
            }
            Node::One(choice) => self.pick(choice),
        }
    }

    fn pick(&mut self, choice: &Choice) -> Result<(), Failure> {
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
