//! The context of expressions, from the base manifests, a stack file, files, options and `--set`.
//!
//! Later sources override earlier ones. `labels`, `annotations` and `podSelectors` are never null.

use kubewright_engine::Diagnostic;
use kubewright_k8s::{ObjectName, PodTemplatePath, WorkloadKind};
use kubewright_traits::{RenderContext, context};
use kubewright_value::{Document, Map, Text, Value};

use super::setting::{self, PathSetting};
use super::stack::Stack;
use super::values::{self, lay_over};
use crate::arguments::{ComponentNames, RenderArguments};
use crate::codes::{self, BAD_VALUES};

/// The roots of paths that `--set` accepts.
pub(in crate::commands) const NAMES: [&str; 10] = [
    "parameters",
    "environmentConfigs",
    "metadata",
    "workload",
    "configurations",
    "dependencies",
    "dataplane",
    "environment",
    "gateway",
    "derived",
];
/// The roots that belong to each instance; `trait` is its name.
const OWN: [&str; 3] = ["parameters", "environmentConfigs", "trait"];
/// The kind of Argo Rollouts, which has a Pod template like a Deployment.
const ROLLOUT: &str = "Rollout";
const MAX_CONTEXT_DEPTH: usize = 100;
/// The namespace that is assumed if none is given.
pub(in crate::commands) const ASSUMED_NAME: &str = "default";

/// The context that all instances share.
pub(in crate::commands) struct InstanceContext {
    pub(in crate::commands) context: RenderContext,
    /// The number of workloads, if the component's name is not given.
    pub(in crate::commands) unnamed: Option<usize>,
    /// Whether the namespace is assumed.
    pub(in crate::commands) is_namespace_assumed: bool,
}

/// Context values from all sources except the manifests.
pub(in crate::commands) struct ContextLayers {
    values: Value,
    names: ComponentNames,
    namespace: Option<String>,
    settings: Vec<PathSetting>,
}

impl ContextLayers {
    /// Reads the context of `stack` and of the files and options of `arguments`.
    pub(super) fn read(
        arguments: &RenderArguments,
        stack: Option<&Stack>,
        settings: Vec<PathSetting>,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let files =
            values::read_value_files(&arguments.values.context, "the values of the context", problems);
        let layered = Self::layered(stack, &files, problems);
        let project = arguments.names.project.clone().or_else(|| arguments.former_project.clone());
        let names = ComponentNames { project, ..arguments.names.clone() };
        let namespace = arguments.namespace.clone();
        Self { names, namespace, settings, ..layered }
    }

    /// Merges each of `layers` over the context of `stack`.
    pub(in crate::commands) fn layered(
        stack: Option<&Stack>,
        layers: &[Document],
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut values = Value::from(Map::new());
        if let Some(stack) = stack {
            check_context_names(&stack.context, problems);
            lay_over(&mut values, &stack.context.value, MAX_CONTEXT_DEPTH);
            let metadata = Map::from([("metadata", stack.metadata.value.clone())]);
            lay_over(&mut values, &metadata.into(), MAX_CONTEXT_DEPTH);
        }
        for layer in layers {
            check_context_names(layer, problems);
            lay_over(&mut values, &layer.value, MAX_CONTEXT_DEPTH);
        }
        Self { values, names: ComponentNames::default(), namespace: None, settings: Vec::new() }
    }

    /// Returns these layers with `settings` on top.
    pub(in crate::commands) fn with(self, settings: Vec<PathSetting>) -> Self {
        Self { settings, ..self }
    }

    /// Returns the names that are not standard.
    pub(in crate::commands) fn more(&self) -> Vec<Text> {
        let names = self.values.as_object().into_iter().flat_map(Map::keys);
        names.filter(|name| !NAMES.contains(&name.as_str())).cloned().collect()
    }

    /// Returns the context of instances that are applied to `base`.
    pub(in crate::commands) fn given(
        &self,
        base: &[Document],
        problems: &mut Vec<Diagnostic>,
    ) -> InstanceContext {
        let workloads: Vec<&Document> =
            base.iter().filter(|document| is_component_workload(&document.value)).collect();
        let mut values = default_context();
        lay_over(
            &mut values,
            &Map::from([("metadata", metadata_of_manifests(base, &workloads))]).into(),
            MAX_CONTEXT_DEPTH,
        );
        self.lay(&mut values, metadata_of_options(&self.names, self.namespace.as_ref()), problems);
        let says = |field: &str| values.at(&["metadata", field]).is_some_and(|value| !value.is_null());
        let unnamed = (!says("name")).then_some(workloads.len());
        let is_namespace_assumed = !says("namespace");
        if let Some(metadata) = values.as_object_mut().and_then(|values| values.get_mut("metadata")) {
            complete_metadata(metadata);
        }
        if values.get("derived").is_none() {
            let of = |name: &str| values.get(name).cloned().unwrap_or_default();
            let (workload, configurations) = (of("workload"), of("configurations"));
            let derived =
                context::derive_variables(&workload, &configurations, &of("dependencies"), &of("metadata"));
            lay_over(&mut values, &Map::from([("derived", derived)]).into(), 1);
        }
        if let (None, Some(gateway)) =
            (values.get("gateway"), values.at(&["environment", "gateway"]).cloned())
        {
            lay_over(&mut values, &Map::from([("gateway", gateway)]).into(), 1);
        }
        InstanceContext { context: bind_context(&values), unnamed, is_namespace_assumed }
    }

    /// Returns the values that override those of components. Component and environment only select, and override nothing.
    pub(in crate::commands) fn overrides(self, problems: &mut Vec<Diagnostic>) -> RenderContext {
        let names = ComponentNames { component: None, environment: None, ..self.names.clone() };
        let mut values = Value::from(Map::new());
        self.lay(&mut values, metadata_of_options(&names, self.namespace.as_ref()), problems);
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        if values.get("metadata").is_some_and(is_empty)
            && let Some(values) = values.as_object_mut()
        {
            values.remove("metadata");
        }
        bind_context(&values)
    }

    /// Merges all layers over `values`.
    fn lay(&self, values: &mut Value, named: Value, problems: &mut Vec<Diagnostic>) {
        lay_over(values, &self.values, MAX_CONTEXT_DEPTH);
        lay_over(values, &Map::from([("metadata", named)]).into(), MAX_CONTEXT_DEPTH);
        let Some(values) = values.as_object_mut() else { return };
        for one in &self.settings {
            if !values.contains_key(&one.root) {
                values.insert(one.root.clone(), Value::Null);
            }
            let Some(value) = values.get_mut(&one.root) else { continue };
            if let Err(why) = setting::apply_settings(value, std::iter::once(one)) {
                problems.push(codes::about_path(&BAD_VALUES, "--set", why));
            }
        }
    }
}

/// Reports names that the context cannot have.
fn check_context_names(document: &Document, problems: &mut Vec<Diagnostic>) {
    for (name, value) in document.value.as_object().into_iter().flat_map(Map::iter) {
        let path = [name.as_str().into()];
        if OWN.contains(&name.as_str()) {
            let message = format!("`{name}` belongs to each trait instance, not to the context");
            let problem = Diagnostic::new(&BAD_VALUES, message, document.locate_key(&path));
            problems.push(problem.help("give it with --params, --env-configs or in a stack file"));
        } else if !is_context_name(name) {
            let message = format!("`{name}` is not a valid variable name in expressions");
            problems.push(Diagnostic::new(&BAD_VALUES, message, document.locate_key(&path)));
        } else if NAMES.contains(&name.as_str()) && !value.is_null() && value.as_object().is_none() {
            let message = format!("`{name}` is a map, this is of type {}", value.kind());
            problems.push(Diagnostic::new(&BAD_VALUES, message, document.locate(&path)));
        }
    }
}

fn is_context_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

/// Returns whether `object` is a workload of the component; Helm hooks are not.
fn is_component_workload(object: &Value) -> bool {
    let is_hook = object.at(&["metadata", "annotations", "helm.sh/hook"]).is_some();
    !is_hook && object.get("kind").and_then(Value::as_str).is_some_and(names_component)
}

/// Returns the default context.
fn default_context() -> Value {
    let empty = || Value::from(Map::new());
    let list = || Value::array(Vec::new());
    let sort = || Value::from(Map::from([("envs", list()), ("files", list())]));
    let metadata = Map::from([
        ("componentNamespace", Value::from("default")),
        ("projectName", "default".into()),
        ("dataPlaneName", "default".into()),
        ("environmentName", "development".into()),
    ]);
    let lists = ["items", "resources", "envVars", "volumeMounts", "volumes"];
    Map::from([
        ("metadata", Value::from(metadata)),
        ("workload", Map::from([("container", empty()), ("endpoints", empty())]).into()),
        ("configurations", Map::from([("configs", sort()), ("secrets", sort())]).into()),
        ("dependencies", lists.into_iter().map(|key| (key.into(), list())).collect::<Map>().into()),
        ("dataplane", empty()),
        ("environment", empty()),
    ])
    .into()
}

/// Returns the metadata that follows from the manifests.
fn metadata_of_manifests(base: &[Document], workloads: &[&Document]) -> Value {
    let mut metadata = Map::new();
    if let [workload] = workloads {
        metadata.insert("name".into(), ObjectName::of(&workload.value).name.into());
        if let Some(labels) = pod_labels(&workload.value) {
            metadata.insert("podSelectors".into(), labels.clone());
        }
    }
    let namespaces = |documents: &mut dyn Iterator<Item = &Document>| {
        let mut names: Vec<Text> =
            documents.map(|document| ObjectName::of(&document.value).namespace).collect();
        names.retain(|name| !name.is_empty());
        names.dedup();
        names
    };
    let of_workloads = namespaces(&mut workloads.iter().copied());
    let of_all = if of_workloads.is_empty() { namespaces(&mut base.iter()) } else { of_workloads };
    if let [one] = of_all.as_slice() {
        metadata.insert("namespace".into(), one.clone().into());
    }
    metadata.into()
}

/// Returns whether objects of `kind` have the name of the component.
fn names_component(kind: &str) -> bool {
    WorkloadKind::named(kind).is_some() || kind == ROLLOUT
}

/// Returns the Pod selector of `workload`, or the labels of its Pod template if it has no selector.
fn pod_labels(workload: &Value) -> Option<&Value> {
    let is_full = |labels: &&Value| labels.as_object().is_some_and(|labels| !labels.is_empty());
    let selected = workload.at(&["spec", "selector", "matchLabels"]).filter(is_full);
    let made = |path: PodTemplatePath| path.template(workload)?.at(&["metadata", "labels"]).filter(is_full);
    selected.or_else(|| [PodTemplatePath::Template, PodTemplatePath::JobTemplate].into_iter().find_map(made))
}

/// Returns the metadata from options.
fn metadata_of_options(names: &ComponentNames, namespace: Option<&String>) -> Value {
    let named = [
        ("name", names.name.as_ref()),
        ("namespace", namespace),
        ("componentName", names.component.as_ref()),
        ("projectName", names.project.as_ref()),
        ("environmentName", names.environment.as_ref()),
    ];
    let named = named.into_iter().filter_map(|(key, name)| Some((key.into(), name?.as_str().into())));
    named.collect::<Map>().into()
}

/// Adds derived metadata.
fn complete_metadata(metadata: &mut Value) {
    let Some(metadata) = metadata.as_object_mut() else { return };
    if let Some(name) = metadata.get("name").filter(|_| !metadata.contains_key("componentName")).cloned() {
        metadata.insert("componentName".into(), name);
    }
    if metadata.get("namespace").is_none_or(Value::is_null) {
        metadata.insert("namespace".into(), ASSUMED_NAME.into());
    }
    for key in ["labels", "annotations", "podSelectors"] {
        if metadata.get(key).is_none_or(Value::is_null) {
            metadata.insert(key.into(), Map::new().into());
        }
    }
}

fn bind_context(values: &Value) -> RenderContext {
    let mut bound = RenderContext::new();
    for (name, value) in values.as_object().into_iter().flat_map(Map::iter) {
        bound.set(name, value.clone());
    }
    bound
}

#[cfg(test)]
mod tests;
