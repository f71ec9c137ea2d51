//! Random texts, generated from the caller's seed.

use kubewright_golib::random::{RandomTextError, matching_text};
use kubewright_value::{Budget, Limits};

use super::{CelLibrary, MacroSet, text_argument};
use crate::error::{CelErrorKind, CelFailure};
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of `random`.
pub const RANDOM: CelLibrary =
    CelLibrary { name: "random", functions: add_random_functions, macros: MacroSet::NONE, types: &[] };

/// The regular expression of `random()` without an argument.
const DEFAULT_RANDOM_PATTERN: &str = "[0-9a-z]{8}";

/// The limits of one call.
const GENERATOR_LIMITS: Limits = Limits { steps: 100_000, bytes: 1 << 20, depth: 64 };

fn add_random_functions(functions: &mut CelFunctions) {
    for name in ["random", "random.random"] {
        functions.add(
            CelOverload::function(name, &[], CelKind::String, |_, call| {
                generate_random_text(DEFAULT_RANDOM_PATTERN, call)
            })
            .help("eight random digits and letters"),
        );
        functions.add(
            CelOverload::function(name, &[CelKind::String], CelKind::String, |arguments, call| {
                generate_random_text(text_argument(arguments, 0)?, call)
            })
            .help("a random text that matches a regular expression"),
        );
    }
}

/// Generates a text. The work done so far is part of the seed, so that calls of one evaluation differ.
fn generate_random_text<'a>(pattern: &str, call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let Some(seed) = call.inputs().random_seed else {
        return Err(CelFailure::value("`random` needs a seed, which is not set"));
    };
    call.work(5_000 + pattern.len().saturating_mul(64))?;
    let seed = seed ^ call.cost.used().rotate_left(32) ^ call.cost.work_left();
    let mut budget = Budget::new(GENERATOR_LIMITS);
    let made = matching_text(pattern, seed, &mut budget);
    call.work(usize::try_from(budget.steps_used()).unwrap_or(usize::MAX))?;
    made.map(Val::text).map_err(|error| {
        let is_limit = matches!(error, RandomTextError::Exhausted(_));
        let kind = if is_limit { CelErrorKind::Limit } else { CelErrorKind::Value };
        CelFailure::new(kind, error.to_string())
    })
}
