//! The parts of a release: a component with its references resolved, and an environment with its data plane.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Step, Value};

use super::super::context;
use super::super::diagnostics as code;
use super::super::render::CompiledTrait;
use super::super::source::{self, DataPlane, EnvironmentDefinition, Gateway, Metadata, Workload};
use super::CompiledComponentType;

/// The default data plane of an environment.
pub(super) const DEFAULT_PLANE: &str = "default";

/// A resource with its document.
#[derive(Debug)]
pub(super) struct SourcedResource<T> {
    pub(super) document: Document,
    pub(super) found: T,
}

/// A component with its type, its traits and its workload.
#[derive(Debug)]
pub(super) struct LibraryComponent {
    pub(super) document: Document,
    pub(super) found: source::ComponentDefinition,
    pub(super) of: CompiledComponentType,
    /// The traits of the type, in its order.
    pub(super) embedded: Arc<[CompiledTrait]>,
    /// The traits of the component, in its order.
    pub(super) traits: Vec<CompiledTrait>,
    pub(super) workload: Option<Arc<SourcedResource<Workload>>>,
}

/// An environment with its data plane.
#[derive(Debug)]
pub(super) struct EnvironmentPlane {
    pub(super) environment: Metadata,
    pub(super) data_plane: Metadata,
    /// The variables `dataplane` and `environment`.
    pub(super) data_plane_value: Value,
    pub(super) environment_value: Value,
}

impl LibraryComponent {
    pub(super) fn unreleased(&self) -> Diagnostic {
        let name = &self.found.metadata.name;
        let message = format!("the component `{name}` has no ReleaseBinding, and there is no Environment");
        let location = self.document.locate(&["metadata", "name"].map(Step::from));
        let help = "add an Environment, or name one with `--environment`";
        Diagnostic::new(&code::NOT_RELEASED, message, location).help(help)
    }
}

impl EnvironmentPlane {
    pub(super) fn new(environment: &EnvironmentDefinition, plane: &DataPlane) -> Self {
        Self {
            environment: environment.metadata.clone(),
            data_plane: plane.metadata.clone(),
            data_plane_value: context::data_plane_variable(plane),
            environment_value: context::environment_variable(environment, plane, None),
        }
    }

    /// Returns an environment with only a name.
    pub(super) fn bare(name: &str, plane: Option<&DataPlane>) -> Self {
        let environment = EnvironmentDefinition {
            metadata: named_metadata(name),
            data_plane: None,
            gateway: Gateway::default(),
        };
        match plane {
            Some(plane) => Self::new(&environment, plane),
            None => Self::new(&environment, &bare_plane(DEFAULT_PLANE)),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.environment.name
    }
}

/// Returns a data plane with only a name.
pub(super) fn bare_plane(name: &str) -> DataPlane {
    DataPlane {
        metadata: named_metadata(name),
        gateway: Gateway::default(),
        secret_store: None,
        observability: None,
    }
}

fn named_metadata(name: &str) -> Metadata {
    Metadata { name: name.into(), ..Metadata::default() }
}
