//! The variable `metadata`: names and labels of a component in an environment, equal to the platform's.
//!
//! A UID exists only in a cluster. For a resource without one it is derived from kind, namespace and name, so that
//! labels and selectors are as distinct and stable as in a cluster.

use kubewright_golib::naming::{self, MAX_LABEL_CHARS, MAX_SUBDOMAIN_CHARS};
use kubewright_value::{Map, Text, Value};

use super::super::source::Metadata;

/// The prefix of the labels.
const DOMAIN: &str = "openchoreo.dev";
/// The default namespace and project.
const DEFAULT: &str = "default";
/// The text fields of `metadata`.
const TEXTS: [&str; 11] = [
    "componentName",
    "componentUID",
    "projectName",
    "projectUID",
    "dataPlaneName",
    "dataPlaneUID",
    "environmentName",
    "environmentUID",
    "name",
    "namespace",
    "componentNamespace",
];
const OBJECTS: [&str; 3] = ["labels", "annotations", "podSelectors"];

/// The resources that a component's `metadata` is computed from.
pub(crate) struct ComponentIdentity<'a> {
    pub(crate) component: &'a Metadata,
    pub(crate) project: Option<&'a str>,
    pub(crate) environment: &'a Metadata,
    pub(crate) data_plane: &'a Metadata,
}

/// Returns `metadata`.
pub(crate) fn metadata_variable(named: &ComponentIdentity<'_>) -> Value {
    let namespace = named.component.namespace.as_deref().unwrap_or(DEFAULT);
    let project = named.project.unwrap_or(DEFAULT);
    let (component, environment) = (named.component.name.as_str(), named.environment.name.as_str());
    let component_uid = resource_uid("Component", named.component);
    let environment_uid = resource_uid("Environment", named.environment);
    let project_uid = derived_uid("Project", namespace, project);
    let name = naming::hashed_name(&[component, environment], "", MAX_SUBDOMAIN_CHARS).unwrap_or_default();
    let cell = naming::hashed_name(&["dp", namespace, project, environment], "", MAX_LABEL_CHARS)
        .unwrap_or_default();
    let labels: Map = [
        ("namespace", namespace),
        ("project", project),
        ("component", component),
        ("environment", environment),
        ("component-uid", &component_uid),
        ("environment-uid", &environment_uid),
        ("project-uid", &project_uid),
    ]
    .into_iter()
    .map(|(key, value)| (Text::from(format!("{DOMAIN}/{key}")), value.into()))
    .collect();
    let labels = Value::object(labels);
    Value::object(Map::from([
        ("componentName", component.into()),
        ("componentUID", component_uid.into()),
        ("projectName", project.into()),
        ("projectUID", project_uid.into()),
        ("dataPlaneName", named.data_plane.name.clone().into()),
        ("dataPlaneUID", resource_uid("DataPlane", named.data_plane).into()),
        ("environmentName", environment.into()),
        ("environmentUID", environment_uid.into()),
        ("name", name.into()),
        ("namespace", cell.into()),
        ("componentNamespace", namespace.into()),
        ("labels", labels.clone()),
        ("annotations", Value::object(Map::new())),
        ("podSelectors", labels),
    ]))
}

/// Returns the fields that the given `metadata` lacks. Templates rely on all of them, and an empty selector would
/// select everything.
#[must_use]
pub fn missing_metadata(given: &Value) -> Vec<&'static str> {
    let lacks_text = |key: &&str| given.get(key).is_none_or(|value| value.as_str().is_none_or(str::is_empty));
    let lacks_object = |key: &&str| given.get(key).is_none_or(|value| value.as_object().is_none());
    let selects_nothing = |key: &&str| {
        *key == "podSelectors" && given.get(key).and_then(Value::as_object).is_some_and(Map::is_empty)
    };
    let texts = TEXTS.into_iter().filter(lacks_text);
    texts.chain(OBJECTS.into_iter().filter(|key| lacks_object(key) || selects_nothing(key))).collect()
}

fn resource_uid(kind: &str, metadata: &Metadata) -> String {
    match &metadata.uid {
        Some(uid) => uid.to_string(),
        None => derived_uid(kind, metadata.namespace.as_deref().unwrap_or(DEFAULT), &metadata.name),
    }
}

/// Returns a UUID of version 8, which is reserved for application-defined content.
fn derived_uid(kind: &str, namespace: &str, name: &str) -> String {
    let digits = naming::sha256_hex(&format!("{kind}/{namespace}/{name}"));
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}
