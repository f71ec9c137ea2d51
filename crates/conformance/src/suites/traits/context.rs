//! The variables of expressions, computed from a component and its environment.

use kubewright_engine::Diagnostic;
use kubewright_traits::context::{self, ComponentContext};
use kubewright_traits::{CompiledComponentType, RenderContext};
use kubewright_value::{Document, Map, Source, Text, Value, json, yaml};

use super::TraitAnswer;
use crate::suites::{case_list, case_text};

pub(super) fn workload_answer(input: &Value) -> TraitAnswer {
    let workload =
        context::workload_of_document(recorded_document("Workload", input.get("workload")).as_ref());
    Ok(with_case_name("workload", workload))
}

pub(super) fn configurations_answer(input: &Value) -> TraitAnswer {
    let secrets = input.get("secretReferences").and_then(Value::as_object);
    let secrets: Vec<Document> = secrets
        .into_iter()
        .flat_map(Map::iter)
        .filter_map(|(name, secret)| {
            let mut secret = secret.clone();
            let metadata = Value::object(Map::from([("name", name.clone().into())]));
            secret.as_object_mut()?.insert("metadata".into(), metadata);
            recorded_document("SecretReference", Some(&secret))
        })
        .collect();
    let workload = recorded_document("Workload", input.get("workload"));
    Ok(with_case_name("configurations", context::configurations_of_document(workload.as_ref(), &secrets).0))
}

/// The lists of a Workload with those of the override, key by key.
pub(super) fn merge_answer(input: &Value) -> TraitAnswer {
    let mut workload = input.get("workload").cloned().unwrap_or_default();
    for key in ["env", "files"] {
        let over = input.at(&["overrides", "container", key]).and_then(Value::as_array);
        let path = ["spec", "container"];
        let container = path.iter().try_fold(&mut workload, |value, key| value.as_object_mut()?.get_mut(key));
        let (Some(over), Some(container)) = (over, container.and_then(Value::as_object_mut)) else {
            continue;
        };
        let base = container.get(key).and_then(Value::as_array).unwrap_or_default();
        let merged = context::merge_by_key(base, over, |item| case_text(item, "key"));
        container.insert(key.into(), Value::array(merged));
    }
    Ok(with_case_name("workload", workload))
}

/// The recording gives the prefix of names in place of the two names that it is made of.
pub(super) fn derived_answer(input: &Value) -> TraitAnswer {
    let part = |key: &str| input.get(key).cloned().unwrap_or_default();
    let (component, environment) =
        case_text(input, "prefix").rsplit_once('-').ok_or("the prefix has one part")?;
    let metadata = Map::from([("componentName", component.into()), ("environmentName", environment.into())]);
    let mut derived = context::derive_variables(
        &part("workload"),
        &part("configurations"),
        &part("dependencies"),
        &Value::object(metadata),
    );
    if let Some(map) = derived.as_object_mut() {
        map.insert("endpointResources".into(), recorded_endpoint_resources(input));
    }
    Ok(with_case_name("derived", derived))
}

pub(super) fn component_answer(input: &Value) -> TraitAnswer {
    let input = input.get("contextInput").unwrap_or(&Value::Null);
    let component = input.get("component").filter(|found| !found.is_null()).ok_or("no component")?;
    let kind = recorded_document("ComponentType", input.get("componentType")).ok_or("no component type")?;
    let configs = input.at(&["releaseBinding", "spec", "componentTypeEnvironmentConfigs"]);
    let variables = recorded_context(input)?.variables();
    finish_context(variables, &kind, component.at(&["spec", "parameters"]), configs)
}

pub(super) fn trait_answer(input: &Value) -> TraitAnswer {
    let input = input.get("contextInput").unwrap_or(&Value::Null);
    let found = recorded_document("Trait", input.get("trait")).ok_or("no trait")?;
    let instance = case_text(input, "instanceName");
    if instance.is_empty() {
        return Err("no instance name".to_owned());
    }
    let name = found.value.at(&["metadata", "name"]).cloned().unwrap_or_default();
    let mut variables = recorded_context(input)?.variables();
    variables.push(("trait", Map::from([("name", name), ("instanceName", instance.into())]).into()));
    finish_context(
        variables,
        &found,
        input.get("resolvedParameters"),
        input.get("resolvedEnvironmentConfigs"),
    )
}

/// The values that a component type binds for its only trait.
pub(super) fn bindings_answer(input: &Value) -> TraitAnswer {
    let used = input.get("embeddedTrait").cloned().unwrap_or_default();
    let (context, more) = case_variables(input.get("context"));
    let spec = Map::from([("traits", Value::array(vec![used]))]);
    let (bindings, errors) = compile_component_type(spec, &more)?.bindings(&context);
    if !errors.is_empty() {
        return Err(join_diagnostics(&errors));
    }
    let (parameters, configs) = bindings.into_iter().next().ok_or("no trait")?;
    Ok(Value::object(Map::from([("parameters", parameters), ("environmentConfigs", configs)])))
}

/// Returns the component type of `spec`, if there is no error in it.
pub(super) fn compile_component_type(spec: Map, more: &[Text]) -> Result<CompiledComponentType, String> {
    let whole = Map::from([("metadata", Map::new().into()), ("spec", spec.into())]);
    let document = recorded_document("ComponentType", Some(&whole.into())).ok_or("no document")?;
    let (compiled, diagnostics) = CompiledComponentType::compile(&document, more);
    let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if !errors.is_empty() {
        return Err(join_diagnostics(&errors));
    }
    compiled.ok_or_else(|| "no component type".to_owned())
}

/// Returns the variables of a case, and their names.
pub(super) fn case_variables(context: Option<&Value>) -> (RenderContext, Vec<Text>) {
    let given = context.and_then(Value::as_object).cloned().unwrap_or_default();
    let more = given.keys().cloned().collect();
    (
        given.iter().fold(RenderContext::new(), |context, (name, value)| context.with(name, value.clone())),
        more,
    )
}

/// The resources around a component are there, and so is all that the platform gives by hand.
fn recorded_context(input: &Value) -> Result<ComponentContext, String> {
    let part = |key: &str| input.get(key).cloned().unwrap_or_default();
    let data_plane = recorded_document("DataPlane", input.get("dataPlane")).ok_or("no data plane")?;
    let environment = recorded_document("Environment", input.get("environment")).ok_or("no environment")?;
    let channel = case_text(input, "defaultNotificationChannel");
    let (data_plane, environment) = context::planes_of_documents(&data_plane, &environment, Some(channel))
        .ok_or("the planes cannot be read")?;
    let metadata = part("metadata");
    let missing = context::missing_metadata(&metadata);
    if !missing.is_empty() {
        return Err(format!("the metadata lack {}", missing.join(", ")));
    }
    let dependencies = part("dependencies");
    Ok(ComponentContext {
        metadata,
        data_plane,
        environment,
        workload: part("workloadData"),
        configurations: part("configurations"),
        dependencies: context::dependencies_variable(
            case_list(&dependencies, "items"),
            case_list(&dependencies, "resources"),
        ),
        endpoint_resources: recorded_endpoint_resources(input),
    })
}

/// The recording reads the descriptions of endpoints elsewhere.
fn recorded_endpoint_resources(input: &Value) -> Value {
    let found = input.get("endpointResources").filter(|found| !found.is_null());
    found.cloned().unwrap_or_else(|| Value::object(Map::new()))
}

fn finish_context(
    variables: Vec<(&'static str, Value)>,
    declaring: &Document,
    parameters: Option<&Value>,
    configs: Option<&Value>,
) -> TraitAnswer {
    let given = |value: Option<&Value>| reparse_document(value.unwrap_or(&Value::Null));
    let (parameters, configs, diagnostics) =
        context::parameters_of_document(declaring, &given(parameters), &given(configs));
    let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if !errors.is_empty() {
        return Err(join_diagnostics(&errors));
    }
    let mut map: Map = variables.into_iter().map(|(name, value)| (name.into(), value)).collect();
    map.insert("parameters".into(), parameters);
    map.insert("environmentConfigs".into(), configs);
    Ok(with_case_name("context", Value::object(map)))
}

/// Returns the document of a recorded resource. The recording leaves out its kind and often its name, and writes
/// unset fields of a Go struct as null.
pub(super) fn recorded_document(kind: &str, recorded: Option<&Value>) -> Option<Document> {
    let mut value = recorded.filter(|recorded| !recorded.is_null())?.clone();
    let map = value.as_object_mut()?;
    map.insert("apiVersion".into(), "openchoreo.dev/v1alpha1".into());
    map.insert("kind".into(), kind.into());
    map.remove("status");
    let metadata = map.get_mut("metadata").and_then(Value::as_object_mut)?;
    if metadata.get("name").is_none() {
        metadata.insert("name".into(), "case".into());
    }
    let spec = map.get_mut("spec").and_then(Value::as_object_mut);
    if let Some(spec) = spec {
        let absent: Vec<_> =
            spec.iter().filter(|(_, value)| value.is_null()).map(|(key, _)| key.clone()).collect();
        absent.iter().for_each(|key| drop(spec.remove(key)));
    }
    Some(reparse_document(&value))
}

/// Returns `value` as a document with positions.
pub(super) fn reparse_document(value: &Value) -> Document {
    let source = Source::new("case.json", json::to_pretty(value));
    let read = yaml::read(&source).documents.into_iter().next();
    read.unwrap_or_else(|| Document::made(value.clone(), source))
}

pub(super) fn join_diagnostics(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn with_case_name(name: &str, value: Value) -> Value {
    Value::object(Map::from([(name, value)]))
}
