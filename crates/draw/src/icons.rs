//! A few strokes for every kind, in a square of 14.

/// Returns the strokes of the icon of a kind; a ring for a kind without one.
pub(super) fn kind_icon(kind: &str) -> &'static str {
    match kind {
        "Pod" | "PodTemplate" => "M7 1l5.2 3v6L7 13l-5.2-3V4zM1.8 4L7 7l5.2-3M7 7v6",
        "Deployment" | "ReplicaSet" | "ReplicationController" | "Rollout" => "M5 5h8v8H5zM3 10V3h7M1 8V1h7",
        "StatefulSet" => "M2 1h10v3.4H2zM2 5.3h10v3.4H2zM2 9.6h10V13H2z",
        "DaemonSet" => "M1.5 1.5h4.4v4.4H1.5zM8.1 1.5h4.4v4.4H8.1zM1.5 8.1h4.4v4.4H1.5zM8.1 8.1h4.4v4.4H8.1z",
        "Job" => "M4 7.2l2.2 2.2L10 5.2M7 1a6 6 0 1 0 .01 0",
        "CronJob" => "M7 3.5V7l2.6 1.6M7 1a6 6 0 1 0 .01 0",
        "Service" | "Endpoints" | "EndpointSlice" => {
            "M1 7h4M5 7a2 2 0 1 0 4 0 2 2 0 1 0-4 0M8.6 5.7L12.5 2M8.6 8.3l3.9 3.7M9 7h4"
        }
        "Ingress" | "Gateway" | "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" | "UDPRoute"
        | "Route" | "VirtualService" => "M1 7h8M6 4l3 3-3 3M7.5 1H13v12H7.5",
        "NetworkPolicy" => "M7 1l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V3z",
        "PodDisruptionBudget" => "M7 1l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V3zM4.5 6.8l1.8 1.8 3.2-3.4",
        "HorizontalPodAutoscaler" | "VerticalPodAutoscaler" | "ScaledObject" => {
            "M4 12V2M1.5 4.5L4 2l2.5 2.5M10 2v10M7.5 9.5L10 12l2.5-2.5"
        }
        "ConfigMap" => "M3 1h8v12H3zM5 4h4M5 7h4M5 10h4",
        "Secret" => "M2.5 6h9v7h-9zM4.5 6V4a2.5 2.5 0 0 1 5 0v2M7 8.8v1.6",
        "PersistentVolumeClaim" | "PersistentVolume" | "StorageClass" | "Volume" | "CSIDriver" => {
            "M2 3.2c0-2.6 10-2.6 10 0v7.6c0 2.6-10 2.6-10 0zM2 3.2c0 2.6 10 2.6 10 0"
        }
        "ServiceAccount" | "User" | "Group" => "M7 1.5a2.7 2.7 0 1 0 .01 0M2 13c0-6 10-6 10 0",
        "RoleBinding" | "ClusterRoleBinding" => {
            "M1 7a2.3 2.3 0 1 0 4.6 0A2.3 2.3 0 1 0 1 7M8.4 7a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0M5.6 7h2.8"
        }
        "Role" | "ClusterRole" => "M2 2h10v10H2zM4 7.2l2.2 2.2L10 5.2",
        "Node" => "M1 2.5h12v7.5H1zM4 13h6M7 10v3",
        "Namespace" => "M1 4V1h3M10 1h3v3M13 10v3h-3M4 13H1v-3",
        "Image" => "M7 1l6 3-6 3-6-3zM1 7l6 3 6-3M1 10l6 3 6-3",
        "LimitRange" | "ResourceQuota" => "M1.5 10.5a5.5 5.5 0 1 1 11 0M7 10.5l3-4",
        _ => "M7 2a5 5 0 1 0 .01 0",
    }
}
