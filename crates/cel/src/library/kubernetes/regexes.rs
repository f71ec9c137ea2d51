//! Finding with regular expressions.

use super::{CelLibrary, text_argument};
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::standard::regex_match_cost;
use crate::val::{CelKind, Val};

/// The library of `find` and `findAll`.
pub const REGEX: CelLibrary = CelLibrary {
    name: "kubernetes regex",
    functions: add_regex_find_functions,
    macros: MacroSet::NONE,
    types: &[],
};

fn add_regex_find_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::method("find", &[CelKind::String, CelKind::String], CelKind::String, regex_find)
            .pattern(1)
            .cost(regex_match_cost)
            .help("what a regular expression (RE2) matches first, or nothing"),
    );
    for parameters in
        [&[CelKind::String, CelKind::String][..], &[CelKind::String, CelKind::String, CelKind::Int]]
    {
        functions.add(
            CelOverload::method("findAll", parameters, CelKind::List, regex_find_all)
                .pattern(1)
                .cost(regex_match_cost)
                .help("everything that a regular expression (RE2) matches, or so many matches"),
        );
    }
}

fn regex_find<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let regex = call.regex(text_argument(arguments, 1)?)?;
    Ok(Val::text(regex.find(text_argument(arguments, 0)?, call.cost)?.unwrap_or_default()))
}

fn regex_find_all<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    // A negative count means all matches.
    let most = arguments
        .get(2)
        .and_then(Val::as_int)
        .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let regex = call.regex(text_argument(arguments, 1)?)?;
    let mut matches = regex.matches(text_argument(arguments, 0)?).without_groups();
    let mut found = Vec::new();
    while found.len() < most {
        let Some(part) = matches.next(call.cost)? else { break };
        call.make(1 + part.whole().len() / 64)?;
        found.push(Val::text(part.whole()));
    }
    Ok(Val::list(found))
}
