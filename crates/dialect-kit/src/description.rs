//! What the author of a policy says about it in annotations.

use kubewright_value::{Document, Map, Text, Value};

/// Returns the annotation of the document whose key is `name` after its domain, as in `policies.example.com/title`;
/// empty where there is none.
#[must_use]
pub fn policy_text(document: &Document, name: &str) -> Text {
    let annotations = document.value.at(&["metadata", "annotations"]).and_then(Value::as_object);
    let found = annotations.into_iter().flat_map(Map::iter).find(|(key, _)| {
        key.rsplit_once('/').is_some_and(|(domain, last)| last == name && !domain.is_empty())
    });
    found.and_then(|(_, value)| value.as_str()).map(|text| Text::new(text.trim())).unwrap_or_default()
}
