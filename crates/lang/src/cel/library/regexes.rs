//! Replacing and extracting with regular expressions.

use super::Library;
use crate::cel::environment::Macros;
use crate::cel::error::Failure;
use crate::cel::function::{Call, Functions, Overload};
use crate::cel::standard::matching_cost;
use crate::cel::val::{Kind, Val};
use crate::goregex::Regex;

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
    match regex.as_regex().captures_len() {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(Failure::value(format!("the regular expression `{regex}` has more than one group"))),
    }
}

fn extract<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::String(text), Val::String(pattern)] = arguments else { return Err(Failure::mismatch()) };
    let regex = call.regex(pattern)?;
    let has_group = one_group(&regex)?;
    let found = regex.groups(text).and_then(|groups| groups.get(usize::from(has_group)).copied().flatten());
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
    let matches = regex.as_regex().captures_iter(text);
    let found = matches.map(|groups| groups.get(usize::from(has_group)).map_or("", |group| group.as_str()));
    let found: Vec<Val<'a>> = found.filter(|text| !has_group || !text.is_empty()).map(Val::text).collect();
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
    for groups in regex.as_regex().captures_iter(text).take(limit) {
        let Some(whole) = groups.get(0) else { continue };
        out.push_str(text.get(end..whole.start()).unwrap_or_default());
        let group = |number| groups.get(number).map_or("", |group| group.as_str());
        insert(&mut out, replacement, regex.as_regex().captures_len(), group, call)?;
        end = whole.end();
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
