//! Texts of metadata that YAML reads as something else, such as `name: y`, which is true.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Step, Value, ValueKind};

use crate::codes::NOT_A_TEXT;

/// The fields of metadata that are texts.
const TEXT_FIELDS: [&str; 3] = ["name", "generateName", "namespace"];

/// The fields of metadata whose values are texts.
const TEXT_MAPS: [&str; 2] = ["labels", "annotations"];

/// Reports names, labels and annotations of an object that are numbers or booleans.
pub(super) fn report_misread_texts(document: &Document, problems: &mut Vec<Diagnostic>) {
    let Some(metadata) = document.value.get("metadata") else { return };
    for field in TEXT_FIELDS {
        if metadata.get(field).is_some_and(is_misread) {
            problems.push(misread_text(document, &["metadata".into(), field.into()]));
        }
    }
    for field in TEXT_MAPS {
        let entries = metadata.get(field).and_then(Value::as_object);
        for (key, _) in entries.into_iter().flat_map(|map| map.iter()).filter(|(_, value)| is_misread(value))
        {
            problems.push(misread_text(document, &["metadata".into(), field.into(), Step::Key(key.clone())]));
        }
    }
}

fn is_misread(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Bool | ValueKind::Number)
}

fn misread_text(document: &Document, path: &[Step]) -> Diagnostic {
    let location = document.locate(path);
    let written = location.text().unwrap_or_default();
    let read = match document.value.follow(path) {
        Some(Value::Bool(read)) => read.to_string(),
        _ => "a number".to_owned(),
    };
    let field = match path {
        [_, Step::Key(name)] => format!("metadata.{name}"),
        [_, Step::Key(map), Step::Key(name)] => format!("metadata.{map} `{name}`"),
        _ => "metadata".to_owned(),
    };
    let message = match written.as_str() {
        "" => format!("{field} must be a text, and is read as {read}"),
        written if *written == *read => format!("{field} must be a text, and `{written}` is a boolean"),
        written => format!("{field} must be a text, and `{written}` is read as {read}"),
    };
    let help = if written.is_empty() { "quote it".to_owned() } else { format!("quote it: \"{written}\"") };
    Diagnostic::new(&NOT_A_TEXT, message, location).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(metadata: &str, want: &[&str]) {
        let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {metadata}\n");
        let document = crate::parse_documents("pod.yaml", &text).remove(0);
        let mut problems = Vec::new();
        report_misread_texts(&document, &mut problems);
        let texts: Vec<_> = problems.iter().map(|one| format!("{} ({})", one.message, one.help)).collect();
        assert_eq!(texts, want, "{metadata}");
    }

    #[test]
    fn names_that_are_no_texts_are_reported_as_written() {
        check("{name: y}", &["metadata.name must be a text, and `y` is read as true (quote it: \"y\")"]);
        check(
            "{name: 123}",
            &["metadata.name must be a text, and `123` is read as a number (quote it: \"123\")"],
        );
        check(
            "{name: true}",
            &["metadata.name must be a text, and `true` is a boolean (quote it: \"true\")"],
        );
        let label = "metadata.labels `on` must be a text, and `no` is read as false (quote it: \"no\")";
        check("{name: web, labels: {\"on\": no, app: web}}", &[label]);
        check("{name: \"123\", labels: {a: null}}", &[]);
    }
}
