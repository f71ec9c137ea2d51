//! Sprig's functions on text. Positions and widths count bytes, as in Go.

use std::collections::BTreeMap;

use kubewright_golib::quote::{quote, quote_bytes};
use kubewright_value::Text;

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Of};
use super::super::literal::parse_integer;
use super::arguments::{any, bytes, from, int, text};
use super::{Function, Type, function, variadic};

pub(super) const TABLE: &[Function] = &[
    function("hello", &[], |_, _| Ok(Item::text("Hello!"))),
    function("abbrev", &[Type::Int, Type::Text], |_, a| Ok(abbreviated(0, int(a, 0), text(a, 1)))),
    function("abbrevboth", &[Type::Int, Type::Int, Type::Text], |_, a| {
        let (left, right) = (int(a, 0), int(a, 1));
        let small = left > 0 && right < 7;
        Ok(if small { Item::Text(text(a, 2).clone()) } else { abbreviated(left, right, text(a, 2)) })
    }),
    function("trunc", &[Type::Int, Type::Bytes], |_, a| Ok(trunc(int(a, 0), any(a, 1)))),
    function("trim", &[Type::Text], |_, a| Ok(Item::text(text(a, 0).trim()))),
    function("trimAll", &[Type::Text, Type::Text], trim_all),
    function("trimall", &[Type::Text, Type::Text], trim_all),
    function("trimSuffix", &[Type::Text, Type::Text], |_, a| {
        let whole = text(a, 1);
        Ok(Item::text(whole.strip_suffix(text(a, 0).as_str()).unwrap_or(whole)))
    }),
    function("trimPrefix", &[Type::Text, Type::Text], |_, a| {
        let whole = text(a, 1);
        Ok(Item::text(whole.strip_prefix(text(a, 0).as_str()).unwrap_or(whole)))
    }),
    function("substr", &[Type::Int, Type::Int, Type::Bytes], substr),
    function("repeat", &[Type::Int, Type::Text], |call, a| {
        let (count, unit) = (count(int(a, 0))?, text(a, 1));
        call.charge(unit.len().saturating_mul(count))?;
        Ok(Item::text(unit.repeat(count)))
    }),
    function("nospace", &[Type::Text], |_, a| Ok(Item::text(nospace(text(a, 0))))),
    function("initials", &[Type::Text], |_, a| Ok(Item::text(initials(text(a, 0))))),
    function("wrap", &[Type::Int, Type::Text], |call, a| wrapped(call, int(a, 0), "", text(a, 1), false)),
    function("wrapWith", &[Type::Int, Type::Text, Type::Text], |call, a| {
        wrapped(call, int(a, 0), text(a, 1), text(a, 2), true)
    }),
    function("contains", &[Type::Text, Type::Text], |_, a| {
        Ok(Item::Bool(text(a, 1).contains(text(a, 0).as_str())))
    }),
    function("hasPrefix", &[Type::Text, Type::Text], |_, a| {
        Ok(Item::Bool(text(a, 1).starts_with(text(a, 0).as_str())))
    }),
    function("hasSuffix", &[Type::Text, Type::Text], |_, a| {
        Ok(Item::Bool(text(a, 1).ends_with(text(a, 0).as_str())))
    }),
    variadic("quote", &[], Type::Any, |call, a| joined(call, a, quoted)),
    variadic("squote", &[], Type::Any, |call, a| {
        joined(call, a, |call, item| Ok(format!("'{}'", call.text_of(item)?)))
    }),
    variadic("cat", &[], Type::Any, |call, a| {
        joined(call, a, |call, item| Ok(call.text_of(item)?.to_string()))
    }),
    function("indent", &[Type::Int, Type::Text], |call, a| {
        Ok(Item::text(indented(call, int(a, 0), text(a, 1))?))
    }),
    function("nindent", &[Type::Int, Type::Text], |call, a| {
        Ok(Item::text(format!("\n{}", indented(call, int(a, 0), text(a, 1))?)))
    }),
    function("replace", &[Type::Text, Type::Text, Type::Text], replace),
    function("plural", &[Type::Text, Type::Text, Type::Int], |_, a| {
        Ok(Item::Text(text(a, if int(a, 2) == 1 { 0 } else { 1 }).clone()))
    }),
    function("toString", &[Type::Any], |call, a| Ok(Item::Text(call.text_of(any(a, 0))?))),
    function("toStrings", &[Type::Any], |call, a| Ok(Item::texts(texts(call, any(a, 0))?))),
    function("atoi", &[Type::Text], |_, a| Ok(Item::int(parse_integer(text(a, 0), 10).unwrap_or(0)))),
    function("join", &[Type::Text, Type::Any], join),
    function("sortAlpha", &[Type::Any], |call, a| {
        let mut sorted = match any(a, 0).list_len() {
            Some(_) => texts(call, any(a, 0))?,
            None => vec![call.text_of(any(a, 0))?],
        };
        sorted.sort_unstable();
        Ok(Item::texts(sorted))
    }),
    function("split", &[Type::Text, Type::Text], |call, a| numbered(call, text(a, 0), -1, text(a, 1))),
    function("splitn", &[Type::Text, Type::Int, Type::Text], |call, a| {
        numbered(call, text(a, 0), int(a, 1), text(a, 2))
    }),
    function("splitList", &[Type::Text, Type::Text], |call, a| {
        Ok(Item::texts(parts(call, text(a, 0), -1, text(a, 1))?.into_iter().map(Text::new)))
    }),
];

fn abbreviated(offset: i64, width: i64, whole: &Text) -> Item {
    if width < 4 {
        return Item::Text(whole.clone());
    }
    Item::bytes(abbreviate(whole.as_bytes(), offset, width).unwrap_or_default())
}

/// Shortens to `width` bytes with an ellipsis at one end or both; nothing when that is too narrow.
fn abbreviate(whole: &[u8], offset: i64, width: i64) -> Option<Vec<u8>> {
    let length = i64::try_from(whole.len()).ok()?;
    let part = |from: i64, to: i64| whole.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?);
    if length <= width {
        return Some(whole.to_vec());
    }
    let offset = offset.min(length);
    let offset = if length.saturating_sub(offset) < width - 3 { length - (width - 3) } else { offset };
    if offset <= 4 {
        return Some([part(0, width - 3)?, b"..."].concat());
    }
    if width < 7 {
        return None;
    }
    if offset + width - 3 < length {
        let rest = abbreviate(part(offset, length)?, 0, width - 3)?;
        return Some([b"...", rest.as_slice()].concat());
    }
    Some([b"...", part(length - (width - 3), length)?].concat())
}

fn trunc(count: i64, whole: &Item) -> Item {
    let bytes = whole.as_bytes().unwrap_or_default();
    let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let at = |position: i64| usize::try_from(position).unwrap_or(0);
    let kept = if count < 0 && length.saturating_add(count) > 0 {
        bytes.get(at(length + count)..)
    } else if count >= 0 && length > count {
        bytes.get(..at(count))
    } else {
        return whole.clone();
    };
    Item::bytes(kept.unwrap_or_default().to_vec())
}

fn trim_all(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let cut = text(arguments, 0);
    Ok(Item::text(text(arguments, 1).trim_matches(|c| cut.contains(c))))
}

fn substr(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let (start, end, whole) = (int(arguments, 0), int(arguments, 1), bytes(arguments, 2));
    let length = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    let (start, end) = match (start, end) {
        (start, end) if start < 0 => (0, end),
        (start, end) if end < 0 || end > length => (start, length),
        both => both,
    };
    let part = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match part.and_then(|(start, end)| whole.get(start..end)) {
        Some(part) => Ok(Item::bytes(part.to_vec())),
        None if int(arguments, 0) < 0 && end < 0 => {
            Err(format!("runtime error: slice bounds out of range [:{end}]").into())
        }
        None if int(arguments, 0) < 0 => {
            Err(format!("runtime error: slice bounds out of range [:{end}] with length {length}").into())
        }
        None => Err(format!("runtime error: slice bounds out of range [{start}:{end}]").into()),
    }
}

fn count(count: i64) -> Result<usize, Failure> {
    usize::try_from(count).map_err(|_| "strings: negative Repeat count".into())
}

/// Go reads bytes as characters here, so text beyond ASCII comes out garbled when it has a space.
fn nospace(whole: &str) -> String {
    if whole.bytes().any(is_space) {
        whole.bytes().filter(|b| !is_space(*b)).map(char::from).collect()
    } else {
        whole.to_owned()
    }
}

fn initials(whole: &str) -> String {
    let mut after_gap = true;
    let mut out = String::new();
    for byte in whole.bytes() {
        if is_space(byte) {
            after_gap = true;
        } else if after_gap {
            out.push(char::from(byte));
            after_gap = false;
        }
    }
    out
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | b' ' | 0x85 | 0xa0)
}

/// Breaks lines at spaces so that they have at most `width` bytes.
fn wrapped(call: &mut Call<'_>, width: i64, separator: &str, whole: &Text, long_words: bool) -> Outcome {
    let separator = if separator.is_empty() { "\n" } else { separator };
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let most = whole.len() / width.min(whole.len().max(1)) + whole.bytes().filter(|b| *b == b' ').count() + 1;
    call.charge(whole.len().saturating_add(most.saturating_mul(separator.len())))?;
    call.budget.step(whole.len() as u64)?;
    let bytes = whole.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut offset = 0;
    while bytes.len() - offset > width {
        let rest = bytes.get(offset..).unwrap_or_default();
        if rest.first() == Some(&b' ') {
            offset += 1;
            continue;
        }
        let last_space = rest.get(..=width).and_then(|line| line.iter().rposition(|b| *b == b' '));
        let later = || rest.iter().skip(width).position(|b| *b == b' ').map(|at| at + width);
        let (line, next) = match last_space {
            Some(at) => (at, at + 1),
            None if long_words => (width, width),
            None => match later() {
                Some(at) => (at, at + 1),
                None => break,
            },
        };
        out.extend_from_slice(rest.get(..line).unwrap_or_default());
        out.extend_from_slice(separator.as_bytes());
        offset += next;
    }
    out.extend_from_slice(bytes.get(offset..).unwrap_or_default());
    Ok(Item::bytes(out))
}

fn quoted(call: &mut Call<'_>, item: &Item) -> Result<String, Failure> {
    match item {
        Item::Bytes(bytes) => Ok(quote_bytes(bytes)),
        other => Ok(quote(&call.text_of(other)?)),
    }
}

/// Writes the arguments that are not nil with spaces between them.
fn joined(
    call: &mut Call<'_>,
    arguments: &[Item],
    write: fn(&mut Call<'_>, &Item) -> Result<String, Failure>,
) -> Outcome {
    let mut out = String::new();
    for (i, item) in arguments.iter().filter(|item| !item.is_nil()).enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(&write(call, item)?);
    }
    Ok(Item::text(out))
}

fn indented(call: &mut Call<'_>, spaces: i64, whole: &Text) -> Result<String, Failure> {
    let spaces = count(spaces)?;
    let lines = whole.bytes().filter(|b| *b == b'\n').count() + 1;
    call.charge(whole.len().saturating_add(lines.saturating_mul(spaces)))?;
    let padding = " ".repeat(spaces);
    Ok(format!("{padding}{}", whole.replace('\n', &format!("\n{padding}"))))
}

fn replace(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let (old, new, whole) = (text(arguments, 0), text(arguments, 1), text(arguments, 2));
    let count = whole.matches(old.as_str()).count();
    call.charge(whole.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Item::text(whole.replace(old.as_str(), new)))
}

/// Returns the elements that are not nil as text; anything but a list counts as one element.
pub(super) fn texts(call: &mut Call<'_>, item: &Item) -> Result<Vec<Text>, Failure> {
    let Some(length) = item.list_len() else {
        return if item.is_nil() { Ok(Vec::new()) } else { Ok(vec![call.text_of(item)?]) };
    };
    call.charge_list(length)?;
    let mut out = Vec::with_capacity(length);
    for index in 0..length {
        match item.element(index) {
            Some(element) if !element.is_nil() => out.push(call.text_of(&element)?),
            _ => {}
        }
    }
    Ok(out)
}

fn join(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let separator = text(arguments, 0);
    let parts = texts(call, any(arguments, 1))?;
    let length: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
    call.charge(length)?;
    Ok(Item::text(parts.join(separator.as_str())))
}

fn numbered(call: &mut Call<'_>, separator: &Text, limit: i64, whole: &Text) -> Outcome {
    let parts = parts(call, separator, limit, whole)?;
    let entries: BTreeMap<Text, Item> = parts
        .into_iter()
        .enumerate()
        .map(|(i, part)| (Text::from(format!("_{i}")), Item::text(part)))
        .collect();
    Ok(Item::dict(Of::Text, entries)?)
}

/// As Go's `SplitN`: an empty separator takes the text apart into characters.
fn parts<'t>(
    call: &mut Call<'_>,
    separator: &str,
    limit: i64,
    whole: &'t str,
) -> Result<Vec<&'t str>, Failure> {
    call.charge_list(if separator.is_empty() { whole.len() } else { whole.matches(separator).count() + 1 })?;
    let limit = if limit < 0 { usize::MAX } else { usize::try_from(limit).unwrap_or(usize::MAX) };
    if limit == 0 {
        return Ok(Vec::new());
    }
    if !separator.is_empty() {
        return Ok(whole.splitn(limit, separator).collect());
    }
    let mut out = Vec::new();
    let mut rest = whole;
    while let Some(c) = rest.chars().next() {
        let length = if out.len() + 1 == limit { rest.len() } else { c.len_utf8() };
        let (part, tail) = rest.split_at(length);
        out.push(part);
        rest = tail;
    }
    Ok(out)
}

/// Returns the texts of variadic string parameters.
pub(super) fn all(arguments: &[Item], start: usize) -> Vec<Text> {
    from(arguments, start).iter().filter_map(Item::as_text).cloned().collect()
}
