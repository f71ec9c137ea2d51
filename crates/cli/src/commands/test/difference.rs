//! The difference between an expected and an actual object.

use kubewright_patch::textdiff::diff_hunks;
use kubewright_value::{Map, Value};

use crate::output::yaml_text;

/// The maximum number of lines of a difference.
const MAX_DIFFERENCE_LINES: usize = 20;
/// The maximum depth to which keys are sorted alike.
const MAX_COMPARED_DEPTH: usize = 100;

/// Returns the lines in which two objects differ.
pub(super) fn object_difference_lines(title: &str, expected: &Value, actual: &Value) -> String {
    let (expected, actual) =
        (yaml_text(&ordered_as(expected, actual, MAX_COMPARED_DEPTH)), yaml_text(actual));
    let mut lines = vec![format!("{title} (- expected, + got)")];
    for change in diff_hunks(&expected, &actual, 1).iter().flat_map(|hunk| &hunk.changes) {
        lines.push(format!("  {}{}", change.kind.sign(), change.line.trim_end()));
    }
    if lines.len() > MAX_DIFFERENCE_LINES {
        lines.truncate(MAX_DIFFERENCE_LINES);
        lines.push("  …".to_owned());
    }
    lines.join("\n")
}

/// Returns `value` with its keys in the order of `other`, because their order does not matter.
fn ordered_as(value: &Value, other: &Value, deeper: usize) -> Value {
    if deeper == 0 {
        return value.clone();
    }
    match (value, other) {
        (Value::Object(map), Value::Object(other)) => {
            let known = other.iter().filter_map(|(key, other)| {
                map.get(key).map(|value| (key.clone(), ordered_as(value, other, deeper - 1)))
            });
            let more = map.iter().filter(|(key, _)| !other.contains_key(key));
            let more = more.map(|(key, value)| (key.clone(), value.clone()));
            known.chain(more).collect::<Map>().into()
        }
        (Value::Array(items), Value::Array(others)) => {
            let rest = std::iter::repeat(&Value::Null);
            let pairs = items.iter().zip(others.iter().chain(rest));
            pairs.map(|(item, other)| ordered_as(item, other, deeper - 1)).collect::<Vec<_>>().into()
        }
        _ => value.clone(),
    }
}
