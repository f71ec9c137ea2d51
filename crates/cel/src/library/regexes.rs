//! Replacing and extracting with regular expressions.

use kubewright_golib::regex::Regex;

use super::Library;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::standard::matching_cost;
use crate::val::{Kind, Val};

/// The library of regular expressions.
pub const REGEX: Library = Library { name: "regex", functions: add, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    const TWO: &[Kind] = &[Kind::String, Kind::String];
    functions.add(
        Overload::function("regex.extract", TWO, Kind::Optional, extract)
            .pattern(1)
            .cost(matching_cost)
            .help("the first match, or the group of it, if there is one"),
    );
    functions.add(
        Overload::function("regex.extractAll", TWO, Kind::List, extract_all)
            .pattern(1)
            .cost(matching_cost)
            .help("all matches, or the group of each"),
    );
    for parameters in [
        &[Kind::String, Kind::String, Kind::String][..],
        &[Kind::String, Kind::String, Kind::String, Kind::Int],
    ] {
        functions.add(
            Overload::function("regex.replace", parameters, Kind::String, replace)
                .pattern(1)
                .cost(matching_cost)
                .help("a text with matches replaced; `\\1` stands for the first group"),
        );
    }
}

fn one_group(regex: &Regex) -> Result<bool, Failure> {
    match regex.group_count() {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(Failure::value(format!("the regular expression `{regex}` has more than one group"))),
    }
}

fn extract<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::String(text), Val::String(pattern)] = arguments else { return Err(Failure::mismatch()) };
    let regex = call.regex(pattern)?;
    let has_group = one_group(&regex)?;
    let found = regex.groups(text, call.cost)?.and_then(|groups| groups.get(usize::from(has_group)));
    Ok(match found {
        Some("") if has_group => Val::Optional(None),
        Some(found) => Val::some(Val::text(found)),
        None => Val::Optional(None),
    })
}

fn extract_all<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::String(text), Val::String(pattern)] = arguments else { return Err(Failure::mismatch()) };
    let regex = call.regex(pattern)?;
    let has_group = one_group(&regex)?;
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

fn replace<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (text, pattern, replacement, count) = match arguments {
        [Val::String(text), Val::String(pattern), Val::String(by)] => (text, pattern, by, -1),
        [Val::String(text), Val::String(pattern), Val::String(by), Val::Int(count)] => {
            (text, pattern, by, *count)
        }
        _ => return Err(Failure::mismatch()),
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
        insert(&mut out, replacement, regex.group_count(), group, call)?;
        end = whole.end;
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Ok(Val::text(out))
}

fn insert<'t>(
    out: &mut String,
    replacement: &str,
    groups: usize,
    group: impl Fn(usize) -> &'t str,
    call: &mut Call<'_, '_>,
) -> Result<(), Failure> {
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
                return Err(Failure::value(message));
            }
            _ => {
                let message =
                    format!("in the replacement `{replacement}`, `\\` needs a digit or `\\` behind it");
                return Err(Failure::value(message));
            }
        }
    }
    Ok(())
}
