//! Why an expression is false or has no value, as notes of a trace: which element decided, and the values of the parts.

use kubewright_cel::{CelLoopElement, CelReason, ListVal, MapVal, Val};
use kubewright_dialect_kit::notes::TraceNote;
use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::text::{PathStyle, path_text};
use kubewright_value::{Step, Value};

use super::scope::FAILED_VARIABLE;

/// The reasons that are shown of one expression.
const MAX_REASONS: usize = 40;

/// How deep an object is searched for a part of it.
const MAX_SEARCH_DEPTH: usize = 64;

/// Makes notes of the reasons of one expression.
pub(super) struct ReasonNotes<'a> {
    object: &'a Value,
    /// The place of the expression in its document.
    at: &'a [Step],
    left: usize,
}

impl<'a> ReasonNotes<'a> {
    /// Returns the notes of why an expression at `at` has its value for `object`.
    pub(super) fn of(reason: &CelReason<'_>, object: &'a Value, at: &'a [Step]) -> Vec<TraceNote> {
        let mut notes = Self { object, at, left: MAX_REASONS };
        if reason.children.is_empty() {
            let is_said = reason.place.is_none() && reason.counted.is_none();
            return if is_said { Vec::new() } else { vec![notes.note(reason)] };
        }
        let values = notes.values(reason);
        let mut made = notes.below(reason);
        if !values.is_empty() {
            made.insert(0, TraceNote { what: values, found: String::new(), ..notes.note_of(reason) });
        }
        made
    }

    /// Returns the notes of the parts that are true, false or have no value.
    fn below(&mut self, reason: &CelReason<'_>) -> Vec<TraceNote> {
        let mut notes = Vec::new();
        for child in reason.children.iter().filter(|child| !is_failed_variable(child)) {
            if matches!(child.value, Ok(Val::Bool(_)) | Err(_)) && !child.is_constant {
                if self.left == 0 {
                    break;
                }
                self.left -= 1;
                notes.push(self.note(child));
            } else {
                notes.extend(self.below(child));
            }
        }
        notes
    }

    fn note(&mut self, reason: &CelReason<'_>) -> TraceNote {
        let values = self.values(reason);
        let mut note = self.note_of(reason);
        if !values.is_empty() {
            note.found = format!("{}: {values}", note.found);
        }
        note.children = self.below(reason);
        // A path and its only reason are one line.
        if reason.element.is_none() && note.verdict == TraceVerdict::Error && note.children.len() == 1 {
            return note.children.pop().unwrap_or(note);
        }
        note
    }

    fn note_of(&self, reason: &CelReason<'_>) -> TraceNote {
        let (found, verdict) = match &reason.value {
            Ok(Val::Bool(true)) => (self.outcome(reason, true), TraceVerdict::Yes),
            Ok(Val::Bool(false)) => (self.outcome(reason, false), TraceVerdict::No),
            Ok(value) => (shown(value), TraceVerdict::Done),
            Err(error) => {
                (self.missing(reason).unwrap_or_else(|| error.message.clone()), TraceVerdict::Error)
            }
        };
        let what = match &reason.element {
            Some(element) => {
                format!("for {} = {}: {}", element.variable, self.element(element), reason.text)
            }
            None => reason.text.clone(),
        };
        let help = match reason.optional_form.as_str() {
            form if reason.is_missing() && !form.is_empty() => format!("write `{form}`"),
            _ => String::new(),
        };
        TraceNote {
            found,
            help,
            subject: self.subject(reason),
            ..TraceNote::new(what, verdict, self.at.to_vec())
        }
    }

    /// Returns the result of a part, and what is special about it.
    fn outcome(&self, reason: &CelReason<'_>, holds: bool) -> String {
        match reason.counted {
            Some((_, 0)) => format!("{holds}: there is nothing to look at"),
            Some((count, all)) => format!("{holds}: it is true for {count} of {all}"),
            None => holds.to_string(),
        }
    }

    /// Returns `a is 1, b is 2` for the parts that are values.
    fn values(&self, reason: &CelReason<'_>) -> String {
        let is_value =
            |child: &&CelReason<'_>| !child.is_constant && !matches!(child.value, Ok(Val::Bool(_)) | Err(_));
        let one = |child: &CelReason<'_>| {
            let Ok(value) = &child.value else { return child.text.clone() };
            format!("{} is {}{}", child.text, shown(value), self.left_out(child))
        };
        let values: Vec<String> = reason.children.iter().filter(is_value).map(one).collect();
        values.join(", ")
    }

    /// Returns the elements that a `filter` left out, in `reason` or right below it.
    fn left_out(&self, reason: &CelReason<'_>) -> String {
        let inner = reason.children.iter().flat_map(|child| &child.children);
        let left_out: Vec<String> = reason
            .children
            .iter()
            .chain(inner)
            .filter(|child| matches!(child.value, Ok(Val::Bool(false))))
            .filter_map(|child| child.element.as_ref().map(|element| self.element(element)))
            .collect();
        if left_out.is_empty() { String::new() } else { format!(" without {}", left_out.join(", ")) }
    }

    /// Returns which key is missing where; nothing when no key of the object is.
    fn missing(&self, reason: &CelReason<'_>) -> Option<String> {
        let (anchor, below) = reason.place.as_ref().filter(|_| reason.is_missing())?;
        let first = match below.first()? {
            Step::Key(key) => key.to_string(),
            Step::Index(index) => format!("[{index}]"),
        };
        let path = find_part(self.object, anchor)?;
        match path.is_empty() {
            true => Some(format!("the object has no `{first}`")),
            false => {
                let name =
                    if matches!(path.last(), Some(Step::Index(_))) { named(anchor) } else { String::new() };
                Some(format!("{}{name} has no `{first}`", path_text(&path, PathStyle::Quoted)))
            }
        }
    }

    /// Returns the element in words: `spec.containers[1] ("envoy")`.
    fn element(&self, element: &CelLoopElement<'_>) -> String {
        match find_part(self.object, &element.value) {
            Some(path) if !path.is_empty() => {
                format!("{}{}", path_text(&path, PathStyle::Quoted), named(&element.value))
            }
            _ if matches!(element.value, Val::Map(_) | Val::List(_)) => {
                format!("{}[{}]{}", element.range, element.index, named(&element.value))
            }
            _ => format!("{}, item {} of {}", shown(&element.value), element.index, element.range),
        }
    }

    /// Returns the path in the object of what was read.
    fn subject(&self, reason: &CelReason<'_>) -> Vec<Step> {
        let own = reason.place.as_ref().and_then(|(anchor, below)| {
            let mut path = find_part(self.object, anchor)?;
            path.extend(below.iter().cloned());
            Some(path)
        });
        let of_element = || reason.element.as_ref().and_then(|one| find_part(self.object, &one.value));
        let below = || reason.children.iter().map(|one| self.subject(one)).find(|path| !path.is_empty());
        own.filter(|path| !path.is_empty()).or_else(of_element).or_else(below).unwrap_or_default()
    }
}

/// Returns whether a part is a variable without a value; the note of the variable says why.
fn is_failed_variable(reason: &CelReason<'_>) -> bool {
    reason.value.as_ref().is_err_and(|error| error.message.starts_with(FAILED_VARIABLE))
}

/// Returns the name of an element, if it has one.
fn named(value: &Val<'_>) -> String {
    let name = match value {
        Val::Map(map) => map.field("name"),
        _ => None,
    };
    name.as_ref().and_then(Val::as_str).map_or_else(String::new, |name| format!(" `{name}`"))
}

fn shown(value: &Val<'_>) -> String {
    match value {
        Val::Optional(None) => "not set".to_owned(),
        Val::Optional(Some(value)) => shown(value),
        value => {
            value.to_value().map_or_else(|_| TraceNode::show_debug(value), |value| TraceNode::show(&value))
        }
    }
}

/// Returns the path of `part` in `object`: the very list or map, not one that is equal to it.
fn find_part(object: &Value, part: &Val<'_>) -> Option<Vec<Step>> {
    let is_it = |value: &Value| match (value, part) {
        (Value::Object(map), Val::Map(MapVal::Borrowed(part))) => std::ptr::eq(map, *part),
        (Value::Array(list), Val::List(ListVal::Borrowed(part))) => std::ptr::eq(list, *part),
        _ => false,
    };
    let mut path = Vec::new();
    find_below(object, &is_it, &mut path).then_some(path)
}

fn find_below(value: &Value, is_it: &impl Fn(&Value) -> bool, path: &mut Vec<Step>) -> bool {
    if is_it(value) {
        return true;
    }
    if path.len() >= MAX_SEARCH_DEPTH {
        return false;
    }
    let mut search = |step: Step, below: &Value| {
        path.push(step);
        let is_found = find_below(below, is_it, path);
        if !is_found {
            path.pop();
        }
        is_found
    };
    match value {
        Value::Object(map) => map.iter().any(|(key, below)| search(Step::Key(key.clone()), below)),
        Value::Array(list) => list.iter().enumerate().any(|(index, below)| search(Step::Index(index), below)),
        _ => false,
    }
}
