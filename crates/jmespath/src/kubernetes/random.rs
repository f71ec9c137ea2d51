//! Random texts that match a regular expression.

use kubewright_golib::random::{RandomTextError, matching_text};
use kubewright_value::Value;

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, JmesPathFunctions, define_builtin,
};

pub(super) const TABLE: &[JmesPathBuiltin] = &[define_builtin(
    "random",
    &[ArgumentTypes::STRING],
    "string",
    "a random text that matches the regular expression",
    |_, _| Err(JmesPathFailure::wrong_value("`random` needs a seed, which is not set")),
)
.volatile()];

/// The steps of compiling a pattern, besides 64 for each of its bytes.
const GENERATOR_COMPILE_STEPS: u64 = 2_000;

/// Returns `functions` with the seed of `random`.
pub(super) fn add_seed(functions: JmesPathFunctions, seed: u64) -> JmesPathFunctions {
    functions.replace_body("random", move |arguments, budget| {
        let pattern = arguments.first().map_or("", JmesPathArgument::text);
        budget.step(GENERATOR_COMPILE_STEPS.saturating_add(pattern.len() as u64 * 64))?;
        let bad = |message: String| JmesPathFailure::wrong_value(message).about(0);
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
