//! What a schema says about one field.

use kubewright_k8s::structured::{StructuredShape, StructuredType};
use kubewright_value::{Step, Text, Value};

use crate::{kubernetes, schema_of};

/// The maximum number of references that are followed for one step.
const MAX_REFERENCES: usize = 8;

/// What is known about a field.
#[derive(Debug, Clone)]
pub struct FieldSchema {
    place: SchemaPlace,
    name: Text,
}

#[derive(Debug, Clone)]
enum SchemaPlace {
    /// A part of a JSON schema, with the whole of it for references.
    Json(&'static Value, &'static Value),
    /// A type of Kubernetes.
    Kubernetes(StructuredType),
}

/// Returns whether objects of a kind have a schema here.
#[must_use]
pub fn is_known_kind(api_version: &str, kind: &str) -> bool {
    root_of(api_version, kind).is_some()
}

/// Returns what is known about the field at `path` of objects of a kind.
#[must_use]
pub fn field_schema(api_version: &str, kind: &str, path: &[Step]) -> Option<FieldSchema> {
    let root = FieldSchema { place: root_of(api_version, kind)?, name: Text::default() };
    path.iter().try_fold(root, |here, step| here.step(step))
}

fn root_of(api_version: &str, kind: &str) -> Option<SchemaPlace> {
    if let Some(schema) = schema_of(kind).filter(|schema| has_version(schema, api_version)) {
        return Some(SchemaPlace::Json(schema, schema));
    }
    StructuredType::of_kind(api_version, kind).map(SchemaPlace::Kubernetes)
}

/// Returns whether a schema is that of `api_version`: its group, where versions are listed.
fn has_version(schema: &Value, api_version: &str) -> bool {
    let Some(own) = schema.at(&["properties", "apiVersion"]) else { return true };
    let group = |version: &str| version.split('/').next().unwrap_or_default().to_owned();
    let fits = |known: &Value| known.as_str().is_some_and(|known| group(known) == group(api_version));
    match (own.get("enum").and_then(Value::as_array), own.get("const")) {
        (Some(versions), _) => versions.iter().any(fits),
        (None, Some(version)) => fits(version),
        (None, None) => true,
    }
}

impl FieldSchema {
    /// Returns what is known one step further.
    #[must_use]
    pub fn step(&self, step: &Step) -> Option<Self> {
        let name = match step {
            Step::Key(key) => key.clone(),
            Step::Index(_) => self.name.clone(),
        };
        let place = match (&self.place, step) {
            (SchemaPlace::Kubernetes(here), Step::Key(key)) => SchemaPlace::Kubernetes(match here.shape() {
                StructuredShape::Map(value, _) => value,
                _ => here.field(key)?,
            }),
            (SchemaPlace::Kubernetes(here), Step::Index(_)) => SchemaPlace::Kubernetes(match here.shape() {
                StructuredShape::AtomicList(item)
                | StructuredShape::Set(item)
                | StructuredShape::KeyedList(item, _) => item,
                _ => return None,
            }),
            (SchemaPlace::Json(root, here), step) => {
                let next = alternatives(root, here).into_iter().find_map(|here| match step {
                    Step::Key(key) => {
                        here.get("properties").and_then(|properties| properties.get(key)).or_else(|| {
                            here.get("additionalProperties").filter(|more| more.as_object().is_some())
                        })
                    }
                    Step::Index(_) => here.get("items"),
                });
                SchemaPlace::Json(root, next?)
            }
        };
        Some(Self { place, name })
    }

    /// Returns the names of the fields below it, sorted as its source has them.
    #[must_use]
    pub fn fields(&self) -> Vec<&'static str> {
        match &self.place {
            SchemaPlace::Kubernetes(here) => here.fields().collect(),
            SchemaPlace::Json(root, here) => {
                let mut names: Vec<&'static str> = Vec::new();
                for here in alternatives(root, here) {
                    let properties = here.get("properties").and_then(Value::as_object);
                    for name in properties.into_iter().flat_map(|map| map.keys()) {
                        if !names.contains(&name.as_str()) {
                            names.push(name.as_str());
                        }
                    }
                }
                names
            }
        }
    }

    /// Returns the values that it may have, as they are written; empty where it may have any.
    #[must_use]
    pub fn values(&self) -> Vec<String> {
        match &self.place {
            SchemaPlace::Kubernetes(here) => match here.shape() {
                StructuredShape::Boolean => vec!["true".to_owned(), "false".to_owned()],
                _ => kubernetes::values_of(&self.name).iter().map(|value| (*value).to_owned()).collect(),
            },
            SchemaPlace::Json(root, here) => {
                let mut values: Vec<String> = Vec::new();
                for here in alternatives(root, here) {
                    let listed = here.get("enum").and_then(Value::as_array).unwrap_or_default();
                    let all = listed.iter().chain(here.get("const"));
                    values.extend(
                        all.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
                    );
                    if here.str_at(&["type"]) == "boolean" {
                        values.extend(["true".to_owned(), "false".to_owned()]);
                    }
                }
                values
            }
        }
    }

    /// Returns what it is for; empty where that is not known.
    #[must_use]
    pub fn description(&self) -> &'static str {
        match &self.place {
            SchemaPlace::Kubernetes(_) => "",
            SchemaPlace::Json(root, here) => {
                let mut found =
                    alternatives(root, here).into_iter().map(|here| here.str_at(&["description"]));
                found.find(|text| !text.is_empty()).unwrap_or_default()
            }
        }
    }

    /// Returns its type in a word, such as `string` or `list`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match &self.place {
            SchemaPlace::Kubernetes(here) => match here.shape() {
                StructuredShape::Text => "string",
                StructuredShape::Number => "integer",
                StructuredShape::Boolean => "boolean",
                StructuredShape::Plain | StructuredShape::Anything => "any",
                StructuredShape::AtomicList(_) | StructuredShape::Set(_) | StructuredShape::KeyedList(..) => {
                    "list"
                }
                StructuredShape::Map(..) => "map",
                StructuredShape::Structure(_) => "object",
            },
            SchemaPlace::Json(root, here) => {
                let mut types = alternatives(root, here).into_iter().map(|here| here.str_at(&["type"]));
                match types.find(|name| !name.is_empty()) {
                    Some("array") => "list",
                    Some(name) => name,
                    None => "any",
                }
            }
        }
    }

    /// Returns whether it is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.type_name() == "list"
    }
}

/// Returns a schema and those that it refers to or allows.
fn alternatives(root: &'static Value, schema: &'static Value) -> Vec<&'static Value> {
    let mut found = vec![schema];
    let mut at = 0;
    while let Some(here) = found.get(at).copied() {
        at += 1;
        if at > MAX_REFERENCES {
            break;
        }
        let reference = here.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/"));
        found.extend(reference.and_then(|path| root.at(&path.split('/').collect::<Vec<_>>())));
        for key in ["anyOf", "oneOf", "allOf"] {
            found.extend(here.get(key).and_then(Value::as_array).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn field(kind: (&str, &str), path: &str) -> FieldSchema {
        let steps: Vec<Step> = path
            .split('.')
            .filter(|name| !name.is_empty())
            .map(|name| name.parse::<usize>().map_or_else(|_| Step::from(name), Step::Index))
            .collect();
        field_schema(kind.0, kind.1, &steps).unwrap_or_else(|| panic!("no field {path}"))
    }

    #[test]
    fn a_definition_a_type_and_a_written_schema_are_walked_alike() {
        let policy = ("kyverno.io/v1", "ClusterPolicy");
        let rule = field(policy, "spec.rules.0");
        assert!(rule.fields().contains(&"validate"), "{:?}", rule.fields());
        assert_eq!(field(policy, "spec.failurePolicy").values(), ["Ignore", "Fail"]);
        assert!(field(policy, "spec.rules.0.match").description().contains("any"));
        assert!(field(("v1", "Pod"), "spec.containers.0").fields().contains(&"image"));
        let test = ("kubewright.dev/v1alpha1", "Test");
        assert!(field(test, "cases.0").fields().contains(&"outcome"));
        assert_eq!(field(test, "operation").values(), ["CREATE", "UPDATE", "DELETE", "CONNECT"]);
    }

    #[test]
    fn policies_in_cel_have_the_fields_of_the_api_server() {
        let policy = ("policies.kyverno.io/v1", "ValidatingPolicy");
        let names = field(policy, "spec.validations.0").fields();
        assert_eq!(names, ["expression", "message", "messageExpression", "reason"]);
        assert!(!field(policy, "spec.validations.0.expression").description().is_empty());
        let names = field(policy, "spec.matchConstraints.resourceRules.0").fields();
        assert!(names.contains(&"apiGroups"), "{names:?}");
    }

    #[test]
    fn kinds_without_a_definition_have_the_fields_of_the_table() {
        let names = field(("openchoreo.dev/v1alpha1", "Trait"), "spec.patches.0.operations.0").fields();
        assert_eq!(names, ["op", "path", "value"]);
        assert_eq!(
            field(("kubepattern.it/v1", "Pattern"), "spec.topology").values(),
            ["SINGLE", "LEADER_FOLLOWER"]
        );
    }

    #[test]
    fn a_kind_of_another_group_is_not_known() {
        assert!(!is_known_kind("example.com/v1", "ClusterPolicy"));
        assert!(is_known_kind("kyverno.io/v2beta1", "ClusterPolicy"));
    }

    #[test]
    fn every_line_of_the_table_names_a_field() {
        for section in crate::fields::SECTIONS.iter() {
            assert!(section.kinds.iter().all(|kind| schema_of(kind).is_some()), "{:?}", section.kinds);
        }
        let count =
            |kind: &str| schema_of(kind).expect("a schema").to_string().matches("description").count();
        assert!(count("ClusterPolicy") > 40, "{}", count("ClusterPolicy"));
    }
}
