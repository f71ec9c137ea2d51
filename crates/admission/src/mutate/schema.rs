//! The types of objects for structured merge: built-in kinds from the table, others from their CustomResourceDefinition.

use kubewright_engine::{EvalError, Query, QueryAnswer, WorldView};
use kubewright_k8s::structured::{StructuredKeys, StructuredShape, StructuredType};
use kubewright_k8s::{ObjectName, resource_name};
use kubewright_patch::structured::{ListRelation, MergeKey, MergeScalar, MergeShape, MergeType};
use kubewright_value::{Text, Value};

/// The type of an object or a part of it.
#[derive(Debug, Clone)]
pub(super) enum ObjectType {
    BuiltIn(StructuredType),
    /// A part of the schema of a CustomResourceDefinition, and whether it is that of a whole object.
    Custom(Value, bool),
    Text,
    Anything,
}

/// Returns the type of the objects of a kind; nothing where it is not known.
pub(super) fn find_object_type(
    api_version: &str,
    kind: &str,
    world: WorldView<'_>,
) -> Result<Option<ObjectType>, EvalError> {
    if let Some(found) = StructuredType::of_kind(api_version, kind) {
        return Ok(Some(ObjectType::BuiltIn(found)));
    }
    let Some((group, version)) = api_version.split_once('/') else { return Ok(None) };
    let query = Query::Object(ObjectName {
        group: "apiextensions.k8s.io".into(),
        kind: "CustomResourceDefinition".into(),
        namespace: Text::default(),
        name: format!("{}.{group}", resource_name(kind)).into(),
    });
    match world.get(&query) {
        QueryAnswer::Found(definition) => Ok(version_schema(&definition, version)),
        QueryAnswer::Unknown => Err(EvalError::unanswered(query)),
        QueryAnswer::Failed(why) => Err(EvalError::failed(&query, &why)),
        QueryAnswer::Absent | QueryAnswer::Refused(_) => Ok(None),
    }
}

fn version_schema(definition: &Value, version: &str) -> Option<ObjectType> {
    let versions = definition.at(&["spec", "versions"])?.as_array()?;
    let found = versions.iter().find(|one| one.str_at(&["name"]) == version)?;
    Some(ObjectType::Custom(found.at(&["schema", "openAPIV3Schema"])?.clone(), true))
}

impl MergeType for ObjectType {
    fn shape(&self) -> MergeShape<Self> {
        match self {
            Self::BuiltIn(built_in) => built_in_shape(*built_in),
            Self::Custom(schema, is_whole) => custom_shape(schema, *is_whole),
            Self::Text => MergeShape::Scalar(MergeScalar::Text),
            Self::Anything => MergeShape::Anything,
        }
    }

    fn field(&self, name: &str) -> Option<Self> {
        match self {
            Self::BuiltIn(built_in) => built_in.field(name).map(Self::BuiltIn),
            Self::Custom(schema, is_whole) => {
                let is_object = *is_whole || is_true(schema, "x-kubernetes-embedded-resource");
                match name {
                    "apiVersion" | "kind" if is_object => Some(Self::Text),
                    "metadata" if is_object => Some(Self::BuiltIn(StructuredType::object_meta())),
                    name => match schema.at(&["properties", name]) {
                        Some(part) => Some(Self::Custom(part.clone(), false)),
                        None => {
                            is_true(schema, "x-kubernetes-preserve-unknown-fields").then_some(Self::Anything)
                        }
                    },
                }
            }
            Self::Text | Self::Anything => None,
        }
    }
}

fn built_in_shape(built_in: StructuredType) -> MergeShape<ObjectType> {
    let list = |item: StructuredType, relation: ListRelation| MergeShape::List {
        item: ObjectType::BuiltIn(item),
        relation,
    };
    match built_in.shape() {
        StructuredShape::Text => MergeShape::Scalar(MergeScalar::Text),
        StructuredShape::Number => MergeShape::Scalar(MergeScalar::Number),
        StructuredShape::Boolean => MergeShape::Scalar(MergeScalar::Boolean),
        StructuredShape::Plain => MergeShape::Scalar(MergeScalar::Any),
        StructuredShape::Anything => MergeShape::Anything,
        StructuredShape::AtomicList(item) => list(item, ListRelation::Atomic),
        StructuredShape::Set(item) => list(item, ListRelation::Set),
        StructuredShape::KeyedList(item, keys) => list(item, ListRelation::Keyed(merge_keys(keys))),
        StructuredShape::Map(value, is_atomic) => {
            MergeShape::Map { value: ObjectType::BuiltIn(value), is_atomic }
        }
        StructuredShape::Structure(is_atomic) => MergeShape::Structure { is_atomic },
    }
}

fn merge_keys(keys: StructuredKeys) -> Vec<MergeKey> {
    let default = |text: &str| text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from);
    keys.iter().map(|(name, text)| MergeKey { name: name.into(), default: text.map(default) }).collect()
}

fn custom_shape(schema: &Value, is_whole: bool) -> MergeShape<ObjectType> {
    if is_true(schema, "x-kubernetes-int-or-string") {
        return MergeShape::Scalar(MergeScalar::Any);
    }
    match schema.str_at(&["type"]) {
        "string" => MergeShape::Scalar(MergeScalar::Text),
        "integer" | "number" => MergeShape::Scalar(MergeScalar::Number),
        "boolean" => MergeShape::Scalar(MergeScalar::Boolean),
        "array" => custom_list(schema),
        "object" => custom_object(schema, is_whole),
        _ if is_whole => custom_object(schema, is_whole),
        _ => MergeShape::Anything,
    }
}

/// A list whose type is not given is atomic.
fn custom_list(schema: &Value) -> MergeShape<ObjectType> {
    let items = schema.get("items");
    let item = items.map_or(ObjectType::Anything, |items| ObjectType::Custom(items.clone(), false));
    let relation = match schema.str_at(&["x-kubernetes-list-type"]) {
        "set" => ListRelation::Set,
        "map" => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array).unwrap_or_default();
            let key = |name: &Text| MergeKey {
                name: name.clone(),
                default: items.and_then(|items| items.at(&["properties", name, "default"])).cloned(),
            };
            let names = keys.iter().filter_map(|key| match key {
                Value::String(name) => Some(name),
                _ => None,
            });
            ListRelation::Keyed(names.map(key).collect())
        }
        _ => ListRelation::Atomic,
    };
    MergeShape::List { item, relation }
}

fn custom_object(schema: &Value, is_whole: bool) -> MergeShape<ObjectType> {
    let is_atomic = schema.str_at(&["x-kubernetes-map-type"]) == "atomic";
    let is_open = is_true(schema, "x-kubernetes-preserve-unknown-fields");
    let has_fields = is_whole || schema.get("properties").and_then(Value::as_object).is_some();
    match schema.get("additionalProperties") {
        _ if has_fields || is_open => MergeShape::Structure { is_atomic },
        Some(value @ Value::Object(_)) => {
            MergeShape::Map { value: ObjectType::Custom(value.clone(), false), is_atomic }
        }
        Some(Value::Bool(true)) => MergeShape::Map { value: ObjectType::Anything, is_atomic },
        _ => MergeShape::Anything,
    }
}

fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}
