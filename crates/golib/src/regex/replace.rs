//! Replacing matches, by Go's rules for templates: `$1x` is the group called `1x`.

use kubewright_value::{Budget, Exhausted, StepMeter};

use super::{MatchGroups, MatchIterator, Regex};

/// Returns `text` with every match replaced by `template`, in which `$1`, `$name` and
/// `${name}` mean groups and `$$` for a dollar sign. An unknown group is empty text.
///
/// # Errors
/// When `budget` has too few steps left for the search, or too few bytes for the result.
pub fn replace_all(
    regex: &Regex,
    text: &str,
    template: &str,
    budget: &mut Budget,
) -> Result<String, Exhausted> {
    let matches =
        if template.contains('$') { regex.matches(text) } else { regex.matches(text).without_groups() };
    replace_with(matches, text, budget, |groups, out, budget| {
        expand_template(regex, groups, template, out, budget)
    })
}

/// Returns `text` with every match replaced by the literal text `replacement`.
///
/// # Errors
/// When `budget` has too few steps left for the search, or too few bytes for the result.
pub fn replace_all_literal(
    regex: &Regex,
    text: &str,
    replacement: &str,
    budget: &mut Budget,
) -> Result<String, Exhausted> {
    let matches = regex.matches(text).without_groups();
    replace_with(matches, text, budget, |_, out, budget| push_charged(out, replacement, budget))
}

/// Returns a pattern that matches `text` and nothing else.
#[must_use]
pub fn quote_meta(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Splits as Go's `Split`: an empty match at the start separates nothing.
pub(super) fn split_by_matches<'t, M: StepMeter>(
    regex: &Regex,
    text: &'t str,
    limit: Option<usize>,
    meter: &mut M,
) -> Result<Vec<&'t str>, M::Stopped> {
    if limit == Some(0) {
        return Ok(Vec::new());
    }
    if !regex.as_str().is_empty() && text.is_empty() {
        return Ok(vec![""]);
    }
    let (mut parts, mut start, mut end) = (Vec::new(), 0, 0);
    let mut matches = regex.matches(text).without_groups();
    while limit.is_none_or(|limit| parts.len() + 1 < limit) {
        let Some(found) = matches.next(meter)? else { break };
        let range = found.range();
        end = range.start;
        if range.end != 0 {
            parts.push(text.get(start..end).unwrap_or_default());
        }
        start = range.end;
    }
    if end != text.len() {
        parts.push(text.get(start..).unwrap_or_default());
    }
    Ok(parts)
}

fn replace_with(
    mut matches: MatchIterator<'_, '_>,
    text: &str,
    budget: &mut Budget,
    mut write: impl FnMut(&MatchGroups<'_>, &mut String, &mut Budget) -> Result<(), Exhausted>,
) -> Result<String, Exhausted> {
    budget.produce(text.len())?;
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    while let Some(groups) = matches.next(budget)? {
        let whole = groups.range();
        out.push_str(text.get(copied..whole.start).unwrap_or_default());
        write(&groups, &mut out, budget)?;
        copied = whole.end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Ok(out)
}

/// Adds text to what is made, and charges for it.
fn push_charged(out: &mut String, text: &str, budget: &mut Budget) -> Result<(), Exhausted> {
    budget.produce(text.len())?;
    out.push_str(text);
    Ok(())
}

fn expand_template(
    regex: &Regex,
    groups: &MatchGroups<'_>,
    template: &str,
    out: &mut String,
    budget: &mut Budget,
) -> Result<(), Exhausted> {
    let mut rest = template;
    budget.step(1 + template.len() as u64 / 16)?;
    while let Some((before, after)) = rest.split_once('$') {
        push_charged(out, before, budget)?;
        if let Some(tail) = after.strip_prefix('$') {
            push_charged(out, "$", budget)?;
            rest = tail;
        } else if let Some((name, tail)) = group_name(after) {
            budget.step(1)?;
            let group = match group_number(name) {
                Some(number) => groups.get(number),
                None => regex.group_named(groups, name),
            };
            push_charged(out, group.unwrap_or_default(), budget)?;
            rest = tail;
        } else {
            push_charged(out, "$", budget)?;
            rest = after;
        }
    }
    push_charged(out, rest, budget)
}

/// Splits the group's name off what follows a dollar sign.
fn group_name(text: &str) -> Option<(&str, &str)> {
    let (braced, text) = text.strip_prefix('{').map_or((false, text), |inner| (true, inner));
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, tail) = text.split_at_checked(end)?;
    let tail = if braced { tail.strip_prefix('}')? } else { tail };
    (!name.is_empty()).then_some((name, tail))
}

/// Returns the number that `name` is. `01` is a name.
fn group_number(name: &str) -> Option<usize> {
    let number = name.bytes().all(|c| c.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    number.then(|| name.parse().unwrap_or(usize::MAX))
}
