//! Looking into texts.

use crate::cost::traversal;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Val};

const TWO: &[Kind] = &[Kind::String, Kind::String];

pub(super) fn add(functions: &mut Functions) {
    functions.add(
        Overload::method("contains", TWO, Kind::Bool, |arguments, call| {
            // What is searched for is looked at more closely than what is searched.
            call.work(arguments.get(1).map_or(0, Val::long_text).saturating_mul(8))?;
            two(arguments, |text, part| text.contains(part))
        })
        .cost(|arguments, _| traversal(size(arguments, 0)).saturating_mul(traversal(size(arguments, 1))))
        .help("whether a text has another in it"),
    );
    functions.add(
        Overload::method("startsWith", TWO, Kind::Bool, |arguments, _| {
            two(arguments, |text, part| text.starts_with(part))
        })
        .cost(|arguments, _| traversal(size(arguments, 1)))
        .help("whether a text starts with another"),
    );
    functions.add(
        Overload::method("endsWith", TWO, Kind::Bool, |arguments, _| {
            two(arguments, |text, part| text.ends_with(part))
        })
        .cost(|arguments, _| traversal(size(arguments, 1)))
        .help("whether a text ends with another"),
    );
    for overload in [
        Overload::method("matches", TWO, Kind::Bool, matches),
        Overload::function("matches", TWO, Kind::Bool, matches),
    ] {
        functions.add(
            overload
                .pattern(1)
                .cost(matching_cost)
                .help("whether a regular expression (RE2) matches somewhere in a text"),
        );
    }
}

/// Returns what searching a text for a pattern costs.
pub(crate) fn matching_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    traversal(size(arguments, 0).saturating_add(1)).saturating_mul(size(arguments, 1).div_ceil(4))
}

/// Returns the size of an argument.
pub(crate) fn size(arguments: &[Val<'_>], index: usize) -> u64 {
    arguments.get(index).map_or(0, Val::size)
}

fn two<'a>(arguments: &[Val<'a>], test: fn(&str, &str) -> bool) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::String(a), Val::String(b)] => Ok(Val::Bool(test(a, b))),
        _ => Err(Failure::mismatch()),
    }
}

fn matches<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::String(text), Val::String(pattern)] = arguments else { return Err(Failure::mismatch()) };
    let regex = call.regex(pattern)?;
    Ok(Val::Bool(regex.is_match(text, call.cost)?))
}
