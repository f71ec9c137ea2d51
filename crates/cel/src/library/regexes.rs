//! Replacing and extracting with regular expressions.

use kubewright_golib::regex::Regex;

use super::CelLibrary;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::standard::regex_match_cost;
use crate::val::{CelKind, Val};

/// The library of regular expressions.
pub const REGEX: CelLibrary =
    CelLibrary { name: "regex", functions: add_regex_functions, macros: MacroSet::NONE, types: &[] };

fn add_regex_functions(functions: &mut CelFunctions) {
    const TWO: &[CelKind] = &[CelKind::String, CelKind::String];
    functions.add(
        CelOverload::function("regex.extract", TWO, CelKind::Optional, regex_extract)
            .pattern(1)
            .cost(regex_match_cost)
            .help("the first match, or the group of it, if there is one"),
    );
    functions.add(
        CelOverload::function("regex.extractAll", TWO, CelKind::List, regex_extract_all)
            .pattern(1)
            .cost(regex_match_cost)
            .help("all matches, or the group of each"),
    );
    for parameters in [
        &[CelKind::String, CelKind::String, CelKind::String][..],
        &[CelKind::String, CelKind::String, CelKind::String, CelKind::Int],
    ] {
        functions.add(
            CelOverload::function("regex.replace", parameters, CelKind::String, regex_replace)
                .pattern(1)
                .cost(regex_match_cost)
                .help("a text with matches replaced; `\\1` is the first group"),
        );
    }
}

fn has_one_group(regex: &Regex) -> Result<bool, CelFailure> {
    match regex.group_count() {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(CelFailure::value(format!("the regular expression `{regex}` has more than one group"))),
    }
}

fn regex_extract<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let [Val::String(text), Val::String(pattern)] = arguments else { return Err(CelFailure::mismatch()) };
    let regex = call.regex(pattern)?;
    let has_group = has_one_group(&regex)?;
    let found = regex.groups(text, call.cost)?.and_then(|groups| groups.get(usize::from(has_group)));
    Ok(match found {
        Some("") if has_group => Val::Optional(None),
        Some(found) => Val::some(Val::text(found)),
        None => Val::Optional(None),
    })
}

fn regex_extract_all<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let [Val::String(text), Val::String(pattern)] = arguments else { return Err(CelFailure::mismatch()) };
    let regex = call.regex(pattern)?;
    let has_group = has_one_group(&regex)?;
    let mut matches = regex.matches(text);
    let mut found = Vec::new();
    while let Some(groups) = matches.next(call.cost)? {
        let part = groups.get(usize::from(has_group)).unwrap_or_default();
        if has_group && part.is_empty() {
            continue;
        }
        call.make(1 + part.len() / 64)?;
        found.push(Val::text(part));
    }
    Ok(Val::list(found))
}

fn regex_replace<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let (text, pattern, replacement, count) = match arguments {
        [Val::String(text), Val::String(pattern), Val::String(by)] => (text, pattern, by, -1),
        [Val::String(text), Val::String(pattern), Val::String(by), Val::Int(count)] => {
            (text, pattern, by, *count)
        }
        _ => return Err(CelFailure::mismatch()),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let regex = call.regex(pattern)?;
    let mut out = String::new();
    let mut end = 0;
    let mut matches = regex.matches(text);
    for _ in 0..limit {
        let Some(groups) = matches.next(call.cost)? else { break };
        let whole = groups.range();
        out.push_str(text.get(end..whole.start).unwrap_or_default());
        let group = |number| groups.get(number).unwrap_or_default();
        append_replacement(&mut out, replacement, regex.group_count(), group, call)?;
        end = whole.end;
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Ok(Val::text(out))
}

fn append_replacement<'t>(
    out: &mut String,
    replacement: &str,
    groups: usize,
    group: impl Fn(usize) -> &'t str,
    call: &mut CelCallContext<'_, '_>,
) -> Result<(), CelFailure> {
    call.work(1 + replacement.len() / 4)?;
    call.produce(replacement.len())?;
    let mut characters = replacement.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next().map(|c| (c, c.to_digit(10))) {
            Some(('\\', _)) => out.push('\\'),
            Some((_, Some(number))) if (number as usize) < groups => {
                let group = group(number as usize);
                call.work(group.len() / 4)?;
                call.produce(group.len())?;
                out.push_str(group);
            }
            Some((_, Some(number))) => {
                let message =
                    format!("the replacement `{replacement}` names group {number}, there are {}", groups - 1);
                return Err(CelFailure::value(message));
            }
            _ => {
                let message =
                    format!("in the replacement `{replacement}`, `\\` needs a digit or `\\` behind it");
                return Err(CelFailure::value(message));
            }
        }
    }
    Ok(())
}
