//! Files that describe a part of a cluster: `ClusterResource` and `Context` of `cli.kyverno.io/v1alpha1`.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Value};

use super::Answers;
use crate::fields::Reader;

/// A part of a cluster.
pub(crate) struct Cluster;

impl Cluster {
    /// Returns whether `document` describes a part of a cluster.
    pub(crate) fn is_meant(document: &Document) -> bool {
        let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or_default();
        text("apiVersion").starts_with("cli.kyverno.io/")
            && ["ClusterResource", "Context"].contains(&text("kind"))
    }

    /// Returns the objects that `document` describes, and adds what it says about images to `answers`.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub(crate) fn read(document: &Document, answers: &mut Answers) -> Result<Vec<Value>, Vec<Diagnostic>> {
        let mut reader = Reader::ignoring_case(document);
        reader.check_fields(&["apiVersion", "kind", "metadata", "spec"]);
        let objects = reader.field("spec", |reader| {
            reader.check_fields(&["resources", "images", "crds"]);
            answers.read_images(reader);
            let objects = reader.value("resources").and_then(Value::as_array).unwrap_or_default().to_vec();
            // A bare object stands for itself.
            match reader.value("resources") {
                Some(other) if other.as_array().is_none() => {
                    reader.wrong(
                        "resources",
                        format!("`resources` is a list, this is of type {}", other.kind()),
                    );
                }
                _ => {}
            }
            objects
        });
        reader.finish(objects.unwrap_or_default())
    }
}
