//! REFERS_TO of kinds without declared references: fields called `…Ref` or `…Refs` that name a kind and an object.
//!
//! It is a guess, so it leads only to what is in the set: nothing is broken because of it.

use kubewright_k8s::WorkloadKind;
use kubewright_value::{Map, Value};

use super::declared::CORE_KINDS;
use super::{Deriving, ReferenceTarget, named_group, or, text_at};
use crate::graph::has_no_namespace;
use crate::{EdgeType, Strength};

/// The depth to which fields are searched.
pub(crate) const MAX_GUESS_DEPTH: usize = 12;
/// The number of fields of one object that are searched.
pub(crate) const MAX_GUESSED_FIELDS: usize = 10_000;

/// Returns the group that is meant by a kind without one.
fn usual_group(kind: &str) -> Option<&'static str> {
    if CORE_KINDS.contains(&kind) {
        return Some("");
    }
    WorkloadKind::named(kind).map(WorkloadKind::group).filter(|group| !group.is_empty())
}

/// Returns whether kinds of this group belong to another project.
pub(crate) fn is_foreign(group: &str) -> bool {
    group.contains('.') && !group.ends_with(".k8s.io")
}

impl Deriving<'_, '_> {
    pub(super) fn guessed(&mut self, object: &Value) {
        if !self.derives(EdgeType::REFERS_TO) {
            return;
        }
        let mut fields = MAX_GUESSED_FIELDS;
        for part in ["spec", "data"] {
            if let Some(value) = object.get(part) {
                self.guess(value, &mut part.to_owned(), MAX_GUESS_DEPTH, &mut fields);
            }
        }
    }

    fn guess(&mut self, value: &Value, path: &mut String, depth: usize, fields: &mut usize) {
        if depth == 0 || *fields == 0 {
            return;
        }
        let length = path.len();
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter().filter(|(_, value)| is_inner(value)) {
                    *fields = fields.saturating_sub(1);
                    push_path_key(path, key);
                    match (key.ends_with("Ref"), key.ends_with("Refs"), value) {
                        (true, _, Value::Object(reference)) => self.guessed_one(reference, value, path),
                        (_, true, Value::Array(references)) => {
                            for (at, one) in references.iter().enumerate().take(*fields) {
                                if let Value::Object(reference) = one {
                                    self.guessed_one(reference, one, &format!("{path}[{at}]"));
                                }
                            }
                        }
                        _ => {}
                    }
                    self.guess(value, path, depth - 1, fields);
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate().filter(|(_, item)| is_inner(item)) {
                    *fields = fields.saturating_sub(1);
                    path.push_str(&format!("[{at}]"));
                    self.guess(item, path, depth - 1, fields);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn guessed_one(&mut self, reference: &Map, value: &Value, via: &str) {
        let kind = reference.str_at(&["kind"]);
        let name = reference.str_at(&["name"]);
        if kind.is_empty() || name.is_empty() {
            return;
        }
        let own_group = self.group.clone();
        let group = named_group(value).or_else(|| usual_group(kind)).unwrap_or(&own_group);
        let own = self.namespace.clone();
        let is_global = has_no_namespace(group, kind) || kind.starts_with("Cluster");
        let namespace = if is_global { "" } else { or(text_at(value, &["namespace"]), &own) };
        let target = ReferenceTarget { group, kind, namespace, name };
        self.refer_if_present(EdgeType::REFERS_TO, target, via, Strength::Implicit);
    }
}

fn is_inner(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

fn push_path_key(path: &mut String, key: &str) {
    match key.contains(['.', '[', '/', '\'']) {
        true => path.push_str(&format!("['{key}']")),
        false => {
            path.push('.');
            path.push_str(key);
        }
    }
}
