//! Files that describe a part of a cluster: `World`, and `ClusterResource`, `Context` and `Test` of `cli.kyverno.io`.

use std::path::Path;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Value};

use super::{Answers, read_shared};
use crate::codes::TEST_VALUE;
use crate::fields::Reader;
use crate::load;

const WORLD_FIELDS: &[&str] =
    &["apiVersion", "kind", "metadata", "objects", "apiCallResponses", "globalContextEntries", "images"];

/// A part of a cluster.
pub(crate) struct Cluster;

impl Cluster {
    /// Returns whether `document` describes a part of a cluster.
    pub(crate) fn is_meant(document: &Document) -> bool {
        let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").split('/').next().unwrap_or_default();
        matches!(
            (group, text("kind")),
            ("cli.kyverno.io", "ClusterResource" | "Context" | "Test") | ("kubewright.dev", "World")
        )
    }

    /// Returns the objects that `document` describes, and adds what else it says to `answers`.
    ///
    /// # Errors
    /// With everything that is wrong with it. What is wrong with files that it names goes to `problems`.
    pub(crate) fn read(
        document: &Document,
        answers: &mut Answers,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Value>, Vec<Diagnostic>> {
        let mut reader = Reader::ignoring_case(document);
        match document.value.get("kind").and_then(Value::as_str) {
            Some("World") => {
                reader.check_fields(WORLD_FIELDS);
                let objects = world(&mut reader, document, answers, problems);
                return reader.finish(objects);
            }
            // Whatever else it says is for `test`.
            Some("Test") => {
                let objects = world(&mut reader, document, answers, problems);
                return reader.finish(objects);
            }
            _ => {}
        }
        reader.check_fields(&["apiVersion", "kind", "metadata", "spec"]);
        let objects = reader.field("spec", |reader| {
            reader.check_fields(&["resources", "images", "crds"]);
            answers.read_images(reader);
            reader.values("resources")
        });
        reader.finish(objects.unwrap_or_default())
    }
}

fn world(
    reader: &mut Reader<'_>,
    document: &Document,
    answers: &mut Answers,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Value> {
    answers.read_calls(reader);
    answers.read_images(reader);
    let folder = Path::new(&document.source.name).parent().unwrap_or(Path::new(""));
    for entry in read_shared(reader) {
        let found = load::find(&load::named(folder, &entry.files, problems));
        problems.extend(found.problems);
        let files = load::documents(&found.inputs, problems);
        let objects = load::objects_of(files, problems).into_iter().map(|document| document.value);
        let location = entry.location.clone();
        if let Err(message) = answers.share(entry, objects.collect()) {
            problems.push(Diagnostic::new(&TEST_VALUE, message, location));
        }
    }
    reader.values("objects")
}
