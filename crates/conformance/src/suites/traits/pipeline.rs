//! A component from its resources to its manifests, and the parts of a component type one by one.

use kubewright_engine::Diagnostic;
use kubewright_traits::{Manifest, Plane, RenderContext, RenderOptions, Rendering, ResourceLibrary};
use kubewright_value::{Document, Map, Value};

use super::TraitAnswer;
use super::context::{case_variables, compile_component_type, join_diagnostics, recorded_document};
use crate::suites::{case_list, case_text};

/// An annotation whose value is not compared, because the original hashes Go's print format.
const HASH_ANNOTATION_KEY: &str = "openchoreo.dev/dp-resource-hash";
/// The code of an environment without its data plane.
const NO_DATA_PLANE: &str = "KW-R059";
/// The name of resources without one.
const CASE_NAME: &str = "case";

/// Renders the component of a case. What the recording gives by hand is given here, too.
pub(super) fn render_component(input: &Value) -> TraitAnswer {
    let input = input.get("renderInput").unwrap_or(&Value::Null);
    let (library, found) = ResourceLibrary::read(&recorded_documents(input), &[]);
    fail(&found)?;
    // The original cannot do without a data plane; here that is a warning.
    if let Some(missing) = found.iter().find(|found| found.code.id == NO_DATA_PLANE) {
        return Err(missing.to_string());
    }
    let release = library.releases().first().ok_or("there is no release")?;
    let part = |key: &str| input.get(key).cloned().unwrap_or_default();
    let dependencies =
        Map::from([("items", part("dependencyItems")), ("resources", part("resourceDependencyItems"))]);
    let mut given =
        RenderContext::new().with("metadata", part("metadata")).with("dependencies", dependencies.into());
    if !case_text(input, "defaultNotificationChannel").is_empty() {
        let channel = Map::from([("defaultNotificationChannel", part("defaultNotificationChannel"))]);
        given.set("environment", channel.into());
    }
    let rendering = library.render(release, &given, &RenderOptions::default());
    let resources = resources_of(rendering)?;
    Ok(Map::from([("resources", resources)]).into())
}

/// Renders the templates of a component type.
pub(super) fn render_type_resources(input: &Value) -> TraitAnswer {
    let spec = Map::from([("resources", list_of(input, "templates"))]);
    Ok(Map::from([("resources", render_component_type(spec, input)?)]).into())
}

/// Creates a resource for every item, which contains all variables of the template.
pub(super) fn render_each_item(input: &Value) -> TraitAnswer {
    let variable = match case_text(input, "var") {
        "" => "item",
        variable => variable,
    };
    let context = input.get("context").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut names: Vec<&str> = context.keys().map(|name| name.as_str()).collect();
    names.retain(|name| *name != variable);
    names.push(variable);
    let seen = |name: &&str| ((*name).into(), Value::from(format!("${{{name}}}")));
    let data: Map = names.iter().map(seen).collect();
    let mut template = template_spec(&[("data", data.into())]);
    template.insert("forEach".into(), case_text(input, "forEach").into());
    template.insert("var".into(), variable.into());
    let made = render_component_type(Map::from([("resources", Value::array(vec![template.into()]))]), input)?;
    let contexts = made.as_array().unwrap_or_default().iter();
    let contexts = contexts.filter_map(|made| made.at(&["resource", "data"]).cloned()).collect();
    Ok(Map::from([("contexts", Value::array(contexts))]).into())
}

/// Lists the items of a loop over a value.
pub(super) fn list_loop_items(input: &Value) -> TraitAnswer {
    let context = Map::from([("value", input.get("value").cloned().unwrap_or_default())]);
    let looped = Map::from([("context", context.into()), ("forEach", "${value}".into())]);
    let contexts = render_each_item(&looped.into())?;
    let items = case_list(&contexts, "contexts").iter().filter_map(|context| context.get("item").cloned());
    Ok(Map::from([("items", Value::array(items.collect()))]).into())
}

pub(super) fn evaluate_validations(input: &Value) -> TraitAnswer {
    let spec = Map::from([("validations", list_of(input, "rules")), ("resources", Value::array(Vec::new()))]);
    render_component_type(spec, input)?;
    Ok(Map::from([("valid", true.into())]).into())
}

pub(super) fn include(input: &Value) -> TraitAnswer {
    let mut template = template_spec(&[]);
    if !case_text(input, "includeWhen").is_empty() {
        template.insert("includeWhen".into(), case_text(input, "includeWhen").into());
    }
    let made = render_component_type(Map::from([("resources", Value::array(vec![template.into()]))]), input)?;
    Ok(Map::from([("include", (!made.as_array().unwrap_or_default().is_empty()).into())]).into())
}

/// Judges manifests by the rules of several sources.
pub(super) fn assertions(input: &Value) -> TraitAnswer {
    let manifests = case_list(input, "resources").iter().enumerate().map(|(number, one)| {
        let plane = match case_text(one, "targetPlane") {
            "observabilityplane" => Plane::Observability,
            _ => Plane::Data,
        };
        Manifest::given(number, one.get("resource").cloned().unwrap_or_default()).on(plane)
    });
    let manifests: Vec<Manifest> = manifests.collect();
    let mut found = Vec::new();
    for pending in case_list(input, "pending") {
        let (context, more) = case_variables(pending.get("context"));
        let spec = Map::from([("postRenderValidations", list_of(pending, "validations"))]);
        found.extend(compile_component_type(spec, &more)?.judge(&manifests, &context));
    }
    fail(&found)?;
    Ok(Map::from([("valid", true.into())]).into())
}

/// Returns the resources of a component type of `spec`, with the `context` of `input` as variables.
fn render_component_type(spec: Map, input: &Value) -> TraitAnswer {
    let (context, more) = case_variables(input.get("context"));
    resources_of(compile_component_type(spec, &more)?.render(&context, &RenderOptions::default()))
}

fn resources_of(rendering: Rendering) -> TraitAnswer {
    fail(&rendering.diagnostics)?;
    let written = |manifest: Manifest| {
        let plane = if manifest.plane == Plane::Data { "dataplane" } else { "observabilityplane" };
        Map::from([("resource", without_hash(manifest.object)), ("targetPlane", plane.into())]).into()
    };
    Ok(Value::array(rendering.manifests.into_iter().map(written).collect()))
}

fn fail(diagnostics: &[Diagnostic]) -> Result<(), String> {
    let errors: Vec<Diagnostic> = diagnostics.iter().filter(|found| found.is_error()).cloned().collect();
    if errors.is_empty() { Ok(()) } else { Err(join_diagnostics(&errors)) }
}

/// Returns the expected resources with the default plane, which the recorded functions leave to their caller, and
/// without the hash.
pub(super) fn comparable(expected: &Value) -> Value {
    let whole = expected.get("output").unwrap_or(expected);
    let Some(resources) = whole.get("resources").and_then(Value::as_array) else { return expected.clone() };
    let one = |resource: &Value| {
        let plane = match case_text(resource, "targetPlane") {
            "" => "dataplane",
            plane => plane,
        };
        let object = without_hash(resource.get("resource").cloned().unwrap_or_default());
        Map::from([("resource", object), ("targetPlane", plane.into())]).into()
    };
    Map::from([("resources", Value::array(resources.iter().map(one).collect()))]).into()
}

/// Returns `object` with the hash replaced by a fixed word.
fn without_hash(mut object: Value) -> Value {
    let path = ["spec", "template", "metadata", "annotations"];
    let annotations = path.iter().try_fold(&mut object, |value, key| value.as_object_mut()?.get_mut(key));
    if let Some(hash) = annotations.and_then(|found| found.as_object_mut()?.get_mut(HASH_ANNOTATION_KEY)) {
        *hash = Value::from("(hash)");
    }
    object
}

/// Returns the resources of a case as files would hold them: the recorded structs do not name each other.
fn recorded_documents(input: &Value) -> Vec<Document> {
    let of = |key: &str| input.get(key).filter(|found| !found.is_null()).cloned();
    let component = of("component").map(|mut found| {
        let name = Value::object(Map::from([("name", CASE_NAME.into())]));
        set_recorded_field(&mut found, &["metadata", "name"], CASE_NAME.into());
        set_recorded_field(&mut found, &["spec", "componentType"], name);
        found
    });
    let component_type = of("componentType").map(|mut found| {
        // The cluster has allowed the traits before it renders them.
        let used =
            component.as_ref().and_then(|found| found.at(&["spec", "traits"])).and_then(Value::as_array);
        let allowed = |used: &Value| {
            let fields =
                ["kind", "name"].into_iter().filter_map(|key| Some((key.into(), used.get(key)?.clone())));
            Value::object(fields.collect())
        };
        let allowed = used.unwrap_or_default().iter().map(allowed).collect();
        set_recorded_field(&mut found, &["spec", "allowedTraits"], Value::array(allowed));
        set_recorded_field(&mut found, &["metadata", "name"], CASE_NAME.into());
        found
    });
    let workload = of("workload").map(|mut found| {
        set_recorded_field(&mut found, &["spec", "owner", "componentName"], CASE_NAME.into());
        found
    });
    let binding = of("releaseBinding").map(|mut found| {
        set_recorded_field(&mut found, &["spec", "owner", "componentName"], CASE_NAME.into());
        set_recorded_field(&mut found, &["spec", "environment"], CASE_NAME.into());
        found
    });
    let environment = of("environment").map(|mut found| {
        let plane = Value::object(Map::from([("kind", "DataPlane".into()), ("name", CASE_NAME.into())]));
        set_recorded_field(&mut found, &["metadata", "name"], CASE_NAME.into());
        set_recorded_field(&mut found, &["spec", "dataPlaneRef"], plane);
        found
    });
    let data_plane = of("dataPlane").map(|mut found| {
        set_recorded_field(&mut found, &["metadata", "name"], CASE_NAME.into());
        found
    });
    let mut all = vec![
        ("Component", component),
        ("ComponentType", component_type),
        ("Workload", workload),
        ("ReleaseBinding", binding),
        ("Environment", environment),
        ("DataPlane", data_plane),
    ];
    for found in case_list(input, "traits") {
        let kind = if case_text(found, "kind") == "ClusterTrait" { "ClusterTrait" } else { "Trait" };
        all.push((kind, Some(found.clone())));
    }
    for (name, found) in
        input.get("secretReferences").and_then(Value::as_object).into_iter().flat_map(Map::iter)
    {
        let mut found = found.clone();
        set_recorded_field(&mut found, &["metadata", "name"], name.clone().into());
        all.push(("SecretReference", Some(found)));
    }
    all.iter().filter_map(|(kind, found)| recorded_document(kind, found.as_ref())).collect()
}

fn set_recorded_field(value: &mut Value, path: &[&str], new: Value) {
    let Some(map) = value.as_object_mut() else { return };
    match path {
        [] => {}
        [last] => {
            map.insert((*last).into(), new);
        }
        [first, rest @ ..] => {
            if map.get(first).is_none_or(|inner| inner.as_object().is_none()) {
                map.insert((*first).into(), Map::new().into());
            }
            if let Some(inner) = map.get_mut(first) {
                set_recorded_field(inner, rest, new);
            }
        }
    }
}

fn list_of(input: &Value, key: &str) -> Value {
    Value::array(case_list(input, key).to_vec())
}

/// Returns a template of a resource with `more` in it.
fn template_spec(more: &[(&str, Value)]) -> Map {
    let mut object = Map::from([
        ("apiVersion", "v1".into()),
        ("kind", "ConfigMap".into()),
        ("metadata", Map::from([("name", CASE_NAME.into())]).into()),
    ]);
    for (key, value) in more {
        object.insert((*key).into(), value.clone());
    }
    Map::from([("id", CASE_NAME.into()), ("template", object.into())])
}
