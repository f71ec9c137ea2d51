//! What is wrong, as results of a function.

use std::collections::HashMap;

use kubewright_engine::{Diagnostic, DiagnosticLevel, DiagnosticSubject};
use kubewright_k8s::ObjectName;
use kubewright_traits::Manifest;
use kubewright_value::{Map, Value};

use super::list::ResourceList;
use super::marks;
use super::place;

/// Something to know about an item that is not wrong.
pub(super) struct ItemNote {
    message: String,
    subject: ObjectName,
}

impl ItemNote {
    /// Says that a manifest is for another cluster.
    pub(super) fn other_plane(manifest: &Manifest) -> Self {
        let message = "this is for the observability plane, which is another cluster".to_owned();
        Self { message, subject: ObjectName::of(&manifest.object) }
    }
}

/// Returns a result for each of `problems` and `notes`, with what is known of the item it is about: one of those that come
/// out, or of those that came in with `list`.
pub(super) fn build_results(
    problems: &[Diagnostic],
    notes: Vec<ItemNote>,
    list: &ResourceList,
    items: &[Value],
) -> Vec<Value> {
    if problems.is_empty() && notes.is_empty() {
        return Vec::new();
    }
    let given = list.items.iter().map(|item| &item.document.value);
    let known: HashMap<ObjectName, &Value> =
        given.chain(items).map(|item| (ObjectName::of(item), item)).collect();
    let mut results: Vec<Value> = problems.iter().map(|problem| result_item(problem, list, &known)).collect();
    for note in notes {
        let mut result = result_head(&note.message, "info");
        if let Some(item) = known.get(&note.subject) {
            add_item_reference(&mut result, item, "");
        }
        results.push(result.into());
    }
    results
}

/// Returns the word that the function specification has for how bad a problem is.
fn severity(problem: &Diagnostic) -> &'static str {
    match problem.severity() {
        DiagnosticLevel::Hint => "info",
        severity => severity.name(),
    }
}

fn result_item(problem: &Diagnostic, list: &ResourceList, known: &HashMap<ObjectName, &Value>) -> Value {
    let mut result = result_head(&problem.message, severity(problem));
    let inside = place::locate_in_list(&problem.location, list);
    match (&problem.subject, &inside) {
        (Some(subject), _) => match known.get(&subject.name) {
            Some(item) => add_item_reference(&mut result, item, &place::dotted_operation_path(&subject.path)),
            None => add_subject_reference(&mut result, subject),
        },
        (None, Some(inside)) => add_item_reference(&mut result, inside.object, &inside.path),
        (None, None) => {}
    }
    let mut tags = Map::from([("code", Value::from(problem.code.id))]);
    if !problem.location.source.name.is_empty() {
        tags.insert("place".into(), place::located_text(&problem.location, inside.as_ref()).into());
    }
    if !problem.help.is_empty() {
        tags.insert("help".into(), problem.help.as_str().into());
    }
    result.insert("tags".into(), tags.into());
    result.into()
}

fn result_head(message: &str, severity: &str) -> Map {
    Map::from([("message", Value::from(message)), ("severity", severity.into())])
}

/// Says which item a result is about, and which field of it.
fn add_item_reference(result: &mut Map, item: &Value, path: &str) {
    let api_version = item.str_at(&["apiVersion"]).into();
    let subject = DiagnosticSubject { api_version, name: ObjectName::of(item), path: String::new() };
    add_subject_reference(result, &subject);
    if !path.is_empty() {
        result.insert("field".into(), Map::from([("path", Value::from(path))]).into());
    }
    if let Some((path, index)) = marks::marked_file(item) {
        let file = Map::from([("path", Value::from(path)), ("index", index.into())]);
        result.insert("file".into(), file.into());
    }
}

fn add_subject_reference(result: &mut Map, subject: &DiagnosticSubject) {
    let DiagnosticSubject { api_version, name: ObjectName { kind, namespace, name, .. }, .. } = subject;
    if kind.is_empty() {
        return;
    }
    let fields = [("apiVersion", api_version), ("kind", kind), ("namespace", namespace), ("name", name)];
    let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
    let fields: Map = fields.map(|(key, text)| (key.into(), Value::String(text.clone()))).collect();
    result.insert("resourceRef".into(), fields.into());
}
