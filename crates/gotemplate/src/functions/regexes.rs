//! Sprig's regular expressions.

use std::sync::Arc;

use kubewright_golib::regex::{Regex, quote_meta, replace_all, replace_all_literal};
use kubewright_value::{Budget, Exhausted, Text};

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Of};
use super::arguments::{int, text};
use super::{Function, Type, function};

const TWO: &[Type] = &[Type::Text, Type::Text];
const THREE: &[Type] = &[Type::Text, Type::Text, Type::Text];
const COUNTED: &[Type] = &[Type::Text, Type::Text, Type::Int];

pub(super) const TABLE: &[Function] = &[
    // Without `must`, a pattern that is none matches nothing.
    function("regexMatch", TWO, |call, a| {
        let regex = call.regex(text(a, 0))?;
        Ok(Item::Bool(match regex {
            Ok(regex) => regex.is_match(text(a, 1), call.budget)?,
            Err(_) => false,
        }))
    }),
    function("mustRegexMatch", TWO, |call, a| {
        let regex = pattern(call, a, "")?;
        Ok(Item::Bool(regex.is_match(text(a, 1), call.budget)?))
    }),
    function("regexFind", TWO, |call, a| find(call, a, PANIC)),
    function("mustRegexFind", TWO, |call, a| find(call, a, "")),
    function("regexFindAll", COUNTED, |call, a| find_all(call, a, PANIC)),
    function("mustRegexFindAll", COUNTED, |call, a| find_all(call, a, "")),
    function("regexReplaceAll", THREE, |call, a| replaced(call, a, PANIC, replace_all)),
    function("mustRegexReplaceAll", THREE, |call, a| replaced(call, a, "", replace_all)),
    function("regexReplaceAllLiteral", THREE, |call, a| replaced(call, a, PANIC, replace_all_literal)),
    function("mustRegexReplaceAllLiteral", THREE, |call, a| replaced(call, a, "", replace_all_literal)),
    function("regexSplit", COUNTED, |call, a| split(call, a, PANIC)),
    function("mustRegexSplit", COUNTED, |call, a| split(call, a, "")),
    function("regexQuoteMeta", &[Type::Text], |_, a| Ok(Item::text(quote_meta(text(a, 0))))),
];

/// What Go puts before the message of the functions without `must`.
const PANIC: &str = "regexp: Compile(";

/// Returns the names of functions whose first argument is a pattern.
pub(in super::super) fn takes_pattern(name: &str) -> bool {
    name != "regexQuoteMeta" && (name.starts_with("regex") || name.starts_with("mustRegex"))
}

fn pattern(call: &mut Call<'_>, arguments: &[Item], panic: &str) -> Result<Arc<Regex>, Failure> {
    let pattern = text(arguments, 0);
    call.regex(pattern)?.map_err(|message| match panic {
        "" => message.into(),
        _ => format!("{panic}`{pattern}`): {message}").into(),
    })
}

fn find(call: &mut Call<'_>, arguments: &[Item], panic: &str) -> Outcome {
    let regex = pattern(call, arguments, panic)?;
    Ok(Item::text(regex.find(text(arguments, 1), call.budget)?.unwrap_or_default()))
}

fn find_all(call: &mut Call<'_>, arguments: &[Item], panic: &str) -> Outcome {
    let regex = pattern(call, arguments, panic)?;
    let limit = usize::try_from(int(arguments, 2)).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut matches = regex.matches(text(arguments, 1)).without_groups();
    while found.len() < limit {
        let Some(part) = matches.next(call.budget)? else { break };
        call.charge_list(1)?;
        call.charge(part.whole().len())?;
        found.push(Text::new(part.whole()));
    }
    if found.is_empty() {
        return Ok(Item::nil_list(Of::Text));
    }
    Ok(Item::texts(found))
}

fn replaced(
    call: &mut Call<'_>,
    arguments: &[Item],
    panic: &str,
    replace: fn(&Regex, &str, &str, &mut Budget) -> Result<String, Exhausted>,
) -> Outcome {
    let regex = pattern(call, arguments, panic)?;
    Ok(Item::text(replace(&regex, text(arguments, 1), text(arguments, 2), call.budget)?))
}

fn split(call: &mut Call<'_>, arguments: &[Item], panic: &str) -> Outcome {
    let regex = pattern(call, arguments, panic)?;
    let whole = text(arguments, 1);
    call.charge_list(whole.len())?;
    if int(arguments, 2) == 0 {
        return Ok(Item::nil_list(Of::Text));
    }
    let parts = regex.split(whole, usize::try_from(int(arguments, 2)).ok(), call.budget)?;
    Ok(Item::texts(parts.into_iter().map(Text::new)))
}
