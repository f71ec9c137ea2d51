//! The string functions of the CEL extensions. Positions count characters.

use std::sync::Arc;

use super::CelLibrary;
use crate::cost::traversal_cost;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CallCost, CelCallContext, CelFunctionBody, CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, ListVal, Val};

/// The library of string functions.
pub const STRINGS: CelLibrary =
    CelLibrary { name: "strings", functions: add_string_functions, macros: MacroSet::NONE, types: &[] };

/// The library of string functions as in the API server (version 2): without `reverse`, and `format` writes items of
/// lists and maps as CEL literals.
pub const STRINGS_2: CelLibrary = CelLibrary {
    name: "strings, version 2",
    functions: add_string_functions_v2,
    macros: MacroSet::NONE,
    types: &[],
};

fn add_string_functions(functions: &mut CelFunctions) {
    use CelKind::{List, String};
    add_common_string_functions(functions);
    add_string_search_functions(functions, string_index_of, string_last_index_of);
    functions.add(
        CelOverload::method("format", &[String, List], String, super::format::string_format)
            .cost(single_pass_cost)
            .help(FORMAT_HELP),
    );
    functions.add(
        CelOverload::method("reverse", &[String], String, string_reverse)
            .cost(single_pass_cost)
            .help("the characters from the last to the first"),
    );
}

fn add_string_functions_v2(functions: &mut CelFunctions) {
    use CelKind::{List, String};
    add_common_string_functions(functions);
    add_string_search_functions(
        functions,
        |arguments, call| search_from_valid_index(string_index_of, arguments, call),
        |arguments, call| search_from_valid_index(string_last_index_of, arguments, call),
    );
    functions.add(
        CelOverload::method("format", &[String, List], String, super::format::format_literals)
            .cost(single_pass_cost)
            .help(FORMAT_HELP),
    );
}

const FORMAT_HELP: &str = "a text with values in place of `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x` and `%X`";

fn single_pass_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    traversal_cost(size_of(arguments, 0))
}

fn add_common_string_functions(functions: &mut CelFunctions) {
    use CelKind::{Int, List, String};
    let mut method = |name, parameters, result, body, cost: CallCost, help| {
        functions.add(CelOverload::method(name, parameters, result, body).cost(cost).help(help));
    };
    let twice: CallCost = |arguments, _| traversal_cost(size_of(arguments, 0).saturating_mul(2));
    let joining: CallCost = |_, result| traversal_cost(result.size().saturating_mul(2));
    method("charAt", &[String, Int], String, string_char_at, |_, _| 1, "the character at a position");
    method("lowerAscii", &[String], String, string_lower_ascii, single_pass_cost, "A to Z in lower case");
    method("upperAscii", &[String], String, string_upper_ascii, single_pass_cost, "a to z in upper case");
    let help = "a text with another replaced, everywhere or so many times";
    method("replace", &[String, String, String], String, string_replace, twice, help);
    method("replace", &[String, String, String, Int], String, string_replace, twice, help);
    let help = "the parts of a text between separators, all or so many";
    method("split", &[String, String], List, string_split, twice, help);
    method("split", &[String, String, Int], List, string_split, twice, help);
    let help = "the characters from a position on, to before another";
    method("substring", &[String, Int], String, string_substring, single_pass_cost, help);
    method("substring", &[String, Int, Int], String, string_substring, single_pass_cost, help);
    method("trim", &[String], String, string_trim, single_pass_cost, "a text without blanks at both ends");
    let help = "texts one behind the other, with a separator or without";
    method("join", &[List], String, list_join, joining, help);
    method("join", &[List, String], String, list_join, joining, help);
    functions.add(
        CelOverload::function("strings.quote", &[String], String, string_quote)
            .cost(single_pass_cost)
            .help("a text in quotes, with escapes"),
    );
}

fn add_string_search_functions(functions: &mut CelFunctions, first: CelFunctionBody, last: CelFunctionBody) {
    use CelKind::{Int, String};
    // The cost of searching counts bytes and rounds down.
    let cost: CallCost =
        |arguments, _| arguments.first().and_then(Val::as_str).map_or(0, |text| text.len() as u64 / 10);
    for parameters in [&[String, String][..], &[String, String, Int]] {
        functions.add(
            CelOverload::method("indexOf", parameters, Int, first)
                .cost(cost)
                .help("where a text is found first; -1 for nowhere"),
        );
        functions.add(
            CelOverload::method("lastIndexOf", parameters, Int, last)
                .cost(cost)
                .help("where a text is found last; -1 for nowhere"),
        );
    }
}

/// Searches as version 2 does: a start behind the end of the string finds nothing.
fn search_from_valid_index<'a>(
    search: CelFunctionBody,
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::String(text), _, Val::Int(at)] if *at > count_text_characters(text) => Ok(Val::Int(-1)),
        _ => search(arguments, call),
    }
}

fn string_char_at<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let [Val::String(text), Val::Int(index)] = arguments else { return Err(CelFailure::mismatch()) };
    call.work(text.len() / 16)?;
    let count = text.chars().count();
    match usize::try_from(*index).ok().filter(|index| *index <= count) {
        Some(index) => Ok(Val::text(text.chars().nth(index).map(String::from).unwrap_or_default())),
        None => Err(index_range_error(*index)),
    }
}

fn index_range_error(index: i64) -> CelFailure {
    CelFailure::value(format!("index out of range: {index}"))
}

fn string_index_of<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let (text, part, start) = match arguments {
        [Val::String(text), Val::String(part)] => (text, part, 0),
        [Val::String(text), Val::String(part), Val::Int(start)] => (text, part, *start),
        _ => return Err(CelFailure::mismatch()),
    };
    charge_string_search(text, part, call)?;
    let Ok(skipped) = usize::try_from(start) else { return Err(index_range_error(start)) };
    let Some(from) = byte_index_of_character(text, skipped) else { return Err(index_range_error(start)) };
    if part.is_empty() {
        return Ok(Val::Int(start));
    }
    let found = text.get(from..).and_then(|rest| rest.find(part.as_str()));
    Ok(Val::Int(found.map_or(-1, |at| count_text_characters(text.get(..from + at).unwrap_or_default()))))
}

fn string_last_index_of<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let (text, part, last) = match arguments {
        [Val::String(text), Val::String(part)] => (text, part, None),
        [Val::String(text), Val::String(part), Val::Int(last)] => (text, part, Some(*last)),
        _ => return Err(CelFailure::mismatch()),
    };
    charge_string_search(text, part, call)?;
    let count = count_text_characters(text);
    if let Some(last) = last.filter(|last| *last < 0 || *last > count) {
        return Err(index_range_error(last));
    }
    if part.is_empty() {
        return Ok(Val::Int(last.unwrap_or(count)));
    }
    // From the end itself cel-go finds nothing, though it finds the same text without a position.
    if last == Some(count) {
        return Ok(Val::Int(-1));
    }
    let last = last.unwrap_or(count);
    // A match may start at `last` and extend beyond it.
    let Some(start) = byte_index_of_character(text, usize::try_from(last).unwrap_or(0)) else {
        return Ok(Val::Int(-1));
    };
    let end = (start + part.len()).min(text.len());
    let end = (0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let found = text.get(..end).and_then(|head| head.rfind(part.as_str()));
    let found = found.filter(|at| *at <= start);
    Ok(Val::Int(found.map_or(-1, |at| count_text_characters(text.get(..at).unwrap_or_default()))))
}

/// Charges for searching `text` for `part`. Preparing `part` takes more work per byte than scanning `text`, even
/// when `text` is too short to contain it.
fn charge_string_search(text: &str, part: &str, call: &mut CelCallContext<'_, '_>) -> Result<(), CelFailure> {
    Ok(call.work(text.len() / 16 + part.len() / 4)?)
}

/// Returns the byte offset of the character at `index`, or of the end.
fn byte_index_of_character(text: &str, index: usize) -> Option<usize> {
    if text.is_ascii() {
        return (index <= text.len()).then_some(index);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

fn count_text_characters(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn string_lower_ascii<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    map_string_argument(arguments, call, str::to_ascii_lowercase)
}

fn string_upper_ascii<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    map_string_argument(arguments, call, str::to_ascii_uppercase)
}

fn string_trim<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    map_string_argument(arguments, call, |text| text.trim().to_owned())
}

fn string_reverse<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    map_string_argument(arguments, call, |text| text.chars().rev().collect())
}

fn string_quote<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    map_string_argument(arguments, call, |text| {
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

fn map_string_argument<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
    map: fn(&str) -> String,
) -> Result<Val<'a>, CelFailure> {
    match arguments {
        [Val::String(text)] => {
            call.work(text.len() / 4)?;
            Ok(Val::text(map(text)))
        }
        _ => Err(CelFailure::mismatch()),
    }
}

fn string_replace<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let (text, old, new, count) = match arguments {
        [Val::String(text), Val::String(old), Val::String(new)] => (text, old, new, -1),
        [Val::String(text), Val::String(old), Val::String(new), Val::Int(count)] => (text, old, new, *count),
        _ => return Err(CelFailure::mismatch()),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    charge_string_search(text, old, call)?;
    let matches = text.matches(old.as_str()).take(limit).count();
    let length = text.len().saturating_add(matches.saturating_mul(new.len()));
    call.work(length / 8)?;
    call.produce(length)?;
    Ok(Val::text(text.replacen(old.as_str(), new, limit)))
}

fn string_split<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let (text, separator, count) = match arguments {
        [Val::String(text), Val::String(separator)] => (text, separator, -1),
        [Val::String(text), Val::String(separator), Val::Int(count)] => (text, separator, *count),
        _ => return Err(CelFailure::mismatch()),
    };
    charge_string_search(text, separator, call)?;
    call.work(text.len())?;
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    call.make(text.matches(separator.as_str()).take(limit).count().saturating_add(1))?;
    let parts: Vec<Val<'a>> = if limit == 0 {
        Vec::new()
    } else if separator.is_empty() {
        split_characters(text, limit)
    } else {
        text.splitn(limit, separator.as_str()).map(Val::text).collect()
    };
    Ok(Val::List(ListVal::Made(Arc::new(parts))))
}

/// Returns the characters; beyond the limit, the rest is one string.
fn split_characters<'a>(text: &str, limit: usize) -> Vec<Val<'a>> {
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

fn string_substring<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let (text, start, end) = match arguments {
        [Val::String(text), Val::Int(start)] => (text, *start, None),
        [Val::String(text), Val::Int(start), Val::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(CelFailure::mismatch()),
    };
    call.work(text.len() / 16)?;
    let place =
        |index: i64| usize::try_from(index).ok().and_then(|index| byte_index_of_character(text, index));
    let from = place(start).ok_or_else(|| index_range_error(start))?;
    let to = match end {
        Some(end) => place(end).ok_or_else(|| index_range_error(end))?,
        None => text.len(),
    };
    match text.get(from..to) {
        Some(part) => Ok(Val::text(part)),
        None => Err(CelFailure::value(format!("invalid substring range: {start} to {}", end.unwrap_or(0)))),
    }
}

fn list_join<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let (list, separator) = match arguments {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, separator.as_str()),
        _ => return Err(CelFailure::mismatch()),
    };
    let mut out = String::new();
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        let Val::String(text) = item else { return Err(CelFailure::mismatch()) };
        call.work(1 + (text.len() + separator.len()) / 8)?;
        call.produce(text.len() + separator.len())?;
        out.push_str(&text);
    }
    Ok(Val::text(out))
}
