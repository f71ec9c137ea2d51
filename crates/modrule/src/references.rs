//! The object as a ModRule sees it: with `syntheticRefs`, without `managedFields`.
//!
//! Neither may reach the cluster, so an edited view is turned back into an object by
//! undoing exactly the changes that built the view.

use kubewright_engine::{EvalError, EvalErrorKind, Evaluation, Query, QueryAnswer};
use kubewright_value::{Map, Text, Value};

use super::annotation::LAST_APPLIED;

/// The key of the references.
pub(super) const REFERENCES: &str = "syntheticRefs";

/// The key, below `metadata`, in which the API server records field managers.
const MANAGED_FIELDS: &str = "managedFields";

/// The annotation that names the node of a pod in KubeMod's code, and the one its document names.
const NODE_ANNOTATIONS: [&str; 2] = ["ref.kubemod.io/nodename", "ref.kubemod.io/node"];

/// An object as a rule sees it.
pub(super) struct ObjectView {
    pub(super) value: Value,
    references: HiddenKey,
    managed_fields: HiddenKey,
}

/// The change that building a view made to a key, so that it can be undone.
enum HiddenKey {
    /// Nothing.
    Untouched,
    /// The key was not there, and must not be there afterwards.
    Absent,
    /// The key had this place and value.
    Taken(usize, Value),
}

impl ObjectView {
    /// Returns the view of `object`, with the references it was given.
    pub(super) fn new(mut object: Value, references: Option<Value>) -> Self {
        let managed_fields = match has_hidden_fields(&object) {
            true => object_metadata_mut(&mut object)
                .map_or(HiddenKey::Untouched, |map| HiddenKey::take(map, MANAGED_FIELDS)),
            false => HiddenKey::Untouched,
        };
        let mut hidden = HiddenKey::Untouched;
        // Editing a shared value copies it, so an object is edited only where necessary.
        if let Some(references) = references
            && let Some(map) = object.as_object_mut()
        {
            hidden = HiddenKey::take(map, REFERENCES);
            map.insert(REFERENCES.into(), references);
        }
        Self { value: object, references: hidden, managed_fields }
    }

    /// Returns the object behind the view, edited or not.
    pub(super) fn into_object(mut self) -> Value {
        if !matches!(self.references, HiddenKey::Untouched)
            && let Some(map) = self.value.as_object_mut()
        {
            self.references.put_back(map, REFERENCES);
        }
        if !matches!(self.managed_fields, HiddenKey::Untouched)
            && let Some(map) = object_metadata_mut(&mut self.value)
        {
            self.managed_fields.put_back(map, MANAGED_FIELDS);
        }
        self.value
    }
}

impl HiddenKey {
    fn take(map: &mut Map, key: &str) -> Self {
        let place = map.position(key);
        match (place, map.remove(key)) {
            (Some(place), Some(value)) => Self::Taken(place, value),
            _ => Self::Absent,
        }
    }

    fn put_back(self, map: &mut Map, key: &str) {
        match self {
            Self::Untouched => {}
            Self::Absent => drop(map.remove(key)),
            Self::Taken(place, value) => {
                map.remove(key);
                map.insert_at(place, key.into(), value);
            }
        }
    }
}

/// Returns whether `object` has fields that its view does not have.
pub(super) fn has_hidden_fields(object: &Value) -> bool {
    object.at(&["metadata", MANAGED_FIELDS]).is_some()
}

fn object_metadata_mut(object: &mut Value) -> Option<&mut Map> {
    object.as_object_mut()?.get_mut("metadata")?.as_object_mut()
}

/// How a rule comes to its references.
#[derive(Debug, Clone, Default)]
pub(super) struct ReferenceSettings {
    /// Whether anything in the rule can see references.
    pub(super) sees_references: bool,
    /// The node of every pod; overrides its annotations.
    pub(super) assumed_node: Option<Text>,
    /// Whether a reference that could not be looked up is an error of the rule. Otherwise the rule runs without it.
    pub(super) is_strict: bool,
}

impl ReferenceSettings {
    /// Returns `found`, or nothing where it could not be looked up and the rule goes on without it.
    pub(super) fn lenient<T>(&self, found: Result<Option<T>, EvalError>) -> Result<Option<T>, EvalError> {
        match found {
            Err(EvalError { kind: EvalErrorKind::Failed, .. }) if !self.is_strict => Ok(None),
            found => found,
        }
    }
}

/// Returns the value of `syntheticRefs` for `object`.
///
/// # Errors
/// When the world does not know the namespace or the node yet.
pub(super) fn synthetic_references(
    object: &Value,
    sight: &ReferenceSettings,
    evaluation: &Evaluation<'_>,
) -> Result<Value, EvalError> {
    let mut references = Map::new();
    if let Some(found) = sight.lenient(evaluation.namespace())? {
        let mut found = found.clone();
        object_metadata_mut(&mut found).map(|map| map.remove(MANAGED_FIELDS));
        remove_last_applied(&mut found);
        references.insert("namespace".into(), found);
    }
    if evaluation.request.kind.kind == "Pod"
        && let Some(name) = sight.assumed_node.as_deref().or_else(|| node_name(object))
        && let Some(mut found) = sight.lenient(look_up_object(evaluation, Query::node(name)))?
    {
        object_metadata_mut(&mut found).map(|map| map.remove(MANAGED_FIELDS));
        references.insert("node".into(), found);
    }
    Ok(references.into())
}

fn node_name(object: &Value) -> Option<&str> {
    let annotations = object.at(&["metadata", "annotations"])?;
    NODE_ANNOTATIONS.iter().filter_map(|key| annotations.get(key)?.as_str()).find(|name| !name.is_empty())
}

/// Returns the object that `query` names; `None` if there is none.
fn look_up_object(evaluation: &Evaluation<'_>, query: Query) -> Result<Option<Value>, EvalError> {
    match evaluation.world.get(&query) {
        QueryAnswer::Found(object) => Ok(Some(object)),
        QueryAnswer::Absent => Ok(None),
        QueryAnswer::Unknown => Err(EvalError::unanswered(query)),
        QueryAnswer::Failed(why) => Err(EvalError::failed(&query, &why)),
        QueryAnswer::Refused(why) => Err(EvalError::refused(&query, &why)),
    }
}

fn remove_last_applied(object: &mut Value) {
    if object.at(&["metadata", "annotations", LAST_APPLIED]).is_none() {
        return;
    }
    let annotations = object_metadata_mut(object).and_then(|map| map.get_mut("annotations"));
    if let Some(map) = annotations.and_then(Value::as_object_mut) {
        map.remove(LAST_APPLIED);
    }
}

/// Returns the key of the hidden field that `path` leads into, if it does.
pub(super) fn hidden_field<'a>(mut path: impl Iterator<Item = &'a str>) -> Option<Text> {
    match path.next()? {
        REFERENCES => Some(REFERENCES.into()),
        "metadata" if path.next() == Some(MANAGED_FIELDS) => Some("metadata.managedFields".into()),
        _ => None,
    }
}
