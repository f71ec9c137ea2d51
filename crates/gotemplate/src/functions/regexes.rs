//! Sprig's regular expressions.

use std::sync::Arc;

use kubewright_golib::regex::{Regex, quote_meta, replace_all, replace_all_literal};
use kubewright_value::{Budget, Exhausted, Text};

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{ElementType, TemplateItem};
use super::arguments::{int_argument, text_argument};
use super::{ParameterType, TemplateFunction, fixed_function};

const TWO: &[ParameterType] = &[ParameterType::Text, ParameterType::Text];
const THREE: &[ParameterType] = &[ParameterType::Text, ParameterType::Text, ParameterType::Text];
const COUNTED: &[ParameterType] = &[ParameterType::Text, ParameterType::Text, ParameterType::Int];

pub(super) const TABLE: &[TemplateFunction] = &[
    // Without `must`, an invalid pattern matches nothing.
    fixed_function("regexMatch", TWO, |call, a| {
        let regex = call.regex(text_argument(a, 0))?;
        Ok(TemplateItem::Bool(match regex {
            Ok(regex) => regex.is_match(text_argument(a, 1), call.budget)?,
            Err(_) => false,
        }))
    }),
    fixed_function("mustRegexMatch", TWO, |call, a| {
        let regex = pattern_argument(call, a, "")?;
        Ok(TemplateItem::Bool(regex.is_match(text_argument(a, 1), call.budget)?))
    }),
    fixed_function("regexFind", TWO, |call, a| regex_find(call, a, PANIC)),
    fixed_function("mustRegexFind", TWO, |call, a| regex_find(call, a, "")),
    fixed_function("regexFindAll", COUNTED, |call, a| regex_find_all(call, a, PANIC)),
    fixed_function("mustRegexFindAll", COUNTED, |call, a| regex_find_all(call, a, "")),
    fixed_function("regexReplaceAll", THREE, |call, a| regex_replace(call, a, PANIC, replace_all)),
    fixed_function("mustRegexReplaceAll", THREE, |call, a| regex_replace(call, a, "", replace_all)),
    fixed_function("regexReplaceAllLiteral", THREE, |call, a| {
        regex_replace(call, a, PANIC, replace_all_literal)
    }),
    fixed_function("mustRegexReplaceAllLiteral", THREE, |call, a| {
        regex_replace(call, a, "", replace_all_literal)
    }),
    fixed_function("regexSplit", COUNTED, |call, a| regex_split(call, a, PANIC)),
    fixed_function("mustRegexSplit", COUNTED, |call, a| regex_split(call, a, "")),
    fixed_function("regexQuoteMeta", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(quote_meta(text_argument(a, 0))))
    }),
];

/// The prefix of the messages of the functions without `must`.
const PANIC: &str = "regexp: Compile(";

/// Returns the names of functions whose first argument is a pattern.
pub(in super::super) fn takes_pattern(name: &str) -> bool {
    name != "regexQuoteMeta" && (name.starts_with("regex") || name.starts_with("mustRegex"))
}

fn pattern_argument(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    panic: &str,
) -> Result<Arc<Regex>, CallFailure> {
    let pattern = text_argument(arguments, 0);
    call.regex(pattern)?.map_err(|message| match panic {
        "" => message.into(),
        _ => format!("{panic}`{pattern}`): {message}").into(),
    })
}

fn regex_find(call: &mut FunctionCall<'_>, arguments: &[TemplateItem], panic: &str) -> CallResult {
    let regex = pattern_argument(call, arguments, panic)?;
    Ok(TemplateItem::text(regex.find(text_argument(arguments, 1), call.budget)?.unwrap_or_default()))
}

fn regex_find_all(call: &mut FunctionCall<'_>, arguments: &[TemplateItem], panic: &str) -> CallResult {
    let regex = pattern_argument(call, arguments, panic)?;
    let limit = usize::try_from(int_argument(arguments, 2)).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut matches = regex.matches(text_argument(arguments, 1)).without_groups();
    while found.len() < limit {
        let Some(part) = matches.next(call.budget)? else { break };
        call.charge_list(1)?;
        call.charge(part.whole().len())?;
        found.push(Text::new(part.whole()));
    }
    if found.is_empty() {
        return Ok(TemplateItem::nil_list(ElementType::Text));
    }
    Ok(TemplateItem::texts(found))
}

fn regex_replace(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    panic: &str,
    replace: fn(&Regex, &str, &str, &mut Budget) -> Result<String, Exhausted>,
) -> CallResult {
    let regex = pattern_argument(call, arguments, panic)?;
    Ok(TemplateItem::text(replace(
        &regex,
        text_argument(arguments, 1),
        text_argument(arguments, 2),
        call.budget,
    )?))
}

fn regex_split(call: &mut FunctionCall<'_>, arguments: &[TemplateItem], panic: &str) -> CallResult {
    let regex = pattern_argument(call, arguments, panic)?;
    let whole = text_argument(arguments, 1);
    call.charge_list(whole.len())?;
    if int_argument(arguments, 2) == 0 {
        return Ok(TemplateItem::nil_list(ElementType::Text));
    }
    let parts = regex.split(whole, usize::try_from(int_argument(arguments, 2)).ok(), call.budget)?;
    Ok(TemplateItem::texts(parts.into_iter().map(Text::new)))
}
