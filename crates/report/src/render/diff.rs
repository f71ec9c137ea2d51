//! What changed in an object, line by line, in the manifest's own order of keys.

use std::io::{self, Write as _};

use kubewright_engine::{ObjectWrite, SECRET_MARK, WriteVerb};
use kubewright_patch::textdiff::{LineChangeKind, diff_hunks};
use kubewright_value::{Map, Text, Value};

use super::{Renderer, ReportWriter, yaml_text};
use crate::{ObjectRow, OutcomeRow, Paint, Report, visible};

/// How many lines are shown around a change.
const CONTEXT_LINES: usize = 3;

/// What is shown in place of a value of a Secret that rules have changed.
const CHANGED_MARK: &str = "(secret, changed)";

/// The annotation in which kubectl repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Renders the changes of objects alone.
pub struct DiffRenderer {
    out: ReportWriter,
    paint: Paint,
}

impl DiffRenderer {
    /// Returns differences that are written to `out`.
    #[must_use]
    pub fn new(out: ReportWriter, paint: Paint) -> Self {
        Self { out, paint }
    }
}

impl Renderer for DiffRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        match object_difference(row, self.paint) {
            Some(text) => writeln!(self.out, "{text}"),
            None => Ok(()),
        }
    }

    fn finish(&mut self, _report: &Report<'_>) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the difference that the rules made, in the object and in others; nothing when they changed nothing.
#[must_use]
pub fn object_difference(object: &ObjectRow, paint: Paint) -> Option<String> {
    let own = own_difference(object, paint);
    let others = object.outcomes.iter().flat_map(|row| {
        let titles = row.written.iter().map(Text::as_str).chain(std::iter::repeat(SECRET_MARK));
        let writes = row.writes.iter().zip(titles);
        writes.map(|(write, title)| match object.shown.is_some() {
            // It may hold values of a Secret in any part.
            true => paint.bold(&format!("+++ {}  {}", visible(title), visible(&row.rule.to_string()))),
            false => write_difference(write, &row.rule.to_string(), paint),
        })
    });
    let all: Vec<String> = own.into_iter().chain(others).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

/// Returns an object that is written as added lines, one that is deleted as removed ones.
fn write_difference(write: &ObjectWrite, rule: &str, paint: Paint) -> String {
    let text = yaml_text(&masked_secret(&write.object));
    let title = format!("{}  {}", visible(&write.title()), visible(rule));
    let (mark, lines) = match write.verb {
        WriteVerb::Delete => ("---", hunks(&text, "", paint)),
        WriteVerb::Create | WriteVerb::Apply | WriteVerb::Update => ("+++", hunks("", &text, paint)),
    };
    format!("{}\n{lines}", paint.bold(&format!("{mark} {title}")))
}

/// Returns a Secret with a mark in place of its values, and any other object as it is.
#[must_use]
pub fn masked_secret(object: &Value) -> Value {
    if object.str_at(&["kind"]) != "Secret" {
        return object.clone();
    }
    let mut shown = object.as_object().cloned().unwrap_or_default();
    for part in ["data", "stringData"] {
        if let Some(values) = shown.get(part).and_then(Value::as_object) {
            let marked: Map = values.keys().map(|key| (key.clone(), SECRET_MARK.into())).collect();
            shown.insert(part.into(), marked.into());
        }
    }
    // It repeats the whole object.
    let metadata = shown.get_mut("metadata").and_then(Value::as_object_mut);
    let annotations =
        metadata.and_then(|metadata| metadata.get_mut("annotations")).and_then(Value::as_object_mut);
    if let Some(copy) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
        *copy = SECRET_MARK.into();
    }
    shown.into()
}

/// Returns `shown` with another mark where a hidden value is not what it was.
fn changes_marked(shown: &Value, before: &Value, after: &Value) -> Value {
    if let Some(members) = shown.as_object() {
        let part = |object: &Value, key: &str| object.get(key).cloned().unwrap_or_default();
        let marked = members.iter().map(|(key, member)| {
            (key.clone(), changes_marked(member, &part(before, key), &part(after, key)))
        });
        return marked.collect::<Map>().into();
    }
    match shown.as_str() {
        Some(SECRET_MARK) if !before.is_null() && before != after => CHANGED_MARK.into(),
        _ => shown.clone(),
    }
}

/// Returns the difference that the rules made in the object itself.
fn own_difference(object: &ObjectRow, paint: Paint) -> Option<String> {
    let (before, after) = object.objects.as_ref().filter(|(before, after)| before != after)?;
    let (before, after) = match &object.shown {
        Some(shown) => (yaml_text(&masked_secret(before)), yaml_text(&changes_marked(shown, before, after))),
        None => (yaml_text(before), yaml_text(after)),
    };
    let rules: Vec<String> = object
        .outcomes
        .iter()
        .filter(|row| row.is_patched())
        .map(|row: &OutcomeRow| row.rule.to_string())
        .collect();
    let mut text =
        paint.bold(&format!("--- {}  {}", visible(&object.location.file), visible(&object.subject)));
    text.push('\n');
    text.push_str(&paint.bold(&format!("+++ after {}", visible(&rules.join(", ")))));
    text.push('\n');
    text.push_str(&hunks(&before, &after, paint));
    Some(text)
}

/// Returns the lines that differ, with those around them.
#[must_use]
pub fn hunks(before: &str, after: &str, paint: Paint) -> String {
    let mut text = String::new();
    for hunk in diff_hunks(before, after, CONTEXT_LINES) {
        let place = hunk.changes.iter().find(|change| change.kind != LineChangeKind::Kept).map(|change| {
            let lines = if change.kind == LineChangeKind::Removed { before } else { after };
            parents(lines, change.index)
        });
        let place =
            place.filter(|place| !place.is_empty()).map_or_else(String::new, |place| format!("{place} "));
        text.push_str(&paint.cyan(&format!("@@ {place}@@")));
        text.push('\n');
        for change in hunk.changes {
            let line = format!("{}{}", change.kind.sign(), change.line);
            text.push_str(&match change.kind {
                LineChangeKind::Kept => line,
                LineChangeKind::Removed => paint.red(&line),
                LineChangeKind::Added => paint.green(&line),
            });
            text.push('\n');
        }
    }
    text
}

/// Returns the path to what holds line `number` of a YAML text, which its indentation tells.
fn parents(text: &str, number: usize) -> String {
    let lines: Vec<&str> = text.lines().take(number + 1).collect();
    let Some(changed) = lines.last() else { return String::new() };
    let mut steps: Vec<String> = Vec::new();
    // The column that the search climbs from, and the items passed in the list it is in.
    let mut column = indent(changed);
    let mut items = changed.trim_start().starts_with("- ").then_some(0_usize);
    for line in lines.iter().rev().skip(1) {
        let (at, is_item) = (indent(line), line.trim_start().starts_with("- "));
        if let Some(passed) = &mut items {
            if is_item && at == column {
                *passed += 1;
                continue;
            }
            if at > column || (is_item && at + 2 > column) {
                continue;
            }
            steps.push(format!("[{passed}]"));
            items = None;
            column += 1;
        }
        if is_item && at + 2 <= column {
            if at + 2 < column {
                steps.extend(yaml_line_key(line.trim_start().trim_start_matches("- ")));
            }
            column = at;
            items = Some(0);
        } else if !is_item && at < column {
            steps.extend(yaml_line_key(line));
            column = at;
        }
    }
    let mut path = String::new();
    for step in steps.iter().rev() {
        if !path.is_empty() && !step.starts_with('[') {
            path.push('.');
        }
        path.push_str(step);
    }
    path
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the key that a line starts with.
fn yaml_line_key(line: &str) -> Option<String> {
    let (key, _) = line.trim_start().split_once(':')?;
    Some(key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
kind: Pod
spec:
  containers:
  - name: a
    image: x
  - name: b
    env:
    - name: K
      value: v
  volumes: []
";

    #[track_caller]
    fn check_parents(line: usize, want: &str) {
        assert_eq!(parents(TEXT, line), want, "line {line}");
    }

    #[test]
    fn parents_follow_the_indentation() {
        check_parents(0, "");
        check_parents(1, "");
        check_parents(2, "spec");
        check_parents(3, "spec.containers[0]");
        check_parents(4, "spec.containers[0]");
        check_parents(5, "spec.containers[1]");
        check_parents(6, "spec.containers[1]");
        check_parents(8, "spec.containers[1].env[0]");
        check_parents(9, "spec");
    }
}
