//! Texts made up by chance, from the seed of the caller.

use kubewright_golib::random::{RandomTextError, matching_text};
use kubewright_value::{Budget, Limits};

use super::{Library, Macros, text};
use crate::error::{EvalErrorKind, Failure};
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Val};

/// The library of chance.
pub const RANDOM: Library = Library { name: "random", functions: add, macros: Macros::NONE, types: &[] };

/// What `random()` makes.
const PATTERN: &str = "[0-9a-z]{8}";

/// What one call may do.
const LIMITS: Limits = Limits { steps: 100_000, bytes: 1 << 20, depth: 64 };

fn add(functions: &mut Functions) {
    for name in ["random", "random.random"] {
        functions.add(
            Overload::function(name, &[], Kind::String, |_, call| draw(PATTERN, call))
                .help("eight digits and letters made up by chance"),
        );
        functions.add(
            Overload::function(name, &[Kind::String], Kind::String, |arguments, call| {
                draw(text(arguments, 0)?, call)
            })
            .help("a text made up by chance that a regular expression matches"),
        );
    }
}

/// Calls of one evaluation differ by what was done before them.
fn draw<'a>(pattern: &str, call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let Some(seed) = call.inputs().random_seed else {
        return Err(Failure::value("`random` is not known here: the caller has to give a seed"));
    };
    call.work(5_000 + pattern.len().saturating_mul(64))?;
    let seed = seed ^ call.cost.used().rotate_left(32) ^ call.cost.work_left();
    let mut budget = Budget::new(LIMITS);
    let made = matching_text(pattern, seed, &mut budget);
    call.work(usize::try_from(budget.steps_used()).unwrap_or(usize::MAX))?;
    made.map(Val::text).map_err(|error| {
        let is_limit = matches!(error, RandomTextError::Exhausted(_));
        let kind = if is_limit { EvalErrorKind::Limit } else { EvalErrorKind::Value };
        Failure::new(kind, error.to_string())
    })
}
