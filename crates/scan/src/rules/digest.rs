//! What a policy says, as a number: whether it, its exceptions or its bindings have changed.

use std::hash::{DefaultHasher, Hasher};

use kubewright_value::Value;

use crate::ObjectKey;
use crate::value_hash::ValueHasher;

/// The digest of a policy and of the documents that change how it works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PolicyDigest(pub(crate) u64);

impl PolicyDigest {
    /// Adds the hashes of documents.
    pub(crate) fn add(&mut self, hashes: impl Iterator<Item = u64>) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hashes.for_each(|hash| hasher.write_u64(hash));
        self.0 = hasher.finish();
    }
}

/// Returns the hash of what `document` says, without what the API server writes into it.
pub(crate) fn hash_document(document: &Value) -> u64 {
    const LEFT_OUT: &[&str] = &["managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"];
    let mut hasher = ValueHasher::new(DefaultHasher::new());
    if let Some(map) = document.as_object() {
        hasher.add_map_without(map, &["metadata", "status"]);
    }
    match document.get("metadata") {
        Some(Value::Object(metadata)) => hasher.add_map_without(metadata, LEFT_OUT),
        Some(other) => hasher.add(other),
        None => {}
    }
    hasher.finish()
}

/// Returns the hash of when `document` was created.
pub(crate) fn hash_creation(document: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(document.str_at(&["metadata", "creationTimestamp"]).as_bytes());
    hasher.finish()
}

/// Returns whether the auxiliary document `document` can be about `policy`: bindings and exceptions name their policies,
/// by name or as `namespace/name`.
pub(crate) fn is_about_policy(document: &Value, policy: &ObjectKey) -> bool {
    let full = kubewright_k8s::namespaced_name(&policy.namespace, &policy.name);
    let spec = document.get("spec").unwrap_or(document);
    has_text(spec, &|text| text == policy.name || text == full)
}

fn has_text(value: &Value, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_wanted(text),
        Value::Array(items) => items.iter().any(|item| has_text(item, is_wanted)),
        Value::Object(map) => map.values().any(|item| has_text(item, is_wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
