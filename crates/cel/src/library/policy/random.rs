//! Texts made up by chance, from the seed of the caller.

use kubewright_golib::random::{RandomTextError, matching_text};
use kubewright_value::{Budget, Limits};

use super::{CelLibrary, MacroSet, text_argument};
use crate::error::{CelErrorKind, CelFailure};
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of chance.
pub const RANDOM: CelLibrary =
    CelLibrary { name: "random", functions: add_random_functions, macros: MacroSet::NONE, types: &[] };

/// What `random()` makes.
const DEFAULT_RANDOM_PATTERN: &str = "[0-9a-z]{8}";

/// What one call may do.
const GENERATOR_LIMITS: Limits = Limits { steps: 100_000, bytes: 1 << 20, depth: 64 };

fn add_random_functions(functions: &mut CelFunctions) {
    for name in ["random", "random.random"] {
        functions.add(
            CelOverload::function(name, &[], CelKind::String, |_, call| {
                generate_random_text(DEFAULT_RANDOM_PATTERN, call)
            })
            .help("eight digits and letters made up by chance"),
        );
        functions.add(
            CelOverload::function(name, &[CelKind::String], CelKind::String, |arguments, call| {
                generate_random_text(text_argument(arguments, 0)?, call)
            })
            .help("a text made up by chance that a regular expression matches"),
        );
    }
}

/// Calls of one evaluation differ by what was done before them.
fn generate_random_text<'a>(pattern: &str, call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let Some(seed) = call.inputs().random_seed else {
        return Err(CelFailure::value("`random` is not known here: the caller has to give a seed"));
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
