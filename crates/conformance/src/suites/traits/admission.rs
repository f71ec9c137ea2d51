//! Admission of traits, component types and components.

use kubewright_engine::DiagnosticLevel;
use kubewright_traits as traits;
use kubewright_value::{Document, Map, Source, Value, json, yaml};

use super::super::{case_list, case_text};

/// The spec of a trait with its schemas.
pub(super) fn trait_spec(case: &Value) -> Result<(), String> {
    let input = case.get("input").unwrap_or(&Value::Null);
    let mut spec = input.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, schema) in
        [("parameters", "parametersSchema"), ("environmentConfigs", "environmentConfigsSchema")]
    {
        if let Some(schema) = input.get(schema).filter(|schema| !schema.is_null()) {
            let section: Map = [("openAPIV3Schema".into(), schema.clone())].into_iter().collect();
            spec.insert(key.into(), Value::object(section));
        }
    }
    judge_error_count(case, &document_errors(&spec_document("Trait", spec)))
}

/// The resources of a component type.
pub(super) fn check_type_resources(case: &Value) -> Result<(), String> {
    let spec = case.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
    judge_error_count(case, &document_errors(&spec_document("ComponentType", spec)))
}

/// The traits of a component and those that its type allows, or has already.
pub(super) fn component_traits(case: &Value) -> Result<(), String> {
    let input = case.get("input").unwrap_or(&Value::Null);
    let is_about_names = case_text(case, "function") == "ValidateTraitInstanceNameUniqueness";
    let used = with_trait_names(case_list(input, "componentTraits"));
    let mut kind: Map =
        [("traits".into(), with_trait_names(case_list(input, "embeddedTraits")))].into_iter().collect();
    let allowed =
        if is_about_names { used.clone() } else { input.get("allowedTraits").cloned().unwrap_or_default() };
    kind.insert("allowedTraits".into(), names_alone(&allowed));
    let component = spec_document("Component", [("traits".into(), used)].into_iter().collect());
    let kind = spec_document("ComponentType", kind);
    let mut found = document_errors(&kind);
    found.extend(document_errors(&component));
    found.extend(traits::check_component_traits(&kind, &component).iter().map(ToString::to_string));
    match (case.get("error"), found.as_slice()) {
        (None, []) => Ok(()),
        (None, found) => Err(format!("expected no error, got {found:?}")),
        (Some(error), []) => Err(format!("expected an error: {error}")),
        (Some(_), _) => Ok(()),
    }
}

/// The recorded tests leave out the names of traits that do not matter.
fn with_trait_names(uses: &[Value]) -> Value {
    let with_name = |one: &Value| {
        let mut one = one.clone();
        if case_text(&one, "name").is_empty()
            && let Some(map) = one.as_object_mut()
        {
            map.insert("name".into(), Value::from("any"));
        }
        one
    };
    Value::array(uses.iter().map(with_name).collect())
}

fn names_alone(uses: &Value) -> Value {
    let name = |one: &Value| {
        let fields = ["kind", "name"].into_iter().filter_map(|key| Some((key.into(), one.get(key)?.clone())));
        Value::object(fields.collect())
    };
    Value::array(uses.as_array().unwrap_or_default().iter().map(name).collect())
}

fn spec_document(kind: &str, spec: Map) -> Document {
    let metadata: Map = [("name".into(), Value::from("case"))].into_iter().collect();
    let whole: Map = [
        ("apiVersion".into(), Value::from("openchoreo.dev/v1alpha1")),
        ("kind".into(), Value::from(kind)),
        ("metadata".into(), Value::object(metadata)),
        ("spec".into(), Value::object(spec)),
    ]
    .into_iter()
    .collect();
    let value = Value::object(whole);
    let source = Source::new("case.json", json::to_pretty(&value));
    let read = yaml::read(&source).documents.into_iter().next();
    read.unwrap_or_else(|| Document::made(value, source))
}

fn document_errors(document: &Document) -> Vec<String> {
    let found = traits::check_trait_document(document);
    let errors = found.iter().filter(|diagnostic| diagnostic.severity() == DiagnosticLevel::Error);
    errors.map(ToString::to_string).collect()
}

/// Compares the number of errors; their places are tested elsewhere.
fn judge_error_count(case: &Value, errors: &[String]) -> Result<(), String> {
    let expected = case_list(case.get("expected").unwrap_or(&Value::Null), "fieldErrors");
    match expected.len() == errors.len() {
        true => Ok(()),
        false => Err(format!("expected {} errors, got {errors:?}", expected.len())),
    }
}
