//! More of texts. Positions count characters.

use std::sync::Arc;

use super::Library;
use crate::cost::traversal;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Body, Call, CallCost, Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, List, Val};

/// The library of texts.
pub const STRINGS: Library = Library { name: "strings", functions: add, macros: Macros::NONE, types: &[] };

/// The library of texts as the API server has it: no `reverse`, and `format` writes what is in lists and maps as CEL
/// would have it written.
pub const STRINGS_2: Library =
    Library { name: "strings, version 2", functions: add_version_2, macros: Macros::NONE, types: &[] };

fn add(functions: &mut Functions) {
    use Kind::{List, String};
    add_common(functions);
    add_searching(functions, index_of, last_index_of);
    functions.add(
        Overload::method("format", &[String, List], String, super::format::format).cost(once).help(FORMAT),
    );
    functions.add(
        Overload::method("reverse", &[String], String, reverse)
            .cost(once)
            .help("the characters from the last to the first"),
    );
}

fn add_version_2(functions: &mut Functions) {
    use Kind::{List, String};
    add_common(functions);
    add_searching(
        functions,
        |arguments, call| not_behind(index_of, arguments, call),
        |arguments, call| not_behind(last_index_of, arguments, call),
    );
    functions.add(
        Overload::method("format", &[String, List], String, super::format::format_literals)
            .cost(once)
            .help(FORMAT),
    );
}

const FORMAT: &str = "a text with values in place of `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x` and `%X`";

fn once(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    traversal(size_of(arguments, 0))
}

fn add_common(functions: &mut Functions) {
    use Kind::{Int, List, String};
    let mut method = |name, parameters, result, body, cost: CallCost, help| {
        functions.add(Overload::method(name, parameters, result, body).cost(cost).help(help));
    };
    let twice: CallCost = |arguments, _| traversal(size_of(arguments, 0).saturating_mul(2));
    let joining: CallCost = |_, result| traversal(result.size().saturating_mul(2));
    method("charAt", &[String, Int], String, char_at, |_, _| 1, "the character at a position");
    method("lowerAscii", &[String], String, lower, once, "A to Z in lower case");
    method("upperAscii", &[String], String, upper, once, "a to z in upper case");
    let help = "a text with another replaced, everywhere or so many times";
    method("replace", &[String, String, String], String, replace, twice, help);
    method("replace", &[String, String, String, Int], String, replace, twice, help);
    let help = "the parts of a text between separators, all or so many";
    method("split", &[String, String], List, split, twice, help);
    method("split", &[String, String, Int], List, split, twice, help);
    let help = "the characters from a position on, to before another";
    method("substring", &[String, Int], String, substring, once, help);
    method("substring", &[String, Int, Int], String, substring, once, help);
    method("trim", &[String], String, trim, once, "a text without blanks at both ends");
    let help = "texts one behind the other, with a separator or without";
    method("join", &[List], String, join, joining, help);
    method("join", &[List, String], String, join, joining, help);
    functions.add(
        Overload::function("strings.quote", &[String], String, quote)
            .cost(once)
            .help("a text in quotes, with escapes"),
    );
}

fn add_searching(functions: &mut Functions, first: Body, last: Body) {
    use Kind::{Int, String};
    // Searching rounds down, and counts bytes.
    let cost: CallCost =
        |arguments, _| arguments.first().and_then(Val::as_str).map_or(0, |text| text.len() as u64 / 10);
    for parameters in [&[String, String][..], &[String, String, Int]] {
        functions.add(
            Overload::method("indexOf", parameters, Int, first)
                .cost(cost)
                .help("where a text is found first; -1 for nowhere"),
        );
        functions.add(
            Overload::method("lastIndexOf", parameters, Int, last)
                .cost(cost)
                .help("where a text is found last; -1 for nowhere"),
        );
    }
}

/// Searches as version 2 does: nothing is found behind the end.
fn not_behind<'a>(search: Body, arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::String(text), _, Val::Int(at)] if *at > characters(text) => Ok(Val::Int(-1)),
        _ => search(arguments, call),
    }
}

fn char_at<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let [Val::String(text), Val::Int(index)] = arguments else { return Err(Failure::mismatch()) };
    call.work(text.len() / 16)?;
    let count = text.chars().count();
    match usize::try_from(*index).ok().filter(|index| *index <= count) {
        Some(index) => Ok(Val::text(text.chars().nth(index).map(String::from).unwrap_or_default())),
        None => Err(out_of_range(*index)),
    }
}

fn out_of_range(index: i64) -> Failure {
    Failure::value(format!("index out of range: {index}"))
}

fn index_of<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (text, part, start) = match arguments {
        [Val::String(text), Val::String(part)] => (text, part, 0),
        [Val::String(text), Val::String(part), Val::Int(start)] => (text, part, *start),
        _ => return Err(Failure::mismatch()),
    };
    search(text, part, call)?;
    let Ok(skipped) = usize::try_from(start) else { return Err(out_of_range(start)) };
    let Some(from) = byte_of(text, skipped) else { return Err(out_of_range(start)) };
    if part.is_empty() {
        return Ok(Val::Int(start));
    }
    let found = text.get(from..).and_then(|rest| rest.find(part.as_str()));
    Ok(Val::Int(found.map_or(-1, |at| characters(text.get(..from + at).unwrap_or_default()))))
}

fn last_index_of<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (text, part, last) = match arguments {
        [Val::String(text), Val::String(part)] => (text, part, None),
        [Val::String(text), Val::String(part), Val::Int(last)] => (text, part, Some(*last)),
        _ => return Err(Failure::mismatch()),
    };
    search(text, part, call)?;
    let count = characters(text);
    if let Some(last) = last.filter(|last| *last < 0 || *last > count) {
        return Err(out_of_range(last));
    }
    let last = last.unwrap_or(count);
    if part.is_empty() {
        return Ok(Val::Int(last));
    }
    // A match may start at `last` and go on behind it.
    let Some(start) = byte_of(text, usize::try_from(last).unwrap_or(0)) else { return Ok(Val::Int(-1)) };
    let end = (start + part.len()).min(text.len());
    let end = (0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let found = text.get(..end).and_then(|head| head.rfind(part.as_str()));
    let found = found.filter(|at| *at <= start);
    Ok(Val::Int(found.map_or(-1, |at| characters(text.get(..at).unwrap_or_default()))))
}

/// Charges for searching `text` for `part`. What is searched for is looked at more closely than what is searched, even
/// where the text is too short to have it.
fn search(text: &str, part: &str, call: &mut Call<'_, '_>) -> Result<(), Failure> {
    Ok(call.work(text.len() / 16 + part.len() / 4)?)
}

/// Returns where the character at `index` starts; the end for the one behind the last.
fn byte_of(text: &str, index: usize) -> Option<usize> {
    if text.is_ascii() {
        return (index <= text.len()).then_some(index);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

fn characters(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn lower<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    mapped(arguments, call, str::to_ascii_lowercase)
}

fn upper<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    mapped(arguments, call, str::to_ascii_uppercase)
}

fn trim<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    mapped(arguments, call, |text| text.trim().to_owned())
}

fn reverse<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    mapped(arguments, call, |text| text.chars().rev().collect())
}

fn quote<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    mapped(arguments, call, |text| {
        let mut out = String::with_capacity(text.len() + 2);
        out.push('"');
        for c in text.chars() {
            match c {
                '\u{7}' => out.push_str("\\a"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{b}' => out.push_str("\\v"),
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                c => out.push(c),
            }
        }
        out.push('"');
        out
    })
}

fn mapped<'a>(
    arguments: &[Val<'a>],
    call: &mut Call<'_, 'a>,
    map: fn(&str) -> String,
) -> Result<Val<'a>, Failure> {
    match arguments {
        [Val::String(text)] => {
            call.work(text.len() / 4)?;
            Ok(Val::text(map(text)))
        }
        _ => Err(Failure::mismatch()),
    }
}

fn replace<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (text, old, new, count) = match arguments {
        [Val::String(text), Val::String(old), Val::String(new)] => (text, old, new, -1),
        [Val::String(text), Val::String(old), Val::String(new), Val::Int(count)] => (text, old, new, *count),
        _ => return Err(Failure::mismatch()),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    search(text, old, call)?;
    let matches = text.matches(old.as_str()).take(limit).count();
    let length = text.len().saturating_add(matches.saturating_mul(new.len()));
    call.work(length / 8)?;
    call.produce(length)?;
    Ok(Val::text(text.replacen(old.as_str(), new, limit)))
}

fn split<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (text, separator, count) = match arguments {
        [Val::String(text), Val::String(separator)] => (text, separator, -1),
        [Val::String(text), Val::String(separator), Val::Int(count)] => (text, separator, *count),
        _ => return Err(Failure::mismatch()),
    };
    search(text, separator, call)?;
    call.work(text.len())?;
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    call.make(text.matches(separator.as_str()).take(limit).count().saturating_add(1))?;
    let parts: Vec<Val<'a>> = if limit == 0 {
        Vec::new()
    } else if separator.is_empty() {
        letters(text, limit)
    } else {
        text.splitn(limit, separator.as_str()).map(Val::text).collect()
    };
    Ok(Val::List(List::Made(Arc::new(parts))))
}

/// Returns each character; what is over the limit stays together.
fn letters<'a>(text: &str, limit: usize) -> Vec<Val<'a>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if parts.len() + 1 == limit {
            parts.push(Val::text(rest));
            break;
        }
        let (head, tail) = rest.split_at_checked(c.len_utf8()).unwrap_or((rest, ""));
        parts.push(Val::text(head));
        rest = tail;
    }
    parts
}

fn substring<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (text, start, end) = match arguments {
        [Val::String(text), Val::Int(start)] => (text, *start, None),
        [Val::String(text), Val::Int(start), Val::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(Failure::mismatch()),
    };
    call.work(text.len() / 16)?;
    let place = |index: i64| usize::try_from(index).ok().and_then(|index| byte_of(text, index));
    let from = place(start).ok_or_else(|| out_of_range(start))?;
    let to = match end {
        Some(end) => place(end).ok_or_else(|| out_of_range(end))?,
        None => text.len(),
    };
    match text.get(from..to) {
        Some(part) => Ok(Val::text(part)),
        None => Err(Failure::value(format!("invalid substring range: {start} to {}", end.unwrap_or(0)))),
    }
}

fn join<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (list, separator) = match arguments {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, separator.as_str()),
        _ => return Err(Failure::mismatch()),
    };
    let mut out = String::new();
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        let Val::String(text) = item else { return Err(Failure::mismatch()) };
        call.work(1 + (text.len() + separator.len()) / 8)?;
        call.produce(text.len() + separator.len())?;
        out.push_str(&text);
    }
    Ok(Val::text(out))
}
