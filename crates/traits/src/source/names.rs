//! The kinds of documents, recognised by `apiVersion` and `kind`.

use kubewright_value::Value;

use crate::API_VERSION;

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenChoreoKind {
    Trait { is_cluster: bool },
    ComponentType { is_cluster: bool },
    Component,
    Workload,
    ReleaseBinding,
    Environment,
    DataPlane,
    SecretReference,
}

/// Returns the kind of `value`. The guide leaves the group out of `apiVersion`, so both spellings are read.
pub(super) fn openchoreo_kind(value: &Value) -> Option<OpenChoreoKind> {
    let version = value.get("apiVersion").and_then(Value::as_str)?;
    if !matches!(version, "v1alpha1" | API_VERSION) {
        return None;
    }
    Some(match value.get("kind").and_then(Value::as_str)? {
        "Trait" => OpenChoreoKind::Trait { is_cluster: false },
        "ClusterTrait" => OpenChoreoKind::Trait { is_cluster: true },
        "ComponentType" => OpenChoreoKind::ComponentType { is_cluster: false },
        "ClusterComponentType" => OpenChoreoKind::ComponentType { is_cluster: true },
        "Component" => OpenChoreoKind::Component,
        "Workload" => OpenChoreoKind::Workload,
        "ReleaseBinding" | "ComponentReleaseBinding" => OpenChoreoKind::ReleaseBinding,
        "Environment" => OpenChoreoKind::Environment,
        "DataPlane" | "ClusterDataPlane" => OpenChoreoKind::DataPlane,
        "SecretReference" => OpenChoreoKind::SecretReference,
        _ => return None,
    })
}
