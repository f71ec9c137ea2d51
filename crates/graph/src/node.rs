//! Nodes: objects, and ends of edges that are not objects of the input.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use kubewright_value::{Map, Text, Value};

use crate::names::Symbol;

/// The number of a node, valid until its object is removed. Numbers have no meaningful order; [`Graph::ids`](crate::Graph::ids)
/// returns nodes in canonical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(crate) u32);

impl Id {
    /// Returns the number, below [`Graph::capacity`](crate::Graph::capacity): for tables with a row for each node.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One object, or one that references name and that is not in the input.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GraphNode {
    /// As the object writes it. For an absent one the usual version of its group, for a virtual one empty.
    pub api_version: Text,
    /// The kind.
    pub kind: Text,
    /// The namespace; empty for none.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// The uid; empty if it is not known.
    pub uid: Text,
    /// The object; none unless `sort` is [`Sort::Object`]. Its name and uid may have been taken out of it, see [`NamedObject`].
    pub object: Option<Value>,
    /// Whether they were.
    pub(crate) is_name_apart: bool,
    /// Whether the node is an object of the input.
    pub sort: Sort,
}

impl GraphNode {
    /// Returns the API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        api_group_of(&self.api_version)
    }

    /// Returns the object with its name and uid, also where they were taken out of it.
    #[must_use]
    pub fn whole_object(&self) -> Option<Cow<'_, Value>> {
        let object = self.object.as_ref()?;
        if !self.is_name_apart {
            return Some(Cow::Borrowed(object));
        }
        let mut whole = object.clone();
        let metadata = whole.as_object_mut()?.get_or_insert(&Text::new_static("metadata"))?;
        if metadata.is_null() {
            *metadata = Value::object(Map::new());
        }
        for (field, text) in [("name", &self.name), ("uid", &self.uid)] {
            let is_missing = !text.is_empty() && metadata.get(field).is_none();
            if let Some(fields) = metadata.as_object_mut().filter(|_| is_missing) {
                fields.insert(Text::new_static(field), Value::String(text.clone()));
            }
        }
        Some(Cow::Owned(whole))
    }
}

/// An object, of which the name and the uid may have been taken out: without them objects of one kind are often equal, and
/// equal ones can be shared.
#[derive(Debug, Clone)]
pub struct NamedObject {
    object: Value,
    /// None where the object has its own.
    name: Option<Text>,
    uid: Option<Text>,
}

impl NamedObject {
    /// Takes those of the fields `name` and `uid` of the metadata out of `object` that are in `fields`. Nothing is taken out of
    /// an object without a name, which is known by its `generateName`.
    #[must_use]
    pub fn without_fields(object: Value, fields: &[&str]) -> Self {
        let mut object = object;
        let metadata = object.as_object_mut().and_then(|fields| fields.get_mut("metadata")?.as_object_mut());
        let (mut name, mut uid) = (None, None);
        if let Some(metadata) = metadata.filter(|metadata| has_text(metadata, "name")) {
            for (field, taken) in [("name", &mut name), ("uid", &mut uid)] {
                if fields.contains(&field) && has_text(metadata, field) {
                    *taken = metadata.remove(field).and_then(|text| text.as_str().map(Text::new));
                }
            }
        }
        Self { object, name, uid }
    }

    /// Returns what `change` makes of the object, which must have the same fields.
    #[must_use]
    pub fn map_object(self, change: impl FnOnce(Value) -> Value) -> Self {
        Self { object: change(self.object), ..self }
    }

    /// Returns the object as it is kept.
    pub(crate) fn object(&self) -> &Value {
        &self.object
    }

    /// Returns the object, and whether its name or uid were taken out of it.
    pub(crate) fn into_object(self) -> (Value, bool) {
        (self.object, self.name.is_some() || self.uid.is_some())
    }

    /// Returns a field of the metadata by which the object is found, if it has a text.
    pub(crate) fn identifier(&self, field: &str) -> Option<&Text> {
        let apart = match field {
            "name" => self.name.as_ref(),
            "uid" => self.uid.as_ref(),
            _ => None,
        };
        apart.or_else(|| match self.object.at(&["metadata", field]) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        })
    }

    /// Returns the version as it is written; empty if it is not a text.
    pub(crate) fn api_version(&self) -> &str {
        self.object.str_at(&["apiVersion"])
    }
}

impl From<Value> for NamedObject {
    fn from(object: Value) -> Self {
        Self { object, name: None, uid: None }
    }
}

/// Whether a node is an object of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// An object of the input.
    Object,
    /// An object that a reference names and that is not in the input: the reference is broken.
    Absent,
    /// Not a Kubernetes object, or one that need not be in the input: an image, the identity of a volume, a user, a
    /// namespace or a cluster node without a manifest.
    Virtual,
}

impl Sort {
    /// Returns the sort of a node without an object.
    pub(crate) fn without_object(group: &str, kind: &str) -> Self {
        let is_virtual = match group {
            "" => matches!(kind, "Namespace" | "Node" | "Image" | "Volume" | "Application"),
            "rbac.authorization.k8s.io" => matches!(kind, "User" | "Group"),
            _ => false,
        };
        if is_virtual { Self::Virtual } else { Self::Absent }
    }

    /// Returns the name of the sort, as every output writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Absent => "absent",
            Self::Virtual => "virtual",
        }
    }
}

/// The fields by which two objects are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObjectIdentity {
    pub(crate) group: Symbol,
    pub(crate) kind: Symbol,
    pub(crate) namespace: Symbol,
    pub(crate) name: Symbol,
    /// Empty, except for an absent owner: another object may have its name by now.
    pub(crate) uid: Symbol,
}

impl Hash for ObjectIdentity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let pair = |a: Symbol, b: Symbol| u64::from(a.0) << 32 | u64::from(b.0);
        state.write_u64(pair(self.group, self.kind));
        state.write_u64(pair(self.namespace, self.name));
        state.write_u32(self.uid.0);
    }
}

fn has_text(fields: &Map, name: &str) -> bool {
    fields.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

/// Returns the group of an `apiVersion`.
pub(crate) fn api_group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the `apiVersion` that objects of `group` mostly have; the bare group with an open end where it is not known.
pub(crate) fn usual_version(group: &str, kind: &str) -> String {
    match (group, kind) {
        ("", "Image" | "Volume" | "Application") => String::new(),
        ("", _) => "v1".to_owned(),
        ("autoscaling", "HorizontalPodAutoscaler") => "autoscaling/v2".to_owned(),
        _ if !group.contains('.') || group.ends_with(".k8s.io") => format!("{group}/v1"),
        _ => format!("{group}/"),
    }
}
