//! From the table of Kubernetes' types to a JSON schema.

use kubewright_k8s::structured::{StructuredShape, StructuredType};
use kubewright_value::{Map, Text, Value};

use crate::object;

/// The maximum depth of a schema.
const MAX_DEPTH: usize = 12;

/// Values of fields, which the table does not have.
const ENUMS: &[(&str, &[&str])] = &[
    ("failurePolicy", &["Fail", "Ignore"]),
    ("matchPolicy", &["Exact", "Equivalent"]),
    ("reinvocationPolicy", &["Never", "IfNeeded"]),
    ("patchType", &["ApplyConfiguration", "JSONPatch"]),
    ("parameterNotFoundAction", &["Allow", "Deny"]),
    ("validationActions", &["Deny", "Warn", "Audit"]),
    ("reason", &["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"]),
];

/// Returns the schema of a kind of Kubernetes.
pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<Value> {
    let mut schema = of_type(StructuredType::of_kind(api_version, kind)?, 0);
    crate::convert::set(&mut schema, &["properties", "kind"], object([("const", kind.into())]));
    Some(schema)
}

/// Returns the values that a field of one of Kubernetes' policies may have.
pub(crate) fn values_of(field: &str) -> &'static [&'static str] {
    ENUMS.iter().find(|(name, _)| *name == field).map_or(&[], |(_, values)| values)
}

fn of_type(of: StructuredType, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return object([]);
    }
    let list = |item| object([("type", "array".into()), ("items", of_type(item, depth + 1))]);
    match of.shape() {
        StructuredShape::Text => object([("type", "string".into())]),
        StructuredShape::Number => object([("type", "integer".into())]),
        StructuredShape::Boolean => object([("type", "boolean".into())]),
        StructuredShape::Plain | StructuredShape::Anything => object([]),
        StructuredShape::AtomicList(item)
        | StructuredShape::Set(item)
        | StructuredShape::KeyedList(item, _) => list(item),
        StructuredShape::Map(value, _) => {
            object([("type", "object".into()), ("additionalProperties", of_type(value, depth + 1))])
        }
        StructuredShape::Structure(_) => {
            let fields = of.fields().map(|name| {
                let schema = of.field(name).map_or_else(|| object([]), |field| of_type(field, depth + 1));
                (Text::from(name), with_values(name, schema))
            });
            let properties: Map = fields.collect();
            object([("type", "object".into()), ("properties", properties.into())])
        }
    }
}

fn with_values(name: &str, mut schema: Value) -> Value {
    let values = values_of(name);
    if values.is_empty() {
        return schema;
    }
    let values = Value::array(values.iter().map(|value| Value::from(*value)).collect());
    match schema.str_at(&["type"]) {
        "string" => crate::convert::set(&mut schema, &["enum"], values),
        "array" => crate::convert::set(&mut schema, &["items", "enum"], values),
        _ => {}
    }
    schema
}
