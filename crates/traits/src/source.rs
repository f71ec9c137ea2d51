//! The typed form of traits and of the resources they are rendered with, before compilation.

mod component;
mod component_type;
mod names;
mod parts;
mod planes;
#[cfg(test)]
mod tests;
mod traits;
mod workload;

use kubewright_engine::Diagnostic;
pub(crate) use kubewright_patch::path::PathOp;
use kubewright_value::{Document, Step, Text, Value};

use super::diagnostics as code;
use super::schema::Sections;
use kubewright_dialect_kit::fields::{DocumentReader, FieldCodes, Located};

/// A document of one of the OpenChoreo kinds.
#[derive(Debug, Clone)]
pub(crate) enum OpenChoreoResource {
    Trait(TraitDefinition),
    ComponentType(ComponentTypeDefinition),
    Component(ComponentDefinition),
    Workload(Workload),
    ReleaseBinding(ReleaseBinding),
    Environment(EnvironmentDefinition),
    DataPlane(DataPlane),
    SecretReference(SecretReference),
}

/// The metadata of a document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metadata {
    pub(crate) name: Text,
    pub(crate) namespace: Option<Text>,
    pub(crate) uid: Option<Text>,
    pub(crate) annotations: Vec<(Text, Text)>,
}

/// A Trait or ClusterTrait.
#[derive(Debug, Clone)]
pub(crate) struct TraitDefinition {
    pub(crate) metadata: Metadata,
    /// Whether it is a `ClusterTrait`. A Trait and a ClusterTrait may share a name.
    pub(crate) is_cluster: bool,
    pub(crate) sections: Sections,
    pub(crate) before: Vec<PreRenderValidation>,
    pub(crate) after: Vec<PostRenderValidation>,
    pub(crate) creates: Vec<TemplateDefinition>,
    pub(crate) patches: Vec<PatchDefinition>,
    pub(crate) removes: Vec<RemovalDefinition>,
}

/// An item of `preRenderValidations`.
#[derive(Debug, Clone)]
pub(crate) struct PreRenderValidation {
    pub(crate) rule: Located<Text>,
    pub(crate) message: Text,
}

/// An item of `postRenderValidations`.
#[derive(Debug, Clone)]
pub(crate) struct PostRenderValidation {
    pub(crate) when: Option<Located<Text>>,
    pub(crate) each: Option<LoopDefinition>,
    pub(crate) target: TargetDefinition,
    pub(crate) plane: Plane,
    /// Whether a target that matches nothing is a failure.
    pub(crate) must_match: bool,
    pub(crate) rule: Located<Text>,
    pub(crate) message: Text,
}

/// A template: an item of `creates` of a trait, or of `resources` of a component type.
#[derive(Debug, Clone)]
pub(crate) struct TemplateDefinition {
    pub(crate) path: Vec<Step>,
    /// The id of a component type's resource.
    pub(crate) id: Option<Text>,
    pub(crate) plane: Plane,
    pub(crate) include_when: Option<Located<Text>>,
    pub(crate) each: Option<LoopDefinition>,
    pub(crate) template: Located<Value>,
}

/// A patch: operations on the resources that match a target.
#[derive(Debug, Clone)]
pub(crate) struct PatchDefinition {
    pub(crate) path: Vec<Step>,
    pub(crate) target: TargetDefinition,
    pub(crate) plane: Plane,
    pub(crate) each: Option<LoopDefinition>,
    pub(crate) operations: Vec<OperationDefinition>,
}

/// An operation of a patch.
#[derive(Debug, Clone)]
pub(crate) struct OperationDefinition {
    pub(crate) op: PathOp,
    pub(crate) path: Located<Text>,
    /// `None` for `remove`.
    pub(crate) value: Option<Located<Value>>,
}

/// An item of `removes`: resources that a trait drops.
#[derive(Debug, Clone)]
pub(crate) struct RemovalDefinition {
    pub(crate) path: Vec<Step>,
    pub(crate) target: TargetDefinition,
    pub(crate) plane: Plane,
    pub(crate) each: Option<LoopDefinition>,
}

/// A selection of resources. A missing field matches all; an empty group is the core group.
#[derive(Debug, Clone, Default)]
pub(crate) struct TargetDefinition {
    pub(crate) path: Vec<Step>,
    pub(crate) kind: Option<Text>,
    pub(crate) group: Option<Text>,
    pub(crate) version: Option<Text>,
    pub(crate) name: Option<Located<Text>>,
    pub(crate) condition: Option<Located<Text>>,
}

/// A loop: `forEach` and `var`.
#[derive(Debug, Clone)]
pub(crate) struct LoopDefinition {
    pub(crate) over: Located<Text>,
    pub(crate) variable: Text,
}

/// The plane that a resource is deployed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plane {
    /// The data plane, with the workload.
    #[default]
    Data,
    /// The observability plane.
    Observability,
}

/// A ComponentType or ClusterComponentType.
#[derive(Debug, Clone)]
pub(crate) struct ComponentTypeDefinition {
    pub(crate) metadata: Metadata,
    pub(crate) is_cluster: bool,
    pub(crate) workload_type: Option<Located<Text>>,
    pub(crate) sections: Sections,
    pub(crate) before: Vec<PreRenderValidation>,
    pub(crate) after: Vec<PostRenderValidation>,
    /// The traits that every component of the type has.
    pub(crate) traits: Vec<TraitUse>,
    /// The traits that a component may add.
    pub(crate) allowed_traits: Vec<TraitName>,
    pub(crate) resources: Vec<TemplateDefinition>,
}

/// A reference to a trait by kind and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraitName {
    pub(crate) is_cluster: bool,
    pub(crate) name: Text,
}

/// A use of a trait, with its parameters.
#[derive(Debug, Clone)]
pub(crate) struct TraitUse {
    pub(crate) path: Vec<Step>,
    pub(crate) name: TraitName,
    pub(crate) instance: Located<Text>,
    pub(crate) parameters: Option<Located<Value>>,
    /// Only for a trait in a component type; those of a component come from the ReleaseBinding.
    pub(crate) environment_configs: Option<Located<Value>>,
}

/// A Component.
#[derive(Debug, Clone)]
pub(crate) struct ComponentDefinition {
    pub(crate) metadata: Metadata,
    pub(crate) project: Option<Text>,
    /// Whether it is a ClusterComponentType, and the name; `deployment/web-app` is the type `web-app`.
    pub(crate) component_type: Option<(bool, Located<Text>)>,
    pub(crate) parameters: Option<Located<Value>>,
    pub(crate) traits: Vec<TraitUse>,
}

/// A ReleaseBinding.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseBinding {
    pub(crate) metadata: Metadata,
    pub(crate) owner: ComponentOwner,
    pub(crate) environment: Option<Text>,
    pub(crate) component_type_configs: Option<Located<Value>>,
    /// By instance name.
    pub(crate) trait_configs: Vec<(Text, Located<Value>)>,
    pub(crate) env: Vec<ConfigVariable>,
    pub(crate) files: Vec<ConfigVariable>,
}

/// The project and component that own a resource.
#[derive(Debug, Clone, Default)]
pub(crate) struct ComponentOwner {
    pub(crate) project: Option<Text>,
    pub(crate) component: Option<Text>,
}

/// A Workload.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) metadata: Metadata,
    pub(crate) owner: ComponentOwner,
    pub(crate) image: Option<Text>,
    pub(crate) command: Vec<Text>,
    pub(crate) args: Vec<Text>,
    pub(crate) env: Vec<ConfigVariable>,
    pub(crate) files: Vec<ConfigVariable>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) connections: Vec<EndpointConnection>,
    pub(crate) resources: Vec<ResourceDependency>,
}

/// An environment variable or a file.
#[derive(Debug, Clone)]
pub(crate) struct ConfigVariable {
    pub(crate) path: Vec<Step>,
    pub(crate) key: Text,
    /// The mount path of a file.
    pub(crate) mount_path: Option<Text>,
    pub(crate) value: Option<Text>,
    /// The name and key of a SecretReference.
    pub(crate) secret: Option<(Text, Text)>,
}

/// An endpoint that a workload offers.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) name: Text,
    pub(crate) kind: Text,
    pub(crate) port: i64,
    pub(crate) target_port: Option<i64>,
    pub(crate) display_name: Option<Text>,
    pub(crate) base_path: Option<Text>,
    pub(crate) visibility: Vec<Text>,
    /// The type and text of its API description.
    pub(crate) schema: Option<(Option<Text>, Option<Text>)>,
}

/// A dependency of a workload on an endpoint of another component.
#[derive(Debug, Clone)]
pub(crate) struct EndpointConnection {
    pub(crate) project: Option<Text>,
    pub(crate) component: Text,
    pub(crate) endpoint: Text,
    pub(crate) visibility: Option<Text>,
    /// Pairs of an address part and the variable that receives it.
    pub(crate) bindings: Vec<(Text, Text)>,
}

/// A dependency of a workload on a resource.
#[derive(Debug, Clone)]
pub(crate) struct ResourceDependency {
    pub(crate) resource: Text,
    pub(crate) env: Vec<(Text, Text)>,
    pub(crate) files: Vec<(Text, Text)>,
}

/// An Environment.
#[derive(Debug, Clone)]
pub(crate) struct EnvironmentDefinition {
    pub(crate) metadata: Metadata,
    /// Whether it is a ClusterDataPlane, and the name.
    pub(crate) data_plane: Option<(bool, Text)>,
    pub(crate) gateway: Gateway,
}

/// A DataPlane or ClusterDataPlane.
#[derive(Debug, Clone)]
pub(crate) struct DataPlane {
    pub(crate) metadata: Metadata,
    pub(crate) gateway: Gateway,
    pub(crate) secret_store: Option<Text>,
    /// The kind and name.
    pub(crate) observability: Option<(Text, Text)>,
}

/// The ingress and egress gateways.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gateway {
    pub(crate) ingress: Option<GatewayNetwork>,
    pub(crate) egress: Option<GatewayNetwork>,
}

/// The external and internal endpoints of a gateway.
#[derive(Debug, Clone, Default)]
pub(crate) struct GatewayNetwork {
    pub(crate) external: Option<GatewayEndpoint>,
    pub(crate) internal: Option<GatewayEndpoint>,
}

/// A gateway and its listeners.
#[derive(Debug, Clone, Default)]
pub(crate) struct GatewayEndpoint {
    pub(crate) name: Option<Text>,
    pub(crate) namespace: Option<Text>,
    pub(crate) http: Option<Listener>,
    pub(crate) https: Option<Listener>,
    pub(crate) tls: Option<Listener>,
}

/// A listener of a gateway.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listener {
    pub(crate) name: Option<Text>,
    pub(crate) port: Option<i64>,
    pub(crate) host: Option<Text>,
}

/// A SecretReference.
#[derive(Debug, Clone)]
pub(crate) struct SecretReference {
    pub(crate) metadata: Metadata,
    pub(crate) data: Vec<SecretSource>,
}

/// The remote source of one key of a secret.
#[derive(Debug, Clone)]
pub(crate) struct SecretSource {
    pub(crate) key: Text,
    pub(crate) remote_key: Option<Text>,
    pub(crate) property: Option<Text>,
    pub(crate) version: Option<Text>,
}

/// Returns whether `document` is of one of the kinds in [`OpenChoreoResource`].
pub(crate) fn is_openchoreo_document(document: &Document) -> bool {
    names::openchoreo_kind(&document.value).is_some()
}

/// Reads `document`. Returns `None` if it is of another kind or has no metadata or spec.
pub(crate) fn read_openchoreo_document(document: &Document) -> (Option<OpenChoreoResource>, Vec<Diagnostic>) {
    let Some(kind) = names::openchoreo_kind(&document.value) else { return (None, Vec::new()) };
    // An unknown field in a trait may change its meaning, so it is an error; in other kinds a newer field is harmless.
    let unknown = match kind {
        names::OpenChoreoKind::Trait { .. } | names::OpenChoreoKind::ComponentType { .. } => {
            &code::UNKNOWN_FIELD
        }
        _ => &code::UNREAD_FIELD,
    };
    let mut reader = DocumentReader::new(document, FieldCodes { unknown, ..FIELD_CODES });
    let resource = match kind {
        names::OpenChoreoKind::Trait { is_cluster } => {
            traits::read_trait(&mut reader, is_cluster).map(OpenChoreoResource::Trait)
        }
        names::OpenChoreoKind::ComponentType { is_cluster } => {
            component_type::read_component_type(&mut reader, is_cluster)
                .map(OpenChoreoResource::ComponentType)
        }
        names::OpenChoreoKind::Component => {
            component::read_component(&mut reader).map(OpenChoreoResource::Component)
        }
        names::OpenChoreoKind::ReleaseBinding => {
            component::read_release_binding(&mut reader).map(OpenChoreoResource::ReleaseBinding)
        }
        names::OpenChoreoKind::Workload => {
            workload::read_workload_definition(&mut reader).map(OpenChoreoResource::Workload)
        }
        names::OpenChoreoKind::SecretReference => {
            workload::read_secret(&mut reader).map(OpenChoreoResource::SecretReference)
        }
        names::OpenChoreoKind::Environment => {
            planes::read_environment(&mut reader).map(OpenChoreoResource::Environment)
        }
        names::OpenChoreoKind::DataPlane => {
            planes::read_data_plane(&mut reader).map(OpenChoreoResource::DataPlane)
        }
    };
    (resource, reader.diagnostics)
}

/// The diagnostic codes for mistakes in any field.
const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};
