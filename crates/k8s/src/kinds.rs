//! The facts about Kubernetes' built-in kinds that an object does not carry itself: versions, scopes, plurals.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::{GroupVersionKind, fields};

/// Kinds that every cluster has, by group and version.
pub const BUILT_IN_KINDS: &[(&str, &str, &[&str])] = &[
    (
        "",
        "v1",
        &[
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        &[
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", "v1", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", "v1", &["APIService"]),
    ("apps", "v1", &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("authentication.k8s.io", "v1", &["SelfSubjectReview", "TokenReview"]),
    (
        "authorization.k8s.io",
        "v1",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    ("autoscaling", "v1", &["HorizontalPodAutoscaler"]),
    ("autoscaling", "v2", &["HorizontalPodAutoscaler"]),
    ("batch", "v1", &["CronJob", "Job"]),
    ("certificates.k8s.io", "v1", &["CertificateSigningRequest"]),
    ("coordination.k8s.io", "v1", &["Lease"]),
    ("discovery.k8s.io", "v1", &["EndpointSlice"]),
    ("events.k8s.io", "v1", &["Event"]),
    ("flowcontrol.apiserver.k8s.io", "v1", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io", "v1", &["IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"]),
    ("node.k8s.io", "v1", &["RuntimeClass"]),
    ("policy", "v1", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", "v1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("scheduling.k8s.io", "v1", &["PriorityClass"]),
    (
        "storage.k8s.io",
        "v1",
        &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"],
    ),
];

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

/// Returns whether objects of the built-in kind called `kind` have no namespace, where its group is not known.
#[must_use]
pub fn is_cluster_scoped_name(kind: &str) -> bool {
    CLUSTER_SCOPED.iter().any(|(_, kinds)| kinds.contains(&kind))
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
        LazyLock::new(|| fields::schema_kinds().map(|kind| (resource_name(kind), kind)).collect());
    KINDS.get(resource).copied()
}

/// Returns the API group of a built-in resource; nothing for one that several groups have, such as `events`.
#[must_use]
pub fn group_of_resource(resource: &str) -> Option<&'static str> {
    static GROUPS: LazyLock<HashMap<String, Option<&'static str>>> = LazyLock::new(|| {
        let mut groups: HashMap<String, Option<&'static str>> = HashMap::new();
        for (group, _, kinds) in BUILT_IN_KINDS {
            for kind in *kinds {
                let known = groups.entry(resource_name(kind)).or_insert(Some(group));
                *known = known.filter(|known| known == group);
            }
        }
        groups
    });
    GROUPS.get(resource).copied().flatten()
}

/// Returns whether `group` is an API group that every cluster has.
#[must_use]
pub fn is_built_in_group(group: &str) -> bool {
    BUILT_IN_KINDS.iter().any(|(known, ..)| *known == group)
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
    fn group_of_resource_is_known_where_one_group_alone_has_it() {
        for (resource, group) in [
            ("pods", Some("")),
            ("daemonsets", Some("apps")),
            ("horizontalpodautoscalers", Some("autoscaling")),
            ("events", None),
            ("widgets", None),
        ] {
            assert_eq!(group_of_resource(resource), group, "{resource}");
        }
        assert!(is_built_in_group("batch") && !is_built_in_group("example.com"));
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
