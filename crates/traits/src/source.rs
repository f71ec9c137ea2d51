//! Traits and the resources that they are rendered with, as they are written, field by field.

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

/// One document.
#[derive(Debug, Clone)]
pub(crate) enum Resource {
    Trait(Trait),
    ComponentType(ComponentType),
    Component(Component),
    Workload(Workload),
    ReleaseBinding(ReleaseBinding),
    Environment(Environment),
    DataPlane(DataPlane),
    SecretReference(SecretReference),
}

/// What every document is called.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metadata {
    pub(crate) name: Text,
    pub(crate) namespace: Option<Text>,
    pub(crate) uid: Option<Text>,
    pub(crate) annotations: Vec<(Text, Text)>,
}

/// A Trait or ClusterTrait.
#[derive(Debug, Clone)]
pub(crate) struct Trait {
    pub(crate) metadata: Metadata,
    /// `ClusterTrait`; both may have one name and are two traits.
    pub(crate) is_cluster: bool,
    pub(crate) sections: Sections,
    pub(crate) before: Vec<Rule>,
    pub(crate) after: Vec<Assertion>,
    pub(crate) creates: Vec<Template>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) removes: Vec<Removal>,
}

/// `preRenderValidations`
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) rule: Located<Text>,
    pub(crate) message: Text,
}

/// `postRenderValidations`
#[derive(Debug, Clone)]
pub(crate) struct Assertion {
    pub(crate) when: Option<Located<Text>>,
    pub(crate) each: Option<Loop>,
    pub(crate) target: Target,
    pub(crate) plane: Plane,
    /// A target that fits nothing is a failure.
    pub(crate) must_match: bool,
    pub(crate) rule: Located<Text>,
    pub(crate) message: Text,
}

/// What makes resources: one of the `creates` of a trait or of the `resources` of a component type.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pub(crate) path: Vec<Step>,
    /// Of a component type's resource.
    pub(crate) id: Option<Text>,
    pub(crate) plane: Plane,
    pub(crate) include_when: Option<Located<Text>>,
    pub(crate) each: Option<Loop>,
    pub(crate) template: Located<Value>,
}

/// Changes to the resources that fit a target.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    pub(crate) path: Vec<Step>,
    pub(crate) target: Target,
    pub(crate) plane: Plane,
    pub(crate) each: Option<Loop>,
    pub(crate) operations: Vec<Operation>,
}

/// One change.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) op: PathOp,
    pub(crate) path: Located<Text>,
    /// Nothing for `remove`.
    pub(crate) value: Option<Located<Value>>,
}

/// Resources that a trait drops.
#[derive(Debug, Clone)]
pub(crate) struct Removal {
    pub(crate) path: Vec<Step>,
    pub(crate) target: Target,
    pub(crate) plane: Plane,
    pub(crate) each: Option<Loop>,
}

/// Which resources. What is left out fits all; an empty group is the core group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    pub(crate) path: Vec<Step>,
    pub(crate) kind: Option<Text>,
    pub(crate) group: Option<Text>,
    pub(crate) version: Option<Text>,
    pub(crate) name: Option<Located<Text>>,
    pub(crate) condition: Option<Located<Text>>,
}

/// `forEach` and `var`
#[derive(Debug, Clone)]
pub(crate) struct Loop {
    pub(crate) over: Located<Text>,
    pub(crate) variable: Text,
}

/// Where a resource goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plane {
    /// With the workload.
    #[default]
    Data,
    /// With what watches it.
    Observability,
}

/// A ComponentType or ClusterComponentType.
#[derive(Debug, Clone)]
pub(crate) struct ComponentType {
    pub(crate) metadata: Metadata,
    pub(crate) is_cluster: bool,
    pub(crate) workload_type: Option<Located<Text>>,
    pub(crate) sections: Sections,
    pub(crate) before: Vec<Rule>,
    pub(crate) after: Vec<Assertion>,
    /// The traits that every component of the type has.
    pub(crate) traits: Vec<TraitUse>,
    /// The traits that a component may have besides.
    pub(crate) allowed_traits: Vec<TraitName>,
    pub(crate) resources: Vec<Template>,
}

/// A trait by kind and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraitName {
    pub(crate) is_cluster: bool,
    pub(crate) name: Text,
}

/// A trait with what is given to it.
#[derive(Debug, Clone)]
pub(crate) struct TraitUse {
    pub(crate) path: Vec<Step>,
    pub(crate) name: TraitName,
    pub(crate) instance: Located<Text>,
    pub(crate) parameters: Option<Located<Value>>,
    /// Only of a trait in a component type; a component's come from the release binding.
    pub(crate) environment_configs: Option<Located<Value>>,
}

/// A Component.
#[derive(Debug, Clone)]
pub(crate) struct Component {
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
    pub(crate) owner: Owner,
    pub(crate) environment: Option<Text>,
    pub(crate) component_type_configs: Option<Located<Value>>,
    /// By instance name.
    pub(crate) trait_configs: Vec<(Text, Located<Value>)>,
    pub(crate) env: Vec<Variable>,
    pub(crate) files: Vec<Variable>,
}

/// Whose it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owner {
    pub(crate) project: Option<Text>,
    pub(crate) component: Option<Text>,
}

/// A Workload.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) metadata: Metadata,
    pub(crate) owner: Owner,
    pub(crate) image: Option<Text>,
    pub(crate) command: Vec<Text>,
    pub(crate) args: Vec<Text>,
    pub(crate) env: Vec<Variable>,
    pub(crate) files: Vec<Variable>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) resources: Vec<ResourceDependency>,
}

/// An environment variable or a file.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) path: Vec<Step>,
    pub(crate) key: Text,
    /// Of a file.
    pub(crate) mount_path: Option<Text>,
    pub(crate) value: Option<Text>,
    /// Name and key of a SecretReference.
    pub(crate) secret: Option<(Text, Text)>,
}

/// What a workload offers.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) name: Text,
    pub(crate) kind: Text,
    pub(crate) port: i64,
    pub(crate) target_port: Option<i64>,
    pub(crate) display_name: Option<Text>,
    pub(crate) base_path: Option<Text>,
    pub(crate) visibility: Vec<Text>,
    /// Type and text of its description.
    pub(crate) schema: Option<(Option<Text>, Option<Text>)>,
}

/// What a workload needs of another component.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) project: Option<Text>,
    pub(crate) component: Text,
    pub(crate) endpoint: Text,
    pub(crate) visibility: Option<Text>,
    /// From a part of the address to the variable that gets it.
    pub(crate) bindings: Vec<(Text, Text)>,
}

/// What a workload needs of a resource.
#[derive(Debug, Clone)]
pub(crate) struct ResourceDependency {
    pub(crate) resource: Text,
    pub(crate) env: Vec<(Text, Text)>,
    pub(crate) files: Vec<(Text, Text)>,
}

/// An Environment.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
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
    /// Kind and name.
    pub(crate) observability: Option<(Text, Text)>,
}

/// How traffic comes in and goes out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gateway {
    pub(crate) ingress: Option<Network>,
    pub(crate) egress: Option<Network>,
}

/// For others and for ourselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network {
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

/// Where one key of a secret comes from.
#[derive(Debug, Clone)]
pub(crate) struct SecretSource {
    pub(crate) key: Text,
    pub(crate) remote_key: Option<Text>,
    pub(crate) property: Option<Text>,
    pub(crate) version: Option<Text>,
}

/// Returns whether `document` is one of the resources here.
pub(crate) fn is_known(document: &Document) -> bool {
    names::of(&document.value).is_some()
}

/// Reads `document`. Nothing where it is not one of the resources here, or lacks what all of them need.
pub(crate) fn read(document: &Document) -> (Option<Resource>, Vec<Diagnostic>) {
    let Some(kind) = names::of(&document.value) else { return (None, Vec::new()) };
    // A trait that means something else than it says is refused; elsewhere a newer field does no harm.
    let unknown = match kind {
        names::Kind::Trait { .. } | names::Kind::ComponentType { .. } => &code::UNKNOWN_FIELD,
        _ => &code::UNREAD_FIELD,
    };
    let mut reader = DocumentReader::new(document, FieldCodes { unknown, ..FIELD_CODES });
    let resource = match kind {
        names::Kind::Trait { is_cluster } => traits::read(&mut reader, is_cluster).map(Resource::Trait),
        names::Kind::ComponentType { is_cluster } => {
            component_type::read(&mut reader, is_cluster).map(Resource::ComponentType)
        }
        names::Kind::Component => component::read(&mut reader).map(Resource::Component),
        names::Kind::ReleaseBinding => component::read_binding(&mut reader).map(Resource::ReleaseBinding),
        names::Kind::Workload => workload::read(&mut reader).map(Resource::Workload),
        names::Kind::SecretReference => workload::read_secret(&mut reader).map(Resource::SecretReference),
        names::Kind::Environment => planes::read_environment(&mut reader).map(Resource::Environment),
        names::Kind::DataPlane => planes::read_data_plane(&mut reader).map(Resource::DataPlane),
    };
    (resource, reader.diagnostics)
}

/// What can be wrong with any field.
const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};
