//! The four shapes in which a document declares its parameters.
//!
//! | shape | where |
//! |---|---|
//! | the contract's | `spec.schema: {tier: "string \| default=small"}` |
//! | in parts | `spec.schema.parameters`, `.envOverrides`, `.types` |
//! | shorthand in a section | `spec.parameters.ocSchema`, `spec.environmentConfigs.ocSchema` |
//! | JSON Schema in a section | `spec.parameters.openAPIV3Schema`, `spec.environmentConfigs.openAPIV3Schema` |

use kubewright_value::{Map, Step, Value};

use super::{Schema, SchemaProblem, ShorthandOptions};
use kubewright_dialect_kit::fields::{article, child_path};

/// The schemas that a document declares.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Sections {
    /// The parameters of the developer.
    pub parameters: Option<Schema>,
    /// The parameters that may differ between environments.
    pub environment_configs: Option<Schema>,
}

/// The parts of `spec.schema`, with the older names after the newer.
const PARAMETERS: &[&str] = &["parameters"];
const ENVIRONMENT: &[&str] = &["environmentConfigs", "envOverrides"];
const TYPES: &str = "types";
/// The two ways of writing a section.
const WRAPPERS: [&str; 2] = ["openAPIV3Schema", "ocSchema"];

/// Returns the schemas of the `spec` of a Trait or ComponentType; problems are placed from the spec.
#[must_use]
pub fn read_sections(spec: &Value) -> (Sections, Vec<SchemaProblem>) {
    let mut problems = Vec::new();
    let mut sections = Sections::default();
    let schema = spec.get("schema").filter(|schema| !schema.is_null());
    if let Some(schema) = schema {
        let path = [Step::from("schema")];
        match schema.as_object() {
            Some(map) if is_in_parts(map) => sections = read_schema_parts(map, &path, &mut problems),
            Some(_) => sections.parameters = Some(read_schema_section(schema, &path, None, &mut problems)),
            None => {
                let message = format!("`schema` is {}, expected an object", article(schema.kind()));
                problems.push(SchemaProblem::new(path.to_vec(), message));
            }
        }
    }
    for (names, place) in
        [(PARAMETERS, &mut sections.parameters), (ENVIRONMENT, &mut sections.environment_configs)]
    {
        for name in names {
            let Some(value) = spec.get(name).filter(|value| !value.is_null()) else { continue };
            let path = [Step::from(*name)];
            if place.is_some() {
                let message = format!("`{name}` is declared twice; this one is not read");
                problems.push(SchemaProblem::new(path.to_vec(), message).help("keep one of the two"));
                continue;
            }
            *place = Some(read_schema_section(value, &path, None, &mut problems));
        }
    }
    (sections, problems)
}

/// Returns whether a `schema` is in parts: all its keys name parts and none is a field.
fn is_in_parts(map: &Map) -> bool {
    let is_part = |key: &str| PARAMETERS.contains(&key) || ENVIRONMENT.contains(&key) || key == TYPES;
    !map.is_empty() && map.iter().all(|(key, value)| is_part(key) && !matches!(value, Value::String(_)))
}

fn read_schema_parts(map: &Map, path: &[Step], problems: &mut Vec<SchemaProblem>) -> Sections {
    let types_path = child_path(path, TYPES);
    let types = map.get(TYPES).filter(|types| !types.is_null()).map(|types| (types, types_path.as_slice()));
    let mut part = |names: &[&str]| {
        let (name, value) = names
            .iter()
            .find_map(|name| map.get(name).filter(|value| !value.is_null()).map(|value| (*name, value)))?;
        Some(read_schema_section(value, &child_path(path, name), types, problems))
    };
    Sections { parameters: part(PARAMETERS), environment_configs: part(ENVIRONMENT) }
}

/// Reads one section: JSON Schema or shorthand, by its wrapper or else by its keys.
fn read_schema_section(
    value: &Value,
    path: &[Step],
    types: Option<(&Value, &[Step])>,
    problems: &mut Vec<SchemaProblem>,
) -> Schema {
    let named = |name: &str| value.get(name).filter(|inner| inner.as_str().is_none());
    if let Some(map) = value.as_object().filter(|_| WRAPPERS.iter().any(|name| named(name).is_some())) {
        for name in map.keys().filter(|name| !WRAPPERS.contains(&name.as_str())) {
            let problem =
                SchemaProblem::new(child_path(path, name.as_str()), format!("unknown field `{name}`"));
            problems.push(problem.help(format!("known here: {}", WRAPPERS.join(", "))).warning());
        }
    }
    let (schema, found) = if let Some(inner) = named("openAPIV3Schema") {
        Schema::open_api(inner, &child_path(path, "openAPIV3Schema"))
    } else if let Some(inner) = named("ocSchema") {
        Schema::shorthand((inner, &child_path(path, "ocSchema")), types, ShorthandOptions::default())
    } else if looks_like_json_schema(value) {
        Schema::open_api(value, path)
    } else {
        Schema::shorthand((value, path), types, ShorthandOptions::default())
    };
    problems.extend(found);
    schema
}

/// Returns whether a section without a wrapper is JSON Schema: it has `type: object` or keys that no shorthand has.
fn looks_like_json_schema(value: &Value) -> bool {
    let is_object = value.get("type").and_then(Value::as_str) == Some("object");
    let has_properties = value.at(&["properties"]).and_then(Value::as_object).is_some_and(|properties| {
        !properties.is_empty()
            && properties.values().all(|inner| inner.get("type").is_some() || inner.get("$ref").is_some())
    });
    is_object || has_properties || value.get("$defs").is_some()
}
