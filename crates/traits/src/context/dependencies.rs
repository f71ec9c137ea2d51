//! The variable `dependencies`: values from other components and resources, one by one and merged.

use kubewright_value::{Map, Value};

use super::super::source::{EndpointConnection, ResourceDependency, Workload};
use super::workload::PROJECT;

/// Returns the items and resources that `workload`, in `namespace` and `project`, depends on. Their values
/// exist only in a cluster, so all their lists are empty.
pub(crate) fn declared_dependencies(
    workload: &Workload,
    namespace: &str,
    project: &str,
) -> (Vec<Value>, Vec<Value>) {
    let none = || Value::array(Vec::new());
    let item = |connection: &EndpointConnection| {
        let project = connection.project.as_deref().unwrap_or(project);
        Value::object(Map::from([
            ("namespace", namespace.into()),
            ("project", project.into()),
            ("component", connection.component.clone().into()),
            ("endpoint", connection.endpoint.clone().into()),
            ("visibility", connection.visibility.clone().unwrap_or_else(|| PROJECT.into()).into()),
            ("envVars", none()),
        ]))
    };
    let resource = |found: &ResourceDependency| {
        Value::object(Map::from([
            ("ref", found.resource.clone().into()),
            ("envVars", none()),
            ("volumeMounts", none()),
            ("volumes", none()),
        ]))
    };
    (workload.connections.iter().map(item).collect(), workload.resources.iter().map(resource).collect())
}

/// Returns `dependencies` with the lists that are put together of those of all items and resources.
#[must_use]
pub fn dependencies_variable(items: &[Value], resources: &[Value]) -> Value {
    let all = |key: &str, of: &[&[Value]]| {
        let inner = of.iter().flat_map(|list| list.iter()).filter_map(|item| item.get(key)?.as_array());
        Value::array(inner.flatten().cloned().collect())
    };
    Value::object(Map::from([
        ("items", Value::array(items.to_vec())),
        ("resources", Value::array(resources.to_vec())),
        ("envVars", all("envVars", &[items, resources])),
        ("volumeMounts", all("volumeMounts", &[resources])),
        ("volumes", all("volumes", &[resources])),
    ]))
}
