//! The standard string functions.

use crate::cost::traversal_cost;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

const TWO_STRINGS: &[CelKind] = &[CelKind::String, CelKind::String];

pub(super) fn add_standard_string_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::method("contains", TWO_STRINGS, CelKind::Bool, |arguments, call| {
            // Searching prepares the second string first, which takes more work per byte than scanning the first.
            call.work(arguments.get(1).map_or(0, Val::long_text).saturating_mul(8))?;
            test_two_texts(arguments, |text, part| text.contains(part))
        })
        .cost(|arguments, _| {
            traversal_cost(argument_size(arguments, 0))
                .saturating_mul(traversal_cost(argument_size(arguments, 1)))
        })
        .help("whether a text contains another"),
    );
    functions.add(
        CelOverload::method("startsWith", TWO_STRINGS, CelKind::Bool, |arguments, _| {
            test_two_texts(arguments, |text, part| text.starts_with(part))
        })
        .cost(|arguments, _| traversal_cost(argument_size(arguments, 1)))
        .help("whether a text starts with another"),
    );
    functions.add(
        CelOverload::method("endsWith", TWO_STRINGS, CelKind::Bool, |arguments, _| {
            test_two_texts(arguments, |text, part| text.ends_with(part))
        })
        .cost(|arguments, _| traversal_cost(argument_size(arguments, 1)))
        .help("whether a text ends with another"),
    );
    for overload in [
        CelOverload::method("matches", TWO_STRINGS, CelKind::Bool, string_matches),
        CelOverload::function("matches", TWO_STRINGS, CelKind::Bool, string_matches),
    ] {
        functions.add(
            overload
                .pattern(1)
                .cost(regex_match_cost)
                .help("whether a regular expression (RE2) matches somewhere in a text"),
        );
    }
}

/// Returns the cost of matching a regular expression in a string.
pub(crate) fn regex_match_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    traversal_cost(argument_size(arguments, 0).saturating_add(1))
        .saturating_mul(argument_size(arguments, 1).div_ceil(4))
}

/// Returns the size of an argument.
pub(crate) fn argument_size(arguments: &[Val<'_>], index: usize) -> u64 {
    arguments.get(index).map_or(0, Val::size)
}

fn test_two_texts<'a>(arguments: &[Val<'a>], test: fn(&str, &str) -> bool) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::String(a), Val::String(b)] => Ok(Val::Bool(test(a, b))),
        _ => Err(CelFailure::mismatch()),
    }
}

fn string_matches<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let [Val::String(text), Val::String(pattern)] = arguments else { return Err(CelFailure::mismatch()) };
    let regex = call.regex(pattern)?;
    Ok(Val::Bool(regex.is_match(text, call.cost)?))
}
