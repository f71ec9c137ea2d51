//! The few facts about Kubernetes' built-in kinds that an object does not carry itself.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::{GroupVersionKind, fields};

/// Kinds without a namespace, by group.
const CLUSTER_SCOPED: &[(&str, &[&str])] = &[
    ("", &["Namespace", "Node", "PersistentVolume", "ComponentStatus"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    (
        "storage.k8s.io",
        &["StorageClass", "VolumeAttachment", "CSIDriver", "CSINode", "VolumeAttributesClass"],
    ),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("networking.k8s.io", &["IngressClass", "IPAddress", "ServiceCIDR"]),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("resource.k8s.io", &["DeviceClass", "ResourceSlice"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
        ],
    ),
    ("authentication.k8s.io", &["TokenReview", "SelfSubjectReview"]),
    ("authorization.k8s.io", &["SubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview"]),
    ("gateway.networking.k8s.io", &["GatewayClass"]),
];

/// Returns whether objects of this kind have no namespace. An unknown kind is taken to have one.
#[must_use]
pub fn is_cluster_scoped(kind: &GroupVersionKind) -> bool {
    CLUSTER_SCOPED
        .iter()
        .find(|(group, _)| *group == kind.group)
        .is_some_and(|(_, kinds)| kinds.contains(&kind.kind.as_str()))
}

/// Returns what the API server calls objects of `kind` in its paths. It is the plural, which an object does not
/// carry, so for a kind with another one this is a guess.
#[must_use]
pub fn resource_name(kind: &str) -> String {
    let singular = kind.to_lowercase();
    match singular.strip_suffix('y') {
        _ if singular == "endpoints" => singular,
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| singular.ends_with(end)) => format!("{singular}es"),
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{singular}s"),
    }
}

/// Returns the built-in kind that the API server calls `resource`, if it is one.
#[must_use]
pub fn kind_of_resource(resource: &str) -> Option<&'static str> {
    static KINDS: LazyLock<HashMap<String, &'static str>> =
        LazyLock::new(|| fields::kinds().map(|kind| (resource_name(kind), kind)).collect());
    KINDS.get(resource).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_cluster_scoped_only_in_its_own_group() {
        let kind = |group: &str, kind: &str| GroupVersionKind {
            group: group.into(),
            version: "v1".into(),
            kind: kind.into(),
        };
        assert!(is_cluster_scoped(&kind("", "Namespace")));
        assert!(!is_cluster_scoped(&kind("example.com", "Namespace")));
        assert!(!is_cluster_scoped(&kind("apps", "Deployment")));
    }

    #[test]
    fn a_resource_is_the_plural_of_its_kind() {
        for (kind, name) in [
            ("Pod", "pods"),
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Endpoints", "endpoints"),
        ] {
            assert_eq!(resource_name(kind), name);
        }
    }
}
