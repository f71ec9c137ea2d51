//! Positions in a list as object and field, because users never see the text of the list.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::text::{PathStyle, path_text, write_path};
use kubewright_value::{Document, Location, Position, Step, Value};

use super::list::ResourceList;

/// The field of a list that says what to do.
const CONFIG: &str = "functionConfig";

/// A place in an item or in the configuration.
pub(super) struct ListPlace<'l> {
    pub(super) object: &'l Value,
    /// `functionConfig` or `items[0]`.
    part: String,
    /// The field in it.
    pub(super) path: String,
}

/// Returns how the text at `path` of the configuration is called.
pub(super) fn text_of_config(path: &[Step]) -> String {
    format!("{CONFIG}.{}", joined_steps(path))
}

/// Returns what `location` is in, if it is in `list`.
pub(super) fn locate_in_list<'l>(location: &Location, list: &'l ResourceList) -> Option<ListPlace<'l>> {
    // A text of several is called by all their names.
    let name = location.source.name.split(" with ").next().unwrap_or_default();
    if let Some(path) = name.strip_prefix(CONFIG).and_then(|rest| rest.strip_prefix('.')) {
        let (object, part) = (&list.config.value, CONFIG.to_owned());
        return Some(ListPlace { object, part, path: path.to_owned() });
    }
    let items = list.items.iter().enumerate();
    let items = items.map(|(number, item)| (format!("items[{number}]"), &item.document));
    let parts = items.chain([(CONFIG.to_owned(), &list.config)]);
    let starts = parts.filter_map(|(name, part)| Some((start(part)?, name, part)));
    let before = starts.filter(|(start, _, part)| {
        Arc::ptr_eq(&part.source, &location.source) && *start <= location.position
    });
    let (_, part, document) = before.max_by_key(|(start, ..)| *start)?;
    Some(ListPlace { object: &document.value, part, path: joined_steps(&path_at(document, location)) })
}

/// Shows which field of `list` each of `problems` is about, where that is all that can be known.
pub(super) fn label_list_fields(problems: &mut [Diagnostic], list: &ResourceList) {
    for problem in problems.iter_mut().filter(|problem| problem.label.is_empty()) {
        if let Some(inside) = locate_in_list(&problem.location, list) {
            problem.label = located_text(&problem.location, Some(&inside)).into_boxed_str();
        }
    }
}

/// Returns where `location` is: the file, line and column, or the field of the list.
pub(super) fn located_text(location: &Location, inside: Option<&ListPlace<'_>>) -> String {
    match inside {
        Some(ListPlace { part, path, .. }) if path.is_empty() => part.clone(),
        Some(ListPlace { part, path, .. }) => format!("{part}.{path}"),
        None if location.source.text.is_empty() => location.source.name.clone(),
        None => location.to_string(),
    }
}

/// Returns a path of an operation, such as `/spec/ports[?(@.name=='http')]/0`, as people write fields:
/// `spec.ports[?(@.name=='http')][0]`.
pub(super) fn dotted_operation_path(path: &str) -> String {
    let mut text = String::new();
    for segment in segments(path) {
        let (key, filter) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        if key == "-" || (!key.is_empty() && key.chars().all(|letter| letter.is_ascii_digit())) {
            text.push_str(&format!("[{key}]"));
        } else if !key.is_empty() {
            let key = key.replace("~1", "/").replace("~0", "~");
            write_path(&mut text, &[Step::Key(key.into())], PathStyle::FieldPath);
        }
        text.push_str(filter);
    }
    text
}

/// Returns the parts between slashes, but for slashes in brackets.
fn segments(path: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    path.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '/' && depth == 0
    })
    .collect()
}

/// Returns the way to a field as people write it.
pub(super) fn joined_steps(path: &[Step]) -> String {
    path_text(path, PathStyle::FieldPath)
}

fn start(document: &Document) -> Option<Position> {
    document.positions.first()
}

/// Returns the way to the innermost thing of `document` that starts at or before `location`.
fn path_at(document: &Document, location: &Location) -> Vec<Step> {
    let mut path: Vec<Step> = Vec::new();
    while let Some(value) = document.value.follow(&path) {
        let steps: Vec<Step> = match value {
            // A map starts where its first key does; what covers one letter there is the map.
            Value::Object(_)
                if location.length == 1 && document.locate(&path).position == location.position =>
            {
                break;
            }
            Value::Object(map) => map.keys().map(|key| Step::Key(key.clone())).collect(),
            Value::Array(items) => (0..items.len()).map(Step::Index).collect(),
            _ => break,
        };
        let starts = |step: &Step| {
            let path: Vec<Step> = path.iter().cloned().chain([step.clone()]).collect();
            document.locate_key(&path).position
        };
        let Some(step) = steps.into_iter().rev().find(|step| starts(step) <= location.position) else {
            break;
        };
        path.push(step);
    }
    path
}

#[cfg(test)]
mod tests;
