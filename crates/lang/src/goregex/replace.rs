//! Replacing matches, by Go's rules for templates: `$1x` is the group called `1x`.

use super::Regex;

/// Returns `text` with every match replaced by `template`, in which `$1`, `$name` and
/// `${name}` stand for groups and `$$` for a dollar sign. An unknown group is empty text.
#[must_use]
pub fn replace_all(regex: &Regex, text: &str, template: &str) -> String {
    replace_with(regex, text, |groups, out| expand(regex, groups, template, out))
}

/// Returns `text` with every match replaced by `replacement` as it stands.
#[must_use]
pub fn replace_all_literal(regex: &Regex, text: &str, replacement: &str) -> String {
    replace_with(regex, text, |_, out| out.push_str(replacement))
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
pub(super) fn split<'t>(regex: &Regex, text: &'t str, limit: Option<usize>) -> Vec<&'t str> {
    if limit == Some(0) {
        return Vec::new();
    }
    if !regex.pattern.is_empty() && text.is_empty() {
        return vec![""];
    }
    let (mut parts, mut start, mut end) = (Vec::new(), 0, 0);
    for found in regex.compiled.find_iter(text) {
        if limit.is_some_and(|limit| parts.len() + 1 >= limit) {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            parts.push(text.get(start..end).unwrap_or_default());
        }
        start = found.end();
    }
    if end != text.len() {
        parts.push(text.get(start..).unwrap_or_default());
    }
    parts
}

fn replace_with(
    regex: &Regex,
    text: &str,
    mut write: impl FnMut(&regex::Captures<'_>, &mut String),
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for groups in regex.matches(text) {
        let Some(whole) = groups.get(0) else { continue };
        out.push_str(text.get(copied..whole.start()).unwrap_or_default());
        write(&groups, &mut out);
        copied = whole.end();
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

fn expand(regex: &Regex, groups: &regex::Captures<'_>, template: &str, out: &mut String) {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = group_name(after) {
            let group = match group_number(name) {
                Some(number) => groups.get(number),
                None => regex.group_named(groups, name),
            };
            out.push_str(group.map_or("", |group| group.as_str()));
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
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
