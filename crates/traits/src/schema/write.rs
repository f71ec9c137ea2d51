//! The writer of JSON Schema, in the form of a CustomResourceDefinition.

use kubewright_value::{Map, Number, Value};

use super::node::{AdditionalProperties, CountRange, SchemaNode};

/// Returns `node` as JSON Schema. Empty keywords are left out; `required` is sorted.
pub(super) fn write_json_schema(node: &SchemaNode) -> Value {
    let mut map = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(key.into(), value);
        }
    };
    set("title", node.note("title").cloned());
    set("description", node.note("description").cloned());
    set("type", node.kind.map(|kind| Value::from(kind.name())));
    set("format", node.format.clone().map(Value::from));
    set("nullable", true_value(node.is_nullable));
    set("default", node.default.clone());
    set("enum", (!node.choices.is_empty()).then(|| Value::array(node.choices.clone())));
    set("minimum", node.minimum.map(number_value));
    set("exclusiveMinimum", true_value(node.excludes_minimum));
    set("maximum", node.maximum.map(number_value));
    set("exclusiveMaximum", true_value(node.excludes_maximum));
    set("multipleOf", node.multiple_of.map(number_value));
    let ranges: [(&str, &str, CountRange); 3] = [
        ("minLength", "maxLength", node.length),
        ("minItems", "maxItems", node.count),
        ("minProperties", "maxProperties", node.size),
    ];
    for (least, most, range) in ranges {
        set(least, range.least.map(Value::from));
        set(most, range.most.map(Value::from));
    }
    set("pattern", node.pattern.as_ref().map(|pattern| Value::from(pattern.as_str())));
    set("uniqueItems", true_value(node.is_unique));
    set("items", node.items.as_deref().map(write_json_schema));
    let properties = node.properties.iter().map(|(name, inner)| (name.clone(), write_json_schema(inner)));
    set("properties", (!node.properties.is_empty()).then(|| Value::object(properties.collect())));
    let patterns =
        node.patterns.iter().map(|(pattern, inner)| (pattern.as_str().into(), write_json_schema(inner)));
    set("patternProperties", (!node.patterns.is_empty()).then(|| Value::object(patterns.collect())));
    let required = node.required.iter().cloned().map(Value::from);
    set("required", (!node.required.is_empty()).then(|| Value::array(required.collect())));
    set(
        "additionalProperties",
        match &node.additional {
            AdditionalProperties::Open => None,
            AdditionalProperties::Any => Some(Value::Bool(true)),
            AdditionalProperties::Closed => Some(Value::Bool(false)),
            AdditionalProperties::Each(inner) => Some(write_json_schema(inner)),
        },
    );
    for (key, nodes) in [("allOf", &node.all_of), ("anyOf", &node.any_of), ("oneOf", &node.one_of)] {
        set(key, (!nodes.is_empty()).then(|| Value::array(nodes.iter().map(write_json_schema).collect())));
    }
    set("not", node.not.as_deref().map(write_json_schema));
    set("x-kubernetes-int-or-string", true_value(node.is_int_or_string));
    set("x-kubernetes-preserve-unknown-fields", true_value(node.keeps_unknown));
    for (key, value) in &node.notes {
        set(key, Some(value.clone()));
    }
    Value::object(map)
}

fn true_value(is_true: bool) -> Option<Value> {
    is_true.then_some(Value::Bool(true))
}

fn number_value(number: Number) -> Value {
    Value::from(number.normalized())
}
