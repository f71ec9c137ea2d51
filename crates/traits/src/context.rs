//! The variables of a component's expressions in one environment, computed from the resources that describe both.
//!
//! No value is null, and every list or map that expressions rely on exists. What the original treats as empty (an
//! empty text, port 0) is absent, so that `has(…)` is false for it.

mod configurations;
mod dependencies;
mod derived;
mod documents;
mod endpoints;
mod metadata;
mod parameters;
mod planes;
#[cfg(test)]
mod tests;
mod workload;

pub use dependencies::dependencies_variable;
pub use derived::derive_variables;
pub use documents::{
    configurations_of_document, endpoint_resources_of_document, parameters_of_document, planes_of_documents,
    workload_of_document,
};
pub use metadata::missing_metadata;
pub use workload::merge_by_key;

pub(crate) use configurations::{SourcedVariable, VisibleSecrets, resolve_configurations};
pub(crate) use dependencies::declared_dependencies;
pub(crate) use endpoints::list_endpoint_resources;
pub(crate) use metadata::{ComponentIdentity, metadata_variable};
pub(crate) use parameters::{GivenParameters, bind_declared};
pub(crate) use planes::{data_plane_variable, environment_variable};
pub(crate) use workload::workload_variable;

use kubewright_value::{Map, Value};

/// The variables of a component in one environment, except its parameters.
#[derive(Debug, Clone)]
pub struct ComponentContext {
    /// Names, labels and selectors.
    pub metadata: Value,
    /// The data plane.
    pub data_plane: Value,
    /// The environment; its gateway is also the variable `gateway`.
    pub environment: Value,
    /// The container and its endpoints.
    pub workload: Value,
    /// The environment variables and files.
    pub configurations: Value,
    /// The values from other components and resources.
    pub dependencies: Value,
    /// The operations in the API descriptions, by endpoint.
    pub endpoint_resources: Value,
}

impl ComponentContext {
    /// Returns the variables with their names.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, Value)> {
        let mut derived =
            derive_variables(&self.workload, &self.configurations, &self.dependencies, &self.metadata);
        if let Some(map) = derived.as_object_mut() {
            map.insert("endpointResources".into(), self.endpoint_resources.clone());
        }
        let mut variables = vec![
            ("metadata", self.metadata.clone()),
            ("dataplane", self.data_plane.clone()),
            ("environment", self.environment.clone()),
            ("workload", self.workload.clone()),
            ("configurations", self.configurations.clone()),
            ("dependencies", self.dependencies.clone()),
            ("derived", derived),
        ];
        variables.extend(self.environment.get("gateway").map(|gateway| ("gateway", gateway.clone())));
        variables
    }
}

/// Inserts `value` under `key` unless it is `None`.
fn insert_present(map: &mut Map, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.into(), value.into());
    }
}

/// Returns an object of the text pairs.
fn text_pairs_object(pairs: &[(kubewright_value::Text, kubewright_value::Text)]) -> Value {
    Value::object(pairs.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect())
}
