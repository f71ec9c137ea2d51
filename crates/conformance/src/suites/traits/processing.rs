//! Whole traits, or one stage of them, over `{resource, targetPlane}` with all variables.

use kubewright_engine::Diagnostic;
use kubewright_traits::{CompiledTrait, Manifest, Plane, RenderContext, RenderOptions};
use kubewright_value::{Document, Map, Source, Text, Value};

use crate::suites::{case_list, case_text, expect_equal};

/// Runs `{trait, context, resources}`, which gives `{resources}`. A stage alone is the trait without the others.
pub(super) fn stages(case: &Value, stages: &[&str]) -> Result<(), String> {
    let input = case.get("input").unwrap_or(&Value::Null);
    let mut spec = Map::new();
    let written = input.get("trait").and_then(|found| found.get("spec")).and_then(Value::as_object);
    for (key, value) in written.into_iter().flat_map(Map::iter) {
        if stages.contains(&key.as_str()) {
            spec.insert(key.clone(), value.clone());
        }
    }
    let name = input.get("trait").and_then(|found| found.get("metadata")).cloned().unwrap_or_default();
    judge_processing_case(case, apply_recorded_trait(input, spec, name))
}

/// Finds the targets of `{target, resources}`, by applying a trait that removes them.
pub(super) fn targets(case: &Value) -> Result<(), String> {
    let input = case.get("input").unwrap_or(&Value::Null);
    // The recording writes what is not set as an empty text. A plane is always set before targets are looked for.
    let set = |key: &&str| !case_text(input.get("target").unwrap_or(&Value::Null), key).is_empty();
    let field =
        |key: &str| input.get("target").and_then(|target| target.get(key)).cloned().unwrap_or_default();
    let target: Map =
        ["kind", "group", "version"].into_iter().filter(set).map(|key| (key.into(), field(key))).collect();
    let planes = match case_text(input.get("target").unwrap_or(&Value::Null), "targetPlane") {
        "" => vec!["dataplane", "observabilityplane"],
        plane => vec![plane],
    };
    let removal = |plane| {
        Map::from([("target", Value::object(target.clone())), ("targetPlane", Value::from(plane))]).into()
    };
    let spec = Map::from([("removes", Value::array(planes.into_iter().map(removal).collect()))]);
    let kept = apply_recorded_trait(input, spec, Map::from([("name", "t".into())]).into())?;
    let kept = case_list(&kept, "resources");
    let found = case_list(input, "resources").iter().filter(|resource| !kept.contains(resource)).cloned();
    judge_processing_case(case, Ok(Map::from([("resources", Value::array(found.collect()))]).into()))
}

fn apply_recorded_trait(input: &Value, spec: Map, metadata: Value) -> Result<Value, String> {
    let document = Map::from([
        ("apiVersion", "v1alpha1".into()),
        ("kind", "Trait".into()),
        ("metadata", metadata),
        ("spec", Value::object(spec)),
    ]);
    let document = Document::made(document.into(), Source::new("case", ""));
    let empty = Map::new();
    let given = input.get("context").and_then(Value::as_object).unwrap_or(&empty);
    let names: Vec<Text> = given.keys().cloned().collect();
    let context =
        given.iter().fold(RenderContext::new(), |context, (name, value)| context.with(name, value.clone()));
    let (compiled, diagnostics) = CompiledTrait::compile(&document, &names);
    let compiled = compiled.ok_or_else(|| first_error(&diagnostics).unwrap_or_default())?;
    let manifests = case_list(input, "resources").iter().enumerate().map(|(number, one)| {
        let plane = match case_text(one, "targetPlane") {
            "observabilityplane" => Plane::Observability,
            _ => Plane::Data,
        };
        Manifest::given(number, one.get("resource").cloned().unwrap_or_default()).on(plane)
    });
    let rendering = compiled.apply(manifests.collect(), &context, &RenderOptions::default());
    if let Some(message) = first_error(&rendering.diagnostics) {
        return Err(message);
    }
    // What the reader of traits refuses is never run; here only what was lost by it.
    let lost =
        diagnostics.iter().filter(|found| ["KW-R004"].contains(&found.code.id)).cloned().collect::<Vec<_>>();
    if let Some(message) = first_error(&lost) {
        return Err(message);
    }
    let resources = rendering.manifests.into_iter().map(|manifest| {
        let plane = if manifest.plane == Plane::Data { "dataplane" } else { "observabilityplane" };
        Map::from([("resource", manifest.object), ("targetPlane", plane.into())]).into()
    });
    Ok(Map::from([("resources", Value::array(resources.collect()))]).into())
}

fn first_error(diagnostics: &[Diagnostic]) -> Option<String> {
    diagnostics.iter().find(|found| found.is_error()).map(ToString::to_string)
}

fn judge_processing_case(case: &Value, answer: Result<Value, String>) -> Result<(), String> {
    match (answer, case.get("error")) {
        (Err(_), Some(_)) => Ok(()),
        (Ok(found), Some(error)) => Err(format!("expected the error {error}, got {found}")),
        (Err(message), None) => Err(format!("unexpected error: {message}")),
        (Ok(found), None) => expect_equal(&found, &planes_set(case.get("expected").unwrap_or(&Value::Null))),
    }
}

/// The recorded functions leave a plane empty that the caller of all of them fills.
fn planes_set(expected: &Value) -> Value {
    let set = |resource: &Value| {
        let plane = match case_text(resource, "targetPlane") {
            "" => "dataplane",
            plane => plane,
        };
        Map::from([
            ("resource", resource.get("resource").cloned().unwrap_or_default()),
            ("targetPlane", plane.into()),
        ])
        .into()
    };
    Map::from([("resources", Value::array(case_list(expected, "resources").iter().map(set).collect()))])
        .into()
}
