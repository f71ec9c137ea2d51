//! Which documents are read, by `apiVersion` and `kind`.

use kubewright_value::Value;

use crate::API_VERSION;

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Trait { is_cluster: bool },
    ComponentType { is_cluster: bool },
    Component,
    Workload,
    ReleaseBinding,
    Environment,
    DataPlane,
    SecretReference,
}

/// Returns what `value` is. The guide leaves the group out of `apiVersion`, so both spellings are read.
pub(super) fn of(value: &Value) -> Option<Kind> {
    let version = value.get("apiVersion").and_then(Value::as_str)?;
    if !matches!(version, "v1alpha1" | API_VERSION) {
        return None;
    }
    Some(match value.get("kind").and_then(Value::as_str)? {
        "Trait" => Kind::Trait { is_cluster: false },
        "ClusterTrait" => Kind::Trait { is_cluster: true },
        "ComponentType" => Kind::ComponentType { is_cluster: false },
        "ClusterComponentType" => Kind::ComponentType { is_cluster: true },
        "Component" => Kind::Component,
        "Workload" => Kind::Workload,
        "ReleaseBinding" | "ComponentReleaseBinding" => Kind::ReleaseBinding,
        "Environment" => Kind::Environment,
        "DataPlane" | "ClusterDataPlane" => Kind::DataPlane,
        "SecretReference" => Kind::SecretReference,
        _ => return None,
    })
}
