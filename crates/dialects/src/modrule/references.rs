//! The object as a ModRule sees it: with `syntheticRefs`, without `managedFields`.
//!
//! Neither may reach the cluster, so an edited view is turned back into an object by
//! undoing exactly what making the view did.

use kubewright_engine::{Answer, EvalError, Evaluation, Query};
use kubewright_value::{Map, Text, Value};

use super::annotation::LAST_APPLIED;

/// The key under which references stand.
pub(super) const REFERENCES: &str = "syntheticRefs";

/// The annotation that names the node of a pod in KubeMod's code, and the one its document names.
const NODE_ANNOTATIONS: [&str; 2] = ["ref.kubemod.io/nodename", "ref.kubemod.io/node"];

/// An object as a rule sees it.
pub(super) struct View {
    pub(super) value: Value,
    is_changed: bool,
}

impl View {
    /// Returns the view of the current object; references are looked up only for rules that can see them.
    ///
    /// # Errors
    /// When the world does not know the namespace or the node yet.
    pub(super) fn new(evaluation: &Evaluation<'_>, has_references: bool) -> Result<Self, EvalError> {
        let mut value = evaluation.object.clone();
        let mut is_changed = false;
        if value.at(&["metadata", "managedFields"]).is_some() {
            remove(&mut value, "managedFields");
            is_changed = true;
        }
        if has_references {
            let references = references(evaluation)?;
            if let Some(map) = value.as_object_mut() {
                map.insert(REFERENCES.into(), references);
                is_changed = true;
            }
        }
        Ok(Self { value, is_changed })
    }

    /// Returns the object that an edited view stands for; `original` is the object the view was made of.
    pub(super) fn into_object(self, original: &Value) -> Value {
        if !self.is_changed {
            return self.value;
        }
        let mut object = self.value;
        restore(&mut object, original, REFERENCES);
        if let (Some(metadata), Some(original)) = (
            object.as_object_mut().and_then(|map| map.get_mut("metadata")).filter(|metadata| metadata.as_object().is_some()),
            original.get("metadata"),
        ) {
            restore(metadata, original, "managedFields");
        }
        object
    }
}

/// Gives `key` the value it has in `original`, in the place it has there.
fn restore(object: &mut Value, original: &Value, key: &str) {
    let Some(map) = object.as_object_mut() else { return };
    map.remove(key);
    if let Some(original) = original.as_object()
        && let Some(position) = original.position(key)
        && let Some(value) = original.get(key)
    {
        map.insert_at(position, key.into(), value.clone());
    }
}

fn references(evaluation: &Evaluation<'_>) -> Result<Value, EvalError> {
    let mut references = Map::new();
    let namespace = &evaluation.request.namespace;
    if !namespace.is_empty()
        && let Some(mut found) = look_up(evaluation, Query::namespace(namespace))?
    {
        remove(&mut found, "managedFields");
        remove_annotation(&mut found);
        references.insert("namespace".into(), found);
    }
    if let Some(name) = node_name(evaluation)
        && let Some(mut found) = look_up(evaluation, Query::node(name))?
    {
        remove(&mut found, "managedFields");
        references.insert("node".into(), found);
    }
    Ok(references.into())
}

fn node_name<'a>(evaluation: &'a Evaluation<'_>) -> Option<&'a str> {
    if evaluation.request.kind.kind != "Pod" {
        return None;
    }
    let annotations = evaluation.object.at(&["metadata", "annotations"])?;
    NODE_ANNOTATIONS.iter().filter_map(|key| annotations.get(key)?.as_str()).find(|name| !name.is_empty())
}

/// Returns the object that `query` asks for, or nothing if there is none.
pub(super) fn look_up(evaluation: &Evaluation<'_>, query: Query) -> Result<Option<Value>, EvalError> {
    match evaluation.world.get(&query) {
        Answer::Found(object) => Ok(Some(object)),
        Answer::Absent => Ok(None),
        Answer::Unknown => Err(EvalError::unanswered(query)),
    }
}

fn remove(object: &mut Value, key: &str) {
    if let Some(metadata) = object.as_object_mut().and_then(|map| map.get_mut("metadata"))
        && metadata.get(key).is_some()
        && let Some(map) = metadata.as_object_mut()
    {
        map.remove(key);
    }
}

fn remove_annotation(object: &mut Value) {
    if object.at(&["metadata", "annotations", LAST_APPLIED]).is_none() {
        return;
    }
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata"));
    let annotations = metadata.and_then(Value::as_object_mut).and_then(|map| map.get_mut("annotations"));
    if let Some(map) = annotations.and_then(Value::as_object_mut) {
        map.remove(LAST_APPLIED);
    }
}

/// The label that takes a namespace out of every rule's reach.
const IGNORE_LABEL: &str = "admission.kubemod.io/ignore";

/// Returns whether the namespace of the object, or the namespace that the object is, is labelled to be left alone.
pub(super) fn is_ignored(evaluation: &Evaluation<'_>) -> Result<bool, EvalError> {
    let is_labelled = |object: &Value| object.at(&["metadata", "labels", IGNORE_LABEL]).and_then(Value::as_str) == Some("true");
    let request = evaluation.request;
    if request.kind.kind == "Namespace" && request.kind.group.is_empty() {
        return Ok(is_labelled(&request.object));
    }
    if request.namespace.is_empty() {
        return Ok(false);
    }
    Ok(look_up(evaluation, Query::namespace(&request.namespace))?.is_some_and(|namespace| is_labelled(&namespace)))
}

/// Returns the key of `Text` under which a hidden field stands, if `path` leads into one.
pub(super) fn hidden_field<'a>(mut path: impl Iterator<Item = &'a str>) -> Option<Text> {
    match path.next()? {
        REFERENCES => Some(REFERENCES.into()),
        "metadata" if path.next() == Some("managedFields") => Some("metadata.managedFields".into()),
        _ => None,
    }
}
