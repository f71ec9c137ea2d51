//! What expressions see by name, from the base manifests, a stack file, files, options and `--set`.
//!
//! Later ones are laid over earlier ones. `labels`, `annotations` and `podSelectors` are never null.

use kubewright_engine::Diagnostic;
use kubewright_k8s::{ObjectName, PodTemplatePath, WorkloadKind};
use kubewright_traits::{RenderContext, context};
use kubewright_value::{Document, Map, Text, Value};

use super::setting::{self, One};
use super::stack::Stack;
use super::values::{self, lay};
use crate::arguments::{Names, Render};
use crate::codes::{self, BAD_VALUES};

/// What values can be set in.
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
/// Those of them that each instance has its own of; `trait` is its name.
const OWN: [&str; 3] = ["parameters", "environmentConfigs", "trait"];
/// A kind of Argo Rollouts, which has a Pod template as a Deployment has.
const ROLLOUT: &str = "Rollout";
const DEEPEST: usize = 100;
/// The namespace, where nobody says one.
pub(in crate::commands) const ASSUMED: &str = "default";

/// What all instances see.
pub(in crate::commands) struct Given {
    pub(in crate::commands) context: RenderContext,
    /// How many workloads the component could be, where nobody says how it is called.
    pub(in crate::commands) unnamed: Option<usize>,
    /// Whether nobody says which namespace it is.
    pub(in crate::commands) is_namespace_assumed: bool,
}

/// What was said about the context, before the manifests are looked at.
pub(in crate::commands) struct Said {
    values: Value,
    names: Names,
    namespace: Option<String>,
    settings: Vec<One>,
}

impl Said {
    /// Reads what `stack` and the files and options of `arguments` say.
    pub(super) fn read(
        arguments: &Render,
        stack: Option<&Stack>,
        settings: Vec<One>,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let files = values::files(&arguments.values.context, "the values of the context", problems);
        let layered = Self::layered(stack, &files, problems);
        let (names, namespace) = (arguments.names.clone(), arguments.namespace.clone());
        Self { names, namespace, settings, ..layered }
    }

    /// Returns what `stack` says, and over it what each of `layers` says.
    pub(in crate::commands) fn layered(
        stack: Option<&Stack>,
        layers: &[Document],
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut values = Value::from(Map::new());
        if let Some(stack) = stack {
            check(&stack.context, problems);
            lay(&mut values, &stack.context.value, DEEPEST);
            let metadata = Map::from([("metadata", stack.metadata.value.clone())]);
            lay(&mut values, &metadata.into(), DEEPEST);
        }
        for layer in layers {
            check(layer, problems);
            lay(&mut values, &layer.value, DEEPEST);
        }
        Self { values, names: Names::default(), namespace: None, settings: Vec::new() }
    }

    /// Returns this with `settings` laid over the rest.
    pub(in crate::commands) fn with(self, settings: Vec<One>) -> Self {
        Self { settings, ..self }
    }

    /// Returns the names that only this context has.
    pub(in crate::commands) fn more(&self) -> Vec<Text> {
        let names = self.values.as_object().into_iter().flat_map(Map::keys);
        names.filter(|name| !NAMES.contains(&name.as_str())).cloned().collect()
    }

    /// Returns what all instances see that are applied to `base`.
    pub(in crate::commands) fn given(&self, base: &[Document], problems: &mut Vec<Diagnostic>) -> Given {
        let workloads: Vec<&Document> = base.iter().filter(|document| is_workload(&document.value)).collect();
        let mut values = defaults();
        lay(&mut values, &Map::from([("metadata", found(base, &workloads))]).into(), DEEPEST);
        self.lay(&mut values, named(&self.names, self.namespace.as_ref()), problems);
        let says = |field: &str| values.at(&["metadata", field]).is_some_and(|value| !value.is_null());
        let unnamed = (!says("name")).then_some(workloads.len());
        let is_namespace_assumed = !says("namespace");
        if let Some(metadata) = values.as_object_mut().and_then(|values| values.get_mut("metadata")) {
            complete(metadata);
        }
        if values.get("derived").is_none() {
            let of = |name: &str| values.get(name).cloned().unwrap_or_default();
            let (workload, configurations) = (of("workload"), of("configurations"));
            let derived =
                context::derive_variables(&workload, &configurations, &of("dependencies"), &of("metadata"));
            lay(&mut values, &Map::from([("derived", derived)]).into(), 1);
        }
        if let (None, Some(gateway)) =
            (values.get("gateway"), values.at(&["environment", "gateway"]).cloned())
        {
            lay(&mut values, &Map::from([("gateway", gateway)]).into(), 1);
        }
        Given { context: bound(&values), unnamed, is_namespace_assumed }
    }

    /// Returns what replaces what components have of their own. Component and environment select, and replace nothing.
    pub(in crate::commands) fn overrides(self, problems: &mut Vec<Diagnostic>) -> RenderContext {
        let names = Names { component: None, environment: None, ..self.names.clone() };
        let mut values = Value::from(Map::new());
        self.lay(&mut values, named(&names, self.namespace.as_ref()), problems);
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        if values.get("metadata").is_some_and(is_empty)
            && let Some(values) = values.as_object_mut()
        {
            values.remove("metadata");
        }
        bound(&values)
    }

    /// Lays all that was said over `values`.
    fn lay(&self, values: &mut Value, named: Value, problems: &mut Vec<Diagnostic>) {
        lay(values, &self.values, DEEPEST);
        lay(values, &Map::from([("metadata", named)]).into(), DEEPEST);
        let Some(values) = values.as_object_mut() else { return };
        for one in &self.settings {
            if !values.contains_key(&one.root) {
                values.insert(one.root.clone(), Value::Null);
            }
            let Some(value) = values.get_mut(&one.root) else { continue };
            if let Err(why) = setting::place(value, std::iter::once(one)) {
                problems.push(codes::about_path(&BAD_VALUES, "--set", why));
            }
        }
    }
}

/// Reports names that cannot be given.
fn check(document: &Document, problems: &mut Vec<Diagnostic>) {
    for (name, value) in document.value.as_object().into_iter().flat_map(Map::iter) {
        let path = [name.as_str().into()];
        if OWN.contains(&name.as_str()) {
            let message = format!("`{name}` is of each trait instance, not of the context");
            let problem = Diagnostic::new(&BAD_VALUES, message, document.locate_key(&path));
            problems.push(problem.help("give it with --params, --env-configs or in a stack file"));
        } else if !is_name(name) {
            let message = format!("`{name}` is no name that an expression can say");
            problems.push(Diagnostic::new(&BAD_VALUES, message, document.locate_key(&path)));
        } else if NAMES.contains(&name.as_str()) && !value.is_null() && value.as_object().is_none() {
            let message = format!("`{name}` is a map, this is of type {}", value.kind());
            problems.push(Diagnostic::new(&BAD_VALUES, message, document.locate(&path)));
        }
    }
}

fn is_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

/// Returns whether `object` is what the component runs; the hook of a chart is not.
fn is_workload(object: &Value) -> bool {
    let is_hook = object.at(&["metadata", "annotations", "helm.sh/hook"]).is_some();
    !is_hook && object.get("kind").and_then(Value::as_str).is_some_and(names_component)
}

/// Returns what is there where nobody says anything.
fn defaults() -> Value {
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

/// Returns the metadata that the manifests tell.
fn found(base: &[Document], workloads: &[&Document]) -> Value {
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

/// Returns whether the name of objects of `kind` is that of the component.
fn names_component(kind: &str) -> bool {
    WorkloadKind::named(kind).is_some() || kind == ROLLOUT
}

/// Returns the labels that select the Pods of `workload`; of one that selects none itself, those that its Pods have.
fn pod_labels(workload: &Value) -> Option<&Value> {
    let is_full = |labels: &&Value| labels.as_object().is_some_and(|labels| !labels.is_empty());
    let selected = workload.at(&["spec", "selector", "matchLabels"]).filter(is_full);
    let made = |path: PodTemplatePath| path.template(workload)?.at(&["metadata", "labels"]).filter(is_full);
    selected.or_else(|| [PodTemplatePath::Template, PodTemplatePath::JobTemplate].into_iter().find_map(made))
}

/// Returns the metadata that options name.
fn named(names: &Names, namespace: Option<&String>) -> Value {
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

/// Adds what follows from the rest.
fn complete(metadata: &mut Value) {
    let Some(metadata) = metadata.as_object_mut() else { return };
    if let Some(name) = metadata.get("name").filter(|_| !metadata.contains_key("componentName")).cloned() {
        metadata.insert("componentName".into(), name);
    }
    if metadata.get("namespace").is_none_or(Value::is_null) {
        metadata.insert("namespace".into(), ASSUMED.into());
    }
    for key in ["labels", "annotations", "podSelectors"] {
        if metadata.get(key).is_none_or(Value::is_null) {
            metadata.insert(key.into(), Map::new().into());
        }
    }
}

fn bound(values: &Value) -> RenderContext {
    let mut bound = RenderContext::new();
    for (name, value) in values.as_object().into_iter().flat_map(Map::iter) {
        bound.set(name, value.clone());
    }
    bound
}

#[cfg(test)]
mod tests;
