//! The errors of operations, in terms of the path.

use std::fmt::Write as _;

use kubewright_value::suggest::did_you_mean;
use kubewright_value::suggest::nearest_word;
use kubewright_value::{Exhausted, Map, Step, Text, Value, ValueKind, bounded};

use super::{MAX_PLACES, PatchPath, PathOp, PathPatchError, PathPatchErrorKind, PathSegment, filter};
use crate::Pointer;

/// The number of keys or values compared for a suggestion, and the number listed in a message.
const MAX_COMPARED_ENTRIES: usize = 200;
const MAX_LISTED_VALUES: usize = 5;

/// The number of characters of a value in a message.
const MAX_VALUE_CHARS: usize = 60;

/// A list in which no item is chosen.
pub(super) struct UnmatchedList {
    /// The filter or `[*]`.
    pub(super) segment: usize,
    /// The path to the list.
    pub(super) list: Vec<Step>,
    /// The number of further such lists.
    pub(super) others: usize,
}

impl UnmatchedList {
    /// Returns the failure, if no item is chosen in any list of `document`.
    pub(super) fn into_error(self, path: &PatchPath, document: &Value) -> PathPatchError {
        let items = document.follow(&self.list).and_then(Value::as_array).unwrap_or_default();
        let place = describe_place(&self.list);
        let written = written_segment(path, self.segment);
        let others = match self.others {
            0 => String::new(),
            1 => ", nor in 1 other list".to_owned(),
            others => format!(", nor in {others} other lists"),
        };
        let error = |message| {
            path_error(path, self.segment, PathPatchErrorKind::NoMatch, format!("{message}{others}"))
        };
        match segment_at(path, self.segment) {
            _ if items.is_empty() => error(format!("`{written}` chooses nothing: {place} is an empty list")),
            Some(PathSegment::Filter { field, value }) => {
                let count = match items.len() {
                    1 => "the only item".to_owned(),
                    count => format!("any of the {count} items"),
                };
                let mut error = error(format!("`{written}` does not match {count} of {place}"));
                error.help = Some(filter_help(items, field, value));
                error
            }
            _ => error(format!("`{written}` chooses nothing in {place}")),
        }
    }
}

/// Returns help with the values of the field in the items, or saying that no item has the field.
fn filter_help(items: &[Value], field: &[Text], wanted: &Text) -> String {
    let name = field.join(".");
    let found = items.iter().take(MAX_COMPARED_ENTRIES).filter_map(|item| filter::field_of(item, field));
    let texts: Vec<String> = found.map(shortened_filter_text).collect();
    if texts.is_empty() {
        let first = field.first().map_or("", |name| name.as_str());
        let keys = items.iter().take(MAX_COMPARED_ENTRIES).filter_map(Value::as_object).flat_map(Map::keys);
        return match nearest_word(
            first,
            keys.take(MAX_COMPARED_ENTRIES).map(Text::as_str).filter(|key| *key != first),
        ) {
            Some(near) => format!("no item has the field `{name}`; did you mean `{near}`?"),
            None => format!("no item has the field `{name}`"),
        };
    }
    if let Some(near) = nearest_word(wanted, texts.iter().map(String::as_str)) {
        return did_you_mean(near);
    }
    let mut told = String::new();
    for (number, text) in texts.iter().take(MAX_LISTED_VALUES).enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let _ = write!(told, "{comma}`{text}`");
    }
    let more = if texts.len() > MAX_LISTED_VALUES { ", …" } else { "" };
    format!("`{name}` is {told}{more}")
}

/// Returns a value as a filter sees it, not too long.
fn shortened_filter_text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.to_string(),
        Value::Null => String::new(),
        Value::Array(_) | Value::Object(_) => format!("an {}", value.kind()),
        other => bounded::shortened_json(other, MAX_VALUE_CHARS),
    };
    if text.chars().count() <= MAX_VALUE_CHARS {
        return text;
    }
    text.chars().take(MAX_VALUE_CHARS).chain(['…']).collect()
}

pub(super) fn missing_key(
    path: &PatchPath,
    number: usize,
    parent: &[Step],
    key: &Text,
    siblings: &Map,
) -> PathPatchError {
    let message = format!("{} has no key `{key}`", describe_place(parent));
    let mut error = path_error(path, number, PathPatchErrorKind::Missing, message);
    let near = nearest_word(key, siblings.keys().take(MAX_COMPARED_ENTRIES).map(Text::as_str));
    error.help = Some(match near {
        Some(near) => did_you_mean(near),
        None if leads_into_a_list(path, number) => {
            format!("`replace` needs something that is there; `add` a whole `{key}`")
        }
        None => "`replace` needs something that is there; `add` sets it in any case".to_owned(),
    });
    error
}

/// Returns whether an item of a list is chosen behind segment `number`, which `add` would not make.
fn leads_into_a_list(path: &PatchPath, number: usize) -> bool {
    path.segments().skip(number.saturating_add(1)).any(|segment| !matches!(segment, PathSegment::Key(_)))
}

pub(super) fn not_an_object(
    path: &PatchPath,
    number: usize,
    parent: &[Step],
    key: &Text,
    found: &Value,
) -> PathPatchError {
    let message = format!(
        "{} is {}, which has no key `{key}`",
        describe_place(parent),
        kind_with_article(found.kind())
    );
    let mut error = path_error(path, number, PathPatchErrorKind::NotAnObject, message);
    if found.kind() == ValueKind::Array {
        error.help =
            Some(format!("choose items with an index, `[*]` or a filter such as `[?(@.name=='{key}')]`"));
    }
    error
}

pub(super) fn not_a_list(
    path: &PatchPath,
    number: usize,
    document: &Value,
    steps: &[Step],
    found: Option<&Value>,
) -> PathPatchError {
    let is = found.map_or("missing", |found| kind_with_article(found.kind()));
    let message =
        format!("`{}` needs a list, and {} is {is}", written_segment(path, number), describe_place(steps));
    let mut error = path_error(path, number, PathPatchErrorKind::NotAList, message);
    error.help = match segment_at(path, number) {
        Some(PathSegment::Append) => Some("a key `-` is written `['-']`".to_owned()),
        _ if found.is_none() => near_missing(document, steps),
        _ => None,
    };
    error
}

/// Returns how `add` makes a key of segment `number`, if that could be an index.
pub(super) fn key_help(path: &PatchPath, number: usize) -> Option<String> {
    match segment_at(path, number)? {
        PathSegment::Number(key, _) => Some(format!("to make an object with this key, write `['{key}']`")),
        _ => None,
    }
}

/// Returns which key may have been meant by the first one of `steps` that is missing.
fn near_missing(document: &Value, steps: &[Step]) -> Option<String> {
    let mut here = document;
    for step in steps {
        match (here.follow(std::slice::from_ref(step)), step) {
            (Some(part), _) => here = part,
            (None, Step::Key(key)) => {
                let keys = here.as_object()?.keys().take(MAX_COMPARED_ENTRIES).map(Text::as_str);
                return nearest_word(key, keys)
                    .map(|near| format!("did you mean `{near}` instead of `{key}`?"));
            }
            (None, Step::Index(_)) => return None,
        }
    }
    None
}

pub(super) fn path_index_out_of_range(
    path: &PatchPath,
    number: usize,
    op: PathOp,
    parent: &[Step],
    len: usize,
) -> PathPatchError {
    let items = match len {
        0 => "no items".to_owned(),
        1 => "1 item".to_owned(),
        len => format!("{len} items"),
    };
    let message = format!(
        "index `{}` is out of range: {} has {items}",
        written_segment(path, number),
        describe_place(parent)
    );
    let mut error = path_error(path, number, PathPatchErrorKind::OutOfRange, message);
    let appends = if op == PathOp::Add { "`-` appends; " } else { "" };
    error.help = Some(format!("{appends}a filter such as `[?(@.name=='app')]` does not depend on the order"));
    error
}

pub(super) fn append_not_possible(path: &PatchPath, number: usize, op: PathOp) -> PathPatchError {
    let message = format!("`-` is the place after the last item, where there is nothing to {}", op.verb());
    path_error(path, number, PathPatchErrorKind::Unfit, message)
}

pub(super) fn not_mergeable(path: &PatchPath, kind: ValueKind) -> PathPatchError {
    let message = format!("only an object can be merged, and the value is {}", kind_with_article(kind));
    path_error(path, path.segments.len().saturating_sub(1), PathPatchErrorKind::Unfit, message)
}

pub(super) fn too_many_places(path: &PatchPath, number: usize) -> PathPatchError {
    path_error(
        path,
        number,
        PathPatchErrorKind::Limit,
        format!("the path means more than {MAX_PLACES} places"),
    )
}

pub(super) fn budget_exceeded(path: &PatchPath, number: usize, exhausted: Exhausted) -> PathPatchError {
    path_error(path, number, PathPatchErrorKind::Limit, exhausted.to_string())
}

fn path_error(path: &PatchPath, segment: usize, kind: PathPatchErrorKind, message: String) -> PathPatchError {
    let (position, length) = path.position(segment);
    PathPatchError { kind, message, help: None, segment, position, length }
}

fn segment_at(path: &PatchPath, number: usize) -> Option<&PathSegment> {
    path.segments.get(number).map(|written| &written.segment)
}

/// Returns segment `number` as it is written.
fn written_segment(path: &PatchPath, number: usize) -> &str {
    let found = path.segments.get(number).and_then(|written| path.text.get(written.start..written.end));
    found.unwrap_or_default()
}

/// Returns the words for the value at `steps`.
fn describe_place(steps: &[Step]) -> String {
    if steps.is_empty() { "the document".to_owned() } else { format!("`{}`", Pointer::from_steps(steps)) }
}

fn kind_with_article(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Null => "null",
        ValueKind::Bool => "a boolean",
        ValueKind::Number => "a number",
        ValueKind::String => "a string",
        ValueKind::Array => "a list",
        ValueKind::Object => "an object",
    }
}
