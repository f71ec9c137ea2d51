//! Sprig's regular expressions.

use std::sync::Arc;

use kubewright_value::Text;

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Of};
use super::arguments::{int, text};
use super::{Function, Type, function};
use crate::goregex::{Regex, quote_meta, replace_all, replace_all_literal};

const TWO: &[Type] = &[Type::Text, Type::Text];
const THREE: &[Type] = &[Type::Text, Type::Text, Type::Text];
const COUNTED: &[Type] = &[Type::Text, Type::Text, Type::Int];

pub(super) const TABLE: &[Function] = &[
    // Without `must`, a pattern that is none matches nothing.
    function("regexMatch", TWO, |call, a| {
        let regex = call.regex(text(a, 0))?;
        Ok(Item::Bool(regex.is_ok_and(|regex| regex.is_match(text(a, 1)))))
    }),
    function("mustRegexMatch", TWO, |call, a| Ok(Item::Bool(pattern(call, a, "")?.is_match(text(a, 1))))),
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
    Ok(Item::text(regex.find(text(arguments, 1)).unwrap_or_default()))
}

fn find_all(call: &mut Call<'_>, arguments: &[Item], panic: &str) -> Outcome {
    let regex = pattern(call, arguments, panic)?;
    let limit = usize::try_from(int(arguments, 2)).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for part in regex.find_all(text(arguments, 1)).take(limit) {
        call.charge_list(1)?;
        found.push(Text::new(part));
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
    replace: fn(&Regex, &str, &str) -> String,
) -> Outcome {
    let regex = pattern(call, arguments, panic)?;
    let (whole, replacement) = (text(arguments, 1), text(arguments, 2));
    let matches = regex.as_regex().find_iter(whole).count();
    let groups = replacement.matches('$').count();
    let most = matches.saturating_mul(replacement.len()).saturating_add(whole.len().saturating_mul(groups));
    call.charge(most)?;
    Ok(Item::text(replace(&regex, whole, replacement)))
}

fn split(call: &mut Call<'_>, arguments: &[Item], panic: &str) -> Outcome {
    let regex = pattern(call, arguments, panic)?;
    let whole = text(arguments, 1);
    call.charge_list(whole.len())?;
    if int(arguments, 2) == 0 {
        return Ok(Item::nil_list(Of::Text));
    }
    Ok(Item::texts(regex.split(whole, usize::try_from(int(arguments, 2)).ok()).into_iter().map(Text::new)))
}
