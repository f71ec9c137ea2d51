//! Why an operation cannot be done, in the words of the path.

use std::fmt::Write as _;

use kubewright_value::suggest::nearest;
use kubewright_value::{Exhausted, Kind, Map, Step, Text, Value, bounded};

use super::{MOST_PLACES, Op, PatchError, PatchErrorKind, Path, Segment, filter};
use crate::Pointer;

/// How many keys or values are looked at for a suggestion, and how many are told.
const LOOKED_AT: usize = 200;
const TOLD: usize = 5;

/// How much of a value is told.
const TOLD_LETTERS: usize = 60;

/// A list in which no item is chosen.
pub(super) struct Missed {
    /// The filter or `[*]`.
    pub(super) segment: usize,
    /// Where the list is.
    pub(super) list: Vec<Step>,
    /// How many more such lists there are.
    pub(super) others: usize,
}

impl Missed {
    /// Returns the failure, if no item is chosen in any list of `document`.
    pub(super) fn into_error(self, path: &Path, document: &Value) -> PatchError {
        let items = document.follow(&self.list).and_then(Value::as_array).unwrap_or_default();
        let place = place(&self.list);
        let written = written(path, self.segment);
        let others = match self.others {
            0 => String::new(),
            1 => ", nor in 1 other list".to_owned(),
            others => format!(", nor in {others} other lists"),
        };
        let error =
            |message| error(path, self.segment, PatchErrorKind::NoMatch, format!("{message}{others}"));
        match segment(path, self.segment) {
            _ if items.is_empty() => error(format!("`{written}` chooses nothing: {place} is an empty list")),
            Some(Segment::Filter { field, value }) => {
                let count = match items.len() {
                    1 => "the only item".to_owned(),
                    count => format!("any of the {count} items"),
                };
                let mut error = error(format!("`{written}` does not match {count} of {place}"));
                error.help = Some(suggestion(items, field, value));
                error
            }
            _ => error(format!("`{written}` chooses nothing in {place}")),
        }
    }
}

/// Says what the field is in the items that there are, or that there is no such field.
fn suggestion(items: &[Value], field: &[Text], wanted: &Text) -> String {
    let name = field.join(".");
    let found = items.iter().take(LOOKED_AT).filter_map(|item| filter::field_of(item, field));
    let texts: Vec<String> = found.map(text).collect();
    if texts.is_empty() {
        let first = field.first().map_or("", |name| name.as_str());
        let keys = items.iter().take(LOOKED_AT).filter_map(Value::as_object).flat_map(Map::keys);
        return match nearest(first, keys.take(LOOKED_AT).map(Text::as_str).filter(|key| *key != first)) {
            Some(near) => format!("no item has the field `{name}`; did you mean `{near}`?"),
            None => format!("no item has the field `{name}`"),
        };
    }
    if let Some(near) = nearest(wanted, texts.iter().map(String::as_str)) {
        return format!("did you mean `{near}`?");
    }
    let mut told = String::new();
    for (number, text) in texts.iter().take(TOLD).enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let _ = write!(told, "{comma}`{text}`");
    }
    let more = if texts.len() > TOLD { ", …" } else { "" };
    format!("`{name}` is {told}{more}")
}

/// Returns a value as a filter sees it, not too long.
fn text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.to_string(),
        Value::Null => String::new(),
        Value::Array(_) | Value::Object(_) => format!("an {}", value.kind()),
        other => bounded::shortened_json(other, TOLD_LETTERS),
    };
    if text.chars().count() <= TOLD_LETTERS {
        return text;
    }
    text.chars().take(TOLD_LETTERS).chain(['…']).collect()
}

pub(super) fn missing(path: &Path, number: usize, parent: &[Step], key: &Text, siblings: &Map) -> PatchError {
    let message = format!("{} has no key `{key}`", place(parent));
    let mut error = error(path, number, PatchErrorKind::Missing, message);
    let near = nearest(key, siblings.keys().take(LOOKED_AT).map(Text::as_str));
    error.help = Some(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if leads_into_a_list(path, number) => {
            format!("`replace` needs something that is there; `add` a whole `{key}`")
        }
        None => "`replace` needs something that is there; `add` sets it in any case".to_owned(),
    });
    error
}

/// Returns whether an item of a list is chosen behind segment `number`, which `add` would not make.
fn leads_into_a_list(path: &Path, number: usize) -> bool {
    path.segments().skip(number.saturating_add(1)).any(|segment| !matches!(segment, Segment::Key(_)))
}

pub(super) fn not_an_object(
    path: &Path,
    number: usize,
    parent: &[Step],
    key: &Text,
    found: &Value,
) -> PatchError {
    let message = format!("{} is {}, which has no key `{key}`", place(parent), a(found.kind()));
    let mut error = error(path, number, PatchErrorKind::NotAnObject, message);
    if found.kind() == Kind::Array {
        error.help =
            Some(format!("choose items with an index, `[*]` or a filter such as `[?(@.name=='{key}')]`"));
    }
    error
}

pub(super) fn not_a_list(
    path: &Path,
    number: usize,
    document: &Value,
    steps: &[Step],
    found: Option<&Value>,
) -> PatchError {
    let is = found.map_or("missing", |found| a(found.kind()));
    let message = format!("`{}` needs a list, and {} is {is}", written(path, number), place(steps));
    let mut error = error(path, number, PatchErrorKind::NotAList, message);
    error.help = match segment(path, number) {
        Some(Segment::Append) => Some("a key `-` is written `['-']`".to_owned()),
        _ if found.is_none() => near_missing(document, steps),
        _ => None,
    };
    error
}

/// Returns how `add` makes a key of segment `number`, if that could be an index.
pub(super) fn or_a_key(path: &Path, number: usize) -> Option<String> {
    match segment(path, number)? {
        Segment::Number(key, _) => Some(format!("to make an object with this key, write `['{key}']`")),
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
                let keys = here.as_object()?.keys().take(LOOKED_AT).map(Text::as_str);
                return nearest(key, keys).map(|near| format!("did you mean `{near}` instead of `{key}`?"));
            }
            (None, Step::Index(_)) => return None,
        }
    }
    None
}

pub(super) fn out_of_range(path: &Path, number: usize, op: Op, parent: &[Step], len: usize) -> PatchError {
    let items = match len {
        0 => "no items".to_owned(),
        1 => "1 item".to_owned(),
        len => format!("{len} items"),
    };
    let message = format!("index `{}` is out of range: {} has {items}", written(path, number), place(parent));
    let mut error = error(path, number, PatchErrorKind::OutOfRange, message);
    let appends = if op == Op::Add { "`-` appends; " } else { "" };
    error.help = Some(format!("{appends}a filter such as `[?(@.name=='app')]` does not depend on the order"));
    error
}

pub(super) fn append(path: &Path, number: usize, op: Op) -> PatchError {
    let message = format!("`-` is the place after the last item, where there is nothing to {}", op.verb());
    error(path, number, PatchErrorKind::Unfit, message)
}

pub(super) fn not_mergeable(path: &Path, kind: Kind) -> PatchError {
    let message = format!("only an object can be merged, and the value is {}", a(kind));
    error(path, path.segments.len().saturating_sub(1), PatchErrorKind::Unfit, message)
}

pub(super) fn too_many_places(path: &Path, number: usize) -> PatchError {
    error(path, number, PatchErrorKind::Limit, format!("the path means more than {MOST_PLACES} places"))
}

pub(super) fn limit(path: &Path, number: usize, exhausted: Exhausted) -> PatchError {
    error(path, number, PatchErrorKind::Limit, exhausted.to_string())
}

fn error(path: &Path, segment: usize, kind: PatchErrorKind, message: String) -> PatchError {
    let (position, length) = path.position(segment);
    PatchError { kind, message, help: None, segment, position, length }
}

fn segment(path: &Path, number: usize) -> Option<&Segment> {
    path.segments.get(number).map(|written| &written.segment)
}

/// Returns segment `number` as it is written.
fn written(path: &Path, number: usize) -> &str {
    let found = path.segments.get(number).and_then(|written| path.text.get(written.start..written.end));
    found.unwrap_or_default()
}

/// Returns the words for the value at `steps`.
fn place(steps: &[Step]) -> String {
    if steps.is_empty() { "the document".to_owned() } else { format!("`{}`", Pointer::from_steps(steps)) }
}

fn a(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "a boolean",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "a list",
        Kind::Object => "an object",
    }
}
