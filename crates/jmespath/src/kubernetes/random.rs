//! Texts made up by chance, such that a regular expression matches them.

use kubewright_golib::random::{RandomTextError, matching_text};
use kubewright_value::Value;

use super::super::function::{Accepts, Argument, Builtin, Failure, Functions, builtin};

pub(super) const TABLE: &[Builtin] = &[builtin(
    "random",
    &[Accepts::STRING],
    "string",
    "a text made up by chance that the regular expression matches",
    |_, _| Err(Failure::wrong_value("`random` is not known here: the caller has to give a seed")),
)
.volatile()];

/// What compiling a pattern costs, besides 64 steps for each of its bytes.
const COMPILE_STEPS: u64 = 2_000;

/// Returns `functions` where `random` draws from `seed`.
pub(super) fn with_seed(functions: Functions, seed: u64) -> Functions {
    functions.instead("random", move |arguments, budget| {
        let pattern = arguments.first().map_or("", Argument::text);
        budget.step(COMPILE_STEPS.saturating_add(pattern.len() as u64 * 64))?;
        let bad = |message: String| Failure::wrong_value(message).about(0);
        if pattern.is_empty() {
            return Err(bad("no pattern provided".to_owned()));
        }
        match matching_text(pattern, seed, budget) {
            Ok(text) => Ok(Value::from(text)),
            Err(RandomTextError::Pattern(message)) => Err(bad(message)),
            Err(RandomTextError::Exhausted(exhausted)) => Err(exhausted.into()),
        }
    })
}
