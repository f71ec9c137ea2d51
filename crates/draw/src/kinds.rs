//! The column, family and abbreviation of each kind.

/// Returns the column of a kind from the left, as far as what links kinds mostly leads from left to right.
#[must_use]
pub fn kind_layer(kind: &str) -> usize {
    kind_appearance(kind).layer
}

/// Returns how a kind is abbreviated; empty where it is not.
#[must_use]
pub fn short_name(kind: &str) -> &'static str {
    kind_appearance(kind).short
}

/// A family of kinds, which share a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Family {
    Entry,
    Network,
    Workload,
    Pod,
    Config,
    Storage,
    Identity,
    Cluster,
    Other,
}

impl Family {
    pub(super) const ALL: [Self; 9] = [
        Self::Entry,
        Self::Network,
        Self::Workload,
        Self::Pod,
        Self::Config,
        Self::Storage,
        Self::Identity,
        Self::Cluster,
        Self::Other,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Network => "network",
            Self::Workload => "workload",
            Self::Pod => "pod",
            Self::Config => "configuration",
            Self::Storage => "storage",
            Self::Identity => "identity",
            Self::Cluster => "cluster",
            Self::Other => "other kinds",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Entry => "fe",
            Self::Network => "fn",
            Self::Workload => "fw",
            Self::Pod => "fp",
            Self::Config => "fc",
            Self::Storage => "fs",
            Self::Identity => "fi",
            Self::Cluster => "fk",
            Self::Other => "fo",
        }
    }
}

/// How objects of a kind are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct KindAppearance {
    /// The column, from the left: entry, service, workload, pod, what pods use, what that uses.
    pub layer: usize,
    pub family: Family,
    /// As `kubectl` abbreviates it; empty when it does not.
    pub short: &'static str,
}

pub(super) fn kind_appearance(kind: &str) -> KindAppearance {
    use Family::{Cluster, Config, Entry, Identity, Network, Other, Pod, Storage, Workload};
    let (layer, family, short) = match kind {
        "GatewayClass" => (0, Entry, "gc"),
        "IngressClass" => (0, Entry, "ingc"),
        "Gateway" => (0, Entry, "gtw"),
        "Ingress" => (1, Entry, "ing"),
        "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" | "UDPRoute" | "Route" => (1, Entry, "route"),
        "VirtualService" => (1, Entry, "vs"),
        "MutatingWebhookConfiguration" => (1, Entry, "mwc"),
        "ValidatingWebhookConfiguration" => (1, Entry, "vwc"),
        "APIService" => (1, Entry, "api"),
        "Service" => (2, Network, "svc"),
        "Endpoints" | "EndpointSlice" => (2, Network, "ep"),
        "NetworkPolicy" => (2, Network, "netpol"),
        "ServiceMonitor" | "PodMonitor" => (2, Other, "mon"),
        "HorizontalPodAutoscaler" => (2, Workload, "hpa"),
        "VerticalPodAutoscaler" => (2, Workload, "vpa"),
        "ScaledObject" => (2, Workload, "so"),
        "PodDisruptionBudget" => (2, Workload, "pdb"),
        "Deployment" => (3, Workload, "deploy"),
        "StatefulSet" => (3, Workload, "sts"),
        "DaemonSet" => (3, Workload, "ds"),
        "CronJob" => (3, Workload, "cj"),
        "Rollout" => (3, Workload, "ro"),
        "ReplicaSet" => (4, Workload, "rs"),
        "ReplicationController" => (4, Workload, "rc"),
        "Job" => (4, Workload, "job"),
        "Pod" => (5, Pod, "pod"),
        "PodTemplate" => (5, Pod, "podtpl"),
        "ConfigMap" => (6, Config, "cm"),
        "Secret" => (6, Config, "secret"),
        "PersistentVolumeClaim" => (6, Storage, "pvc"),
        "ServiceAccount" => (6, Identity, "sa"),
        "Image" => (7, Other, "image"),
        "Volume" => (7, Storage, "vol"),
        "PersistentVolume" => (7, Storage, "pv"),
        "RoleBinding" => (7, Identity, "rb"),
        "ClusterRoleBinding" => (7, Identity, "crb"),
        "Role" => (8, Identity, "role"),
        "ClusterRole" => (8, Identity, "crole"),
        "StorageClass" => (8, Storage, "sc"),
        "CSIDriver" => (9, Storage, "csi"),
        "Node" => (8, Cluster, "node"),
        "Namespace" => (8, Cluster, "ns"),
        "PriorityClass" => (8, Cluster, "pc"),
        "RuntimeClass" => (8, Cluster, "rtc"),
        "LimitRange" => (8, Config, "limits"),
        "ResourceQuota" => (8, Config, "quota"),
        "CustomResourceDefinition" => (2, Cluster, "crd"),
        _ => (3, Other, ""),
    };
    KindAppearance { layer, family, short }
}
