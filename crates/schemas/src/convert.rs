//! From the OpenAPI schema of a CustomResourceDefinition to a JSON schema.

use kubewright_value::{Map, Text, Value};

use crate::{kubernetes, object};

/// The dialect of JSON schema.
const JSON_SCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// The maximum depth of a schema.
const MAX_DEPTH: usize = 48;

/// The fields of policies in CEL that are those of the API server's own policies.
const SHARED_FIELDS: [&str; 7] = [
    "matchConstraints",
    "matchConditions",
    "variables",
    "auditAnnotations",
    "validations",
    "mutations",
    "paramKind",
];

/// Returns the schemas of the kind that a CustomResourceDefinition defines; that of the first version that is served.
pub(crate) fn of_definition(definition: &Value) -> Option<(Text, Value)> {
    let kind = definition.str_at(&["spec", "names", "kind"]);
    let group = definition.str_at(&["spec", "group"]);
    let versions = definition.at(&["spec", "versions"])?.as_array()?;
    let stored = versions.iter().find(|version| version.get("storage") == Some(&true.into()));
    let schema = stored.or(versions.first())?.at(&["schema", "openAPIV3Schema"])?;
    let names = versions.iter().map(|version| format!("{group}/{}", version.str_at(&["name"])).into());
    let mut schema = plain(schema, 0);
    set(&mut schema, &["properties", "apiVersion"], object([("enum", Value::array(names.collect()))]));
    set(&mut schema, &["properties", "kind"], object([("const", kind.into())]));
    if group == "policies.kyverno.io" {
        share_fields(&mut schema);
    }
    Some((kind.into(), schema))
}

/// Returns a schema with its title and address, unless it has them.
pub(crate) fn titled(kind: &str, schema: Value) -> Value {
    if schema.get("$id").is_some() {
        return schema;
    }
    let name = kind.to_lowercase();
    let mut map = Map::from([
        ("$schema", Value::from(JSON_SCHEMA)),
        ("$id", format!("https://kubewright.dev/schemas/{name}.schema.json").into()),
        ("title", kind.into()),
    ]);
    for (key, value) in schema.as_object().into_iter().flat_map(Map::iter) {
        map.insert(key.clone(), value.clone());
    }
    map.into()
}

/// Returns a schema without what only the API server understands.
fn plain(schema: &Value, depth: usize) -> Value {
    match schema {
        Value::Object(map) if depth < MAX_DEPTH => {
            let mut found = Map::new();
            for (key, value) in map.iter() {
                match key.as_str() {
                    "nullable" | "format" => {}
                    key if key.starts_with("x-kubernetes-") => {}
                    _ => {
                        found.insert(key.clone(), plain(value, depth + 1));
                    }
                }
            }
            if map.get("nullable") == Some(&true.into())
                && let Some(own) = map.get("type").cloned()
            {
                found.insert("type".into(), Value::array(vec![own, "null".into()]));
            }
            found.into()
        }
        Value::Array(items) => Value::array(items.iter().map(|item| plain(item, depth + 1)).collect()),
        other => other.clone(),
    }
}

/// Replaces what a definition leaves open by the types of the API server's own policies.
fn share_fields(schema: &mut Value) {
    for (api_version, kind) in crate::KUBERNETES_KINDS {
        let Some(own) = kubernetes::of_kind(api_version, kind) else { continue };
        for field in SHARED_FIELDS {
            let path = ["properties", "spec", "properties", field];
            let is_open = schema.at(&path).is_none_or(|known| known.at(&["items", "properties"]).is_none());
            if let Some(found) = own.at(&path).filter(|_| is_open) {
                set(schema, &path, found.clone());
            }
        }
    }
}

/// Sets the value at the end of `keys`, if there is an object for it.
pub(crate) fn set(value: &mut Value, keys: &[&str], new: Value) {
    let Some((last, before)) = keys.split_last() else { return };
    let mut here = value;
    for key in before {
        let Some(next) = here.as_object_mut().and_then(|map| map.get_mut(key)) else { return };
        here = next;
    }
    if let Some(map) = here.as_object_mut() {
        map.insert((*last).into(), new);
    }
}
