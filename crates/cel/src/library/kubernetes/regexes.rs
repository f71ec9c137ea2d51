//! Finding with regular expressions.

use super::{Library, text};
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::standard::matching_cost;
use crate::val::{Kind, Val};

/// The library of `find` and `findAll`.
pub const REGEX: Library =
    Library { name: "kubernetes regex", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    functions.add(
        Overload::method("find", &[Kind::String, Kind::String], Kind::String, find)
            .pattern(1)
            .cost(matching_cost)
            .help("what a regular expression (RE2) matches first, or nothing"),
    );
    for parameters in [&[Kind::String, Kind::String][..], &[Kind::String, Kind::String, Kind::Int]] {
        functions.add(
            Overload::method("findAll", parameters, Kind::List, find_all)
                .pattern(1)
                .cost(matching_cost)
                .help("everything that a regular expression (RE2) matches, or so many matches"),
        );
    }
}

fn find<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let regex = call.regex(text(arguments, 1)?)?;
    Ok(Val::text(regex.find(text(arguments, 0)?, call.cost)?.unwrap_or_default()))
}

fn find_all<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    // A count below zero stands for all.
    let most = arguments
        .get(2)
        .and_then(Val::as_int)
        .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let regex = call.regex(text(arguments, 1)?)?;
    let mut matches = regex.matches(text(arguments, 0)?).without_groups();
    let mut found = Vec::new();
    while found.len() < most {
        let Some(part) = matches.next(call.cost)? else { break };
        call.make(1 + part.whole().len() / 64)?;
        found.push(Val::text(part.whole()));
    }
    Ok(Val::list(found))
}
