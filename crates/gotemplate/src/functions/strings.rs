//! Sprig's functions on text. Positions and widths count bytes, as in Go.

use std::collections::BTreeMap;

use kubewright_golib::quote::{quote_bytes, quote_go};
use kubewright_value::Text;

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{ElementType, TemplateItem};
use super::super::literal::parse_integer;
use super::arguments::{argument_or_nil, arguments_from, bytes_argument, int_argument, text_argument};
use super::{ParameterType, TemplateFunction, fixed_function, variadic_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("hello", &[], |_, _| Ok(TemplateItem::text("Hello!"))),
    fixed_function("abbrev", &[ParameterType::Int, ParameterType::Text], |_, a| {
        Ok(sprig_abbrev(0, int_argument(a, 0), text_argument(a, 1)))
    }),
    fixed_function("abbrevboth", &[ParameterType::Int, ParameterType::Int, ParameterType::Text], |_, a| {
        let (left, right) = (int_argument(a, 0), int_argument(a, 1));
        let small = left > 0 && right < 7;
        Ok(if small {
            TemplateItem::Text(text_argument(a, 2).clone())
        } else {
            sprig_abbrev(left, right, text_argument(a, 2))
        })
    }),
    fixed_function("trunc", &[ParameterType::Int, ParameterType::Bytes], |_, a| {
        Ok(trunc(int_argument(a, 0), argument_or_nil(a, 1)))
    }),
    fixed_function("trim", &[ParameterType::Text], |_, a| Ok(TemplateItem::text(text_argument(a, 0).trim()))),
    fixed_function("trimAll", &[ParameterType::Text, ParameterType::Text], trim_all),
    fixed_function("trimall", &[ParameterType::Text, ParameterType::Text], trim_all),
    fixed_function("trimSuffix", &[ParameterType::Text, ParameterType::Text], |_, a| {
        let whole = text_argument(a, 1);
        Ok(TemplateItem::text(whole.strip_suffix(text_argument(a, 0).as_str()).unwrap_or(whole)))
    }),
    fixed_function("trimPrefix", &[ParameterType::Text, ParameterType::Text], |_, a| {
        let whole = text_argument(a, 1);
        Ok(TemplateItem::text(whole.strip_prefix(text_argument(a, 0).as_str()).unwrap_or(whole)))
    }),
    fixed_function("substr", &[ParameterType::Int, ParameterType::Int, ParameterType::Bytes], substr),
    fixed_function("repeat", &[ParameterType::Int, ParameterType::Text], |call, a| {
        let (count, unit) = (checked_count(int_argument(a, 0))?, text_argument(a, 1));
        call.charge(unit.len().saturating_mul(count))?;
        Ok(TemplateItem::text(unit.repeat(count)))
    }),
    fixed_function("nospace", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(nospace(text_argument(a, 0))))
    }),
    fixed_function("initials", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(initials(text_argument(a, 0))))
    }),
    fixed_function("wrap", &[ParameterType::Int, ParameterType::Text], |call, a| {
        wrap_words(call, int_argument(a, 0), "", text_argument(a, 1), false)
    }),
    fixed_function("wrapWith", &[ParameterType::Int, ParameterType::Text, ParameterType::Text], |call, a| {
        wrap_words(call, int_argument(a, 0), text_argument(a, 1), text_argument(a, 2), true)
    }),
    fixed_function("contains", &[ParameterType::Text, ParameterType::Text], |_, a| {
        Ok(TemplateItem::Bool(text_argument(a, 1).contains(text_argument(a, 0).as_str())))
    }),
    fixed_function("hasPrefix", &[ParameterType::Text, ParameterType::Text], |_, a| {
        Ok(TemplateItem::Bool(text_argument(a, 1).starts_with(text_argument(a, 0).as_str())))
    }),
    fixed_function("hasSuffix", &[ParameterType::Text, ParameterType::Text], |_, a| {
        Ok(TemplateItem::Bool(text_argument(a, 1).ends_with(text_argument(a, 0).as_str())))
    }),
    variadic_function("quote", &[], ParameterType::Any, |call, a| join_arguments(call, a, quote_item)),
    variadic_function("squote", &[], ParameterType::Any, |call, a| {
        join_arguments(call, a, |call, item| Ok(format!("'{}'", call.text_of(item)?)))
    }),
    variadic_function("cat", &[], ParameterType::Any, |call, a| {
        join_arguments(call, a, |call, item| Ok(call.text_of(item)?.to_string()))
    }),
    fixed_function("indent", &[ParameterType::Int, ParameterType::Text], |call, a| {
        Ok(TemplateItem::text(indent_text(call, int_argument(a, 0), text_argument(a, 1))?))
    }),
    fixed_function("nindent", &[ParameterType::Int, ParameterType::Text], |call, a| {
        Ok(TemplateItem::text(format!("\n{}", indent_text(call, int_argument(a, 0), text_argument(a, 1))?)))
    }),
    fixed_function(
        "replace",
        &[ParameterType::Text, ParameterType::Text, ParameterType::Text],
        sprig_replace,
    ),
    fixed_function("plural", &[ParameterType::Text, ParameterType::Text, ParameterType::Int], |_, a| {
        Ok(TemplateItem::Text(text_argument(a, if int_argument(a, 2) == 1 { 0 } else { 1 }).clone()))
    }),
    fixed_function("toString", &[ParameterType::Any], |call, a| {
        Ok(TemplateItem::Text(call.text_of(argument_or_nil(a, 0))?))
    }),
    fixed_function("toStrings", &[ParameterType::Any], |call, a| {
        Ok(TemplateItem::texts(item_texts(call, argument_or_nil(a, 0))?))
    }),
    fixed_function("atoi", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::int(parse_integer(text_argument(a, 0), 10).unwrap_or(0)))
    }),
    fixed_function("join", &[ParameterType::Text, ParameterType::Any], sprig_join),
    fixed_function("sortAlpha", &[ParameterType::Any], |call, a| {
        let mut sorted = match argument_or_nil(a, 0).list_len() {
            Some(_) => item_texts(call, argument_or_nil(a, 0))?,
            None => vec![call.text_of(argument_or_nil(a, 0))?],
        };
        sorted.sort_unstable();
        Ok(TemplateItem::texts(sorted))
    }),
    fixed_function("split", &[ParameterType::Text, ParameterType::Text], |call, a| {
        numbered_dict(call, text_argument(a, 0), -1, text_argument(a, 1))
    }),
    fixed_function("splitn", &[ParameterType::Text, ParameterType::Int, ParameterType::Text], |call, a| {
        numbered_dict(call, text_argument(a, 0), int_argument(a, 1), text_argument(a, 2))
    }),
    fixed_function("splitList", &[ParameterType::Text, ParameterType::Text], |call, a| {
        Ok(TemplateItem::texts(
            split_text(call, text_argument(a, 0), -1, text_argument(a, 1))?.into_iter().map(Text::new),
        ))
    }),
];

fn sprig_abbrev(offset: i64, width: i64, whole: &Text) -> TemplateItem {
    if width < 4 {
        return TemplateItem::Text(whole.clone());
    }
    TemplateItem::bytes(abbreviate(whole.as_bytes(), offset, width).unwrap_or_default())
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

fn trunc(count: i64, whole: &TemplateItem) -> TemplateItem {
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
    TemplateItem::bytes(kept.unwrap_or_default().to_vec())
}

fn trim_all(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let cut = text_argument(arguments, 0);
    Ok(TemplateItem::text(text_argument(arguments, 1).trim_matches(|c| cut.contains(c))))
}

fn substr(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let (start, end, whole) =
        (int_argument(arguments, 0), int_argument(arguments, 1), bytes_argument(arguments, 2));
    let length = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    let (start, end) = match (start, end) {
        (start, end) if start < 0 => (0, end),
        (start, end) if end < 0 || end > length => (start, length),
        both => both,
    };
    let part = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    match part.and_then(|(start, end)| whole.get(start..end)) {
        Some(part) => Ok(TemplateItem::bytes(part.to_vec())),
        None if int_argument(arguments, 0) < 0 && end < 0 => {
            Err(format!("runtime error: slice bounds out of range [:{end}]").into())
        }
        None if int_argument(arguments, 0) < 0 => {
            Err(format!("runtime error: slice bounds out of range [:{end}] with length {length}").into())
        }
        None => Err(format!("runtime error: slice bounds out of range [{start}:{end}]").into()),
    }
}

fn checked_count(count: i64) -> Result<usize, CallFailure> {
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
fn wrap_words(
    call: &mut FunctionCall<'_>,
    width: i64,
    separator: &str,
    whole: &Text,
    long_words: bool,
) -> CallResult {
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
    Ok(TemplateItem::bytes(out))
}

fn quote_item(call: &mut FunctionCall<'_>, item: &TemplateItem) -> Result<String, CallFailure> {
    match item {
        TemplateItem::Bytes(bytes) => Ok(quote_bytes(bytes)),
        other => Ok(quote_go(&call.text_of(other)?)),
    }
}

/// Writes the arguments that are not nil with spaces between them.
fn join_arguments(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    write: fn(&mut FunctionCall<'_>, &TemplateItem) -> Result<String, CallFailure>,
) -> CallResult {
    let mut out = String::new();
    for (i, item) in arguments.iter().filter(|item| !item.is_nil()).enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(&write(call, item)?);
    }
    Ok(TemplateItem::text(out))
}

fn indent_text(call: &mut FunctionCall<'_>, spaces: i64, whole: &Text) -> Result<String, CallFailure> {
    let spaces = checked_count(spaces)?;
    let lines = whole.bytes().filter(|b| *b == b'\n').count() + 1;
    call.charge(whole.len().saturating_add(lines.saturating_mul(spaces)))?;
    let padding = " ".repeat(spaces);
    Ok(format!("{padding}{}", whole.replace('\n', &format!("\n{padding}"))))
}

fn sprig_replace(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let (old, new, whole) =
        (text_argument(arguments, 0), text_argument(arguments, 1), text_argument(arguments, 2));
    let count = whole.matches(old.as_str()).count();
    call.charge(whole.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(TemplateItem::text(whole.replace(old.as_str(), new)))
}

/// Returns the elements that are not nil as text; anything but a list counts as one element.
pub(super) fn item_texts(call: &mut FunctionCall<'_>, item: &TemplateItem) -> Result<Vec<Text>, CallFailure> {
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

fn sprig_join(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let separator = text_argument(arguments, 0);
    let parts = item_texts(call, argument_or_nil(arguments, 1))?;
    let length: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
    call.charge(length)?;
    Ok(TemplateItem::text(parts.join(separator.as_str())))
}

fn numbered_dict(call: &mut FunctionCall<'_>, separator: &Text, limit: i64, whole: &Text) -> CallResult {
    let parts = split_text(call, separator, limit, whole)?;
    let entries: BTreeMap<Text, TemplateItem> = parts
        .into_iter()
        .enumerate()
        .map(|(i, part)| (Text::from(format!("_{i}")), TemplateItem::text(part)))
        .collect();
    Ok(TemplateItem::dict(ElementType::Text, entries)?)
}

/// As Go's `SplitN`: an empty separator takes the text apart into characters.
fn split_text<'t>(
    call: &mut FunctionCall<'_>,
    separator: &str,
    limit: i64,
    whole: &'t str,
) -> Result<Vec<&'t str>, CallFailure> {
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
pub(super) fn text_arguments(arguments: &[TemplateItem], start: usize) -> Vec<Text> {
    arguments_from(arguments, start).iter().filter_map(TemplateItem::as_text).cloned().collect()
}
