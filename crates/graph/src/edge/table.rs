//! The table of the built-in edge types.
//!
//! Everything that depends on the type of an edge follows from a row here: the constants of [`EdgeType`], the names that
//! patterns accept, what `ANY` means, what a picture leaves out and how it colours the rest, and the tables of
//! `docs/graph-edges.md` (a test compares them and rewrites them with `UPDATE_SNAPSHOTS=1`).
//!
//! A row is appended, never inserted: its number is the order of the edges in every output.

use super::{EdgeType, EdgeTypeSpec, KindSet};

macro_rules! edge_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal { $($field:ident: $value:expr,)* })*) => {
        impl EdgeType {
            $($(#[$doc])* pub const $name: Self = Self($number);)*
        }

        /// Every built-in type at the place of its number.
        pub const EDGE_TYPES: &[EdgeTypeSpec] = &[
            $(EdgeTypeSpec {
                name: stringify!($name),
                edge_type: EdgeType::$name,
                $($field: $value,)*
                ..EdgeTypeSpec::DEFAULT
            },)*
        ];
    };
}

edge_types! {
    /// Owner → dependent.
    OWNS = 0 {
        from: "owner",
        to: "any object in its namespace; any object at all if the owner is cluster-scoped",
        fields: "`metadata.ownerReferences[]`: by uid, or by group, kind and name in manifests without uids; `spec.selector` of a Deployment for ReplicaSets without an owner",
        strength: "required; matched by labels: implicit",
        is_in_contract: true,
        is_implied: true,
        is_ownership: true,
        colour: Some(0),
    }
    /// Controller → Pod, also through other controllers.
    MANAGES = 1 {
        from: "controller",
        to: "Pod, also through other owners",
        fields: "owner references, the one with `controller: true` if there is one; `spec.selector` for Pods without an owner",
        strength: "required; matched by labels: implicit",
        from_kinds: KindSet::Except("Pod"),
        to_kinds: KindSet::Only(&["Pod"]),
        is_in_contract: true,
        is_stored: false,
        is_implied: true,
        is_ownership: true,
        colour: Some(0),
    }
    /// Pod or workload → claim, ConfigMap, Secret, identity of a volume.
    MOUNTS = 2 {
        from: "workload",
        to: "PersistentVolumeClaim and the PersistentVolume it is bound to, ConfigMap, Secret, identity of a volume (virtual)",
        fields: "`spec.volumes[]`: claims, ConfigMaps, Secrets, `projected.sources[]`, `ephemeral`; the host path, server or disk of a volume; the name of the volume within its namespace",
        strength: "`optional` of the source; optional if no container mounts it; matched by name: implicit",
        from_kinds: KindSet::Workloads,
        to_kinds: KindSet::Only(&["PersistentVolumeClaim", "PersistentVolume", "ConfigMap", "Secret"]),
        is_in_contract: true,
        colour: Some(2),
    }
    /// Service → Pod or workload.
    EXPOSES = 3 {
        from: "Service",
        to: "workload",
        fields: "`spec.selector`; targets of EndpointSlices and Endpoints",
        strength: "required",
        from_kinds: KindSet::Only(&["Service"]),
        to_kinds: KindSet::Workloads,
        is_in_contract: true,
        colour: Some(1),
        selectors: &[("Service", "selector")],
    }
    /// Pod or workload → ConfigMap, Secret.
    USES_CONFIG = 4 {
        from: "workload",
        to: "ConfigMap, Secret",
        fields: "`envFrom[]`, `env[].valueFrom`, volumes, `imagePullSecrets[]`, the Secret that opens a volume",
        strength: "`optional` of the source",
        from_kinds: KindSet::Workloads,
        to_kinds: KindSet::Only(&["ConfigMap", "Secret"]),
        is_in_contract: true,
        colour: Some(3),
    }
    /// NetworkPolicy → Pod or workload, and between workloads that a policy connects, both ways.
    SAME_NETWORK = 5 {
        from: "NetworkPolicy; workload",
        to: "workload",
        fields: "`spec.podSelector` and the peers of a NetworkPolicy: the policy and each workload it selects, two workloads it selects, a selected workload and an allowed peer",
        strength: "required; between workloads: implicit",
        from_kinds: KindSet::WorkloadsAnd("NetworkPolicy"),
        to_kinds: KindSet::Workloads,
        is_in_contract: true,
        is_stored: false,
        is_implied: true,
        is_noisy: true,
        is_symmetric: true,
        colour: Some(5),
        selectors: &[("NetworkPolicy", "podSelector")],
    }
    /// Namespace → object in it.
    IS_NAMESPACE_OF = 6 {
        from: "Namespace",
        to: "object in it",
        fields: "`metadata.namespace`",
        strength: "required",
        from_kinds: KindSet::Only(&["Namespace"]),
        to_kinds: KindSet::Namespaced,
        is_in_contract: true,
        is_stored: false,
        is_implied: true,
        is_noisy: true,
    }
    /// Pod or workload → ServiceAccount.
    USES_SA = 7 {
        from: "workload",
        to: "ServiceAccount",
        fields: "`spec.serviceAccountName`, `spec.serviceAccount`; `default` if it is in the input",
        strength: "required; by default: implicit",
        from_kinds: KindSet::Workloads,
        to_kinds: KindSet::Only(&["ServiceAccount"]),
        is_in_contract: true,
        colour: Some(4),
    }
    /// Pod or workload → Pod or Node that attracts it.
    HAS_AFFINITY_TO = 8 {
        from: "workload",
        to: "Pod; Node",
        fields: "`spec.affinity.podAffinity`, `spec.affinity.nodeAffinity`, `spec.nodeSelector`",
        strength: "required, preferred",
        from_kinds: KindSet::Workloads,
        to_kinds: KindSet::WorkloadsAnd("Node"),
        is_in_contract: true,
        colour: Some(6),
    }
    /// Krateo widget → widget that it lists.
    REFERENCES_KRATEO = 9 {
        from: "widget",
        to: "widget, or any object by its plural",
        fields: "`spec.resourcesRefs.items[]`",
        strength: "required",
        from_kinds: KindSet::Custom,
        to_kinds: KindSet::Custom,
        is_in_contract: true,
    }
    /// Krateo Table or Paragraph → Markdown that names it in a label.
    MANAGES_KRATEO = 10 {
        from: "Table, otherwise Paragraph",
        to: "Markdown",
        fields: "the label `managed-by`, `krateo.io/managed-by` or `krateo.io/portal` of the Markdown",
        strength: "implicit",
        from_kinds: KindSet::Custom,
        to_kinds: KindSet::Custom,
    }
    /// Pod or workload → Pod that it must not run beside.
    HAS_ANTI_AFFINITY_TO = 11 {
        from: "workload",
        to: "Pod",
        fields: "`spec.affinity.podAntiAffinity`",
        strength: "required, preferred",
    }
    /// Pod, workload or ServiceAccount → Secret for pulling images.
    PULLS_WITH = 12 {
        from: "workload, ServiceAccount",
        to: "Secret",
        fields: "`imagePullSecrets[]`",
        strength: "required",
    }
    /// Ingress → Service or other backend.
    ROUTES_TO = 13 {
        from: "Ingress",
        to: "Service, or another backend",
        fields: "`spec.rules[].http.paths[].backend`, `spec.defaultBackend`, `spec.backend`",
        strength: "required",
        from_kinds: KindSet::Only(&["Ingress"]),
        to_kinds: KindSet::Any,
    }
    /// Ingress or Gateway → Secret.
    TERMINATES_TLS_WITH = 14 {
        from: "Ingress, Gateway",
        to: "Secret",
        fields: "`spec.tls[].secretName`, `spec.listeners[].tls.certificateRefs[]`",
        strength: "required",
    }
    /// Ingress, Gateway, claim, volume, Pod → its class.
    OF_CLASS = 15 {
        from: "Ingress, Gateway, claim, volume, snapshot, workload",
        to: "its class",
        fields: "`ingressClassName`, `gatewayClassName`, `storageClassName`, `volumeSnapshotClassName`, `priorityClassName`, `runtimeClassName`; the annotation `kubernetes.io/ingress.class` if the class is in the input",
        strength: "required",
    }
    /// Route → Gateway or Service that it attaches to.
    ATTACHES_TO = 16 {
        from: "Route of the Gateway API",
        to: "Gateway, Service",
        fields: "`spec.parentRefs[]`",
        strength: "required",
    }
    /// Route → Service.
    FORWARDS_TO = 17 {
        from: "Route of the Gateway API",
        to: "Service",
        fields: "`spec.rules[].backendRefs[]`, filters that mirror requests",
        strength: "required",
    }
    /// ReferenceGrant → namespace from which it allows references.
    GRANTS_REFERENCE = 18 {
        from: "ReferenceGrant",
        to: "Namespace; object",
        fields: "`spec.from[].namespace`, `spec.to[].name`",
        strength: "required",
    }
    /// Policy → the object it is attached to.
    TARGETS_POLICY = 19 {
        from: "policy of the Gateway API",
        to: "the object it is attached to",
        fields: "`spec.targetRef`, `spec.targetRefs[]`",
        strength: "required",
    }
    /// Autoscaler → workload.
    SCALES = 20 {
        from: "HorizontalPodAutoscaler, VerticalPodAutoscaler, ScaledObject",
        to: "workload",
        fields: "`spec.scaleTargetRef`, `spec.targetRef`",
        strength: "required",
    }
    /// PodDisruptionBudget → Pod or workload.
    PROTECTS = 21 {
        from: "PodDisruptionBudget",
        to: "workload",
        fields: "`spec.selector`; an empty one selects every Pod of the namespace",
        strength: "required",
        from_kinds: KindSet::Only(&["PodDisruptionBudget"]),
        to_kinds: KindSet::Workloads,
        selectors: &[("PodDisruptionBudget", "selector")],
    }
    /// NetworkPolicy → Pod or workload that it selects.
    ISOLATES = 22 {
        from: "NetworkPolicy",
        to: "workload",
        fields: "`spec.podSelector`",
        strength: "required",
        selectors: &[("NetworkPolicy", "podSelector")],
    }
    /// NetworkPolicy → Pod or workload that may call the selected ones.
    ALLOWS_FROM = 23 {
        from: "NetworkPolicy",
        to: "workload",
        fields: "`spec.ingress[].from[]`",
        strength: "required",
    }
    /// NetworkPolicy → Pod or workload that the selected ones may call.
    ALLOWS_TO = 24 {
        from: "NetworkPolicy",
        to: "workload",
        fields: "`spec.egress[].to[]`",
        strength: "required",
    }
    /// Binding → Role or ClusterRole.
    BINDS_ROLE = 25 {
        from: "RoleBinding, ClusterRoleBinding",
        to: "Role, ClusterRole",
        fields: "`roleRef`",
        strength: "required",
    }
    /// Binding → ServiceAccount, User or Group.
    BINDS_SUBJECT = 26 {
        from: "RoleBinding, ClusterRoleBinding",
        to: "ServiceAccount; User, Group (virtual)",
        fields: "`subjects[]`",
        strength: "required",
    }
    /// ClusterRole → ClusterRole whose rules it includes.
    AGGREGATES = 27 {
        from: "ClusterRole",
        to: "ClusterRole",
        fields: "`aggregationRule.clusterRoleSelectors[]`",
        strength: "required",
    }
    /// Claim → PersistentVolume, PersistentVolume → claim.
    BOUND_TO = 28 {
        from: "claim; PersistentVolume",
        to: "PersistentVolume; claim",
        fields: "`spec.volumeName`; `spec.claimRef`",
        strength: "required",
    }
    /// StorageClass or PersistentVolume → CSIDriver.
    PROVISIONED_BY = 29 {
        from: "StorageClass, PersistentVolume, VolumeSnapshotClass",
        to: "CSIDriver in the input",
        fields: "`provisioner`, `spec.csi.driver`, `driver`",
        strength: "required",
    }
    /// VolumeAttachment → PersistentVolume, Node, CSIDriver.
    ATTACHES_VOLUME = 30 {
        from: "VolumeAttachment",
        to: "PersistentVolume, Node, CSIDriver",
        fields: "`spec.source.persistentVolumeName`, `spec.nodeName`, `spec.attacher`",
        strength: "required",
    }
    /// VolumeSnapshot → claim or content.
    SNAPSHOT_OF = 31 {
        from: "VolumeSnapshot",
        to: "claim, VolumeSnapshotContent",
        fields: "`spec.source`",
        strength: "required",
    }
    /// Pod → Node.
    SCHEDULED_ON = 32 {
        from: "workload",
        to: "Node",
        fields: "`spec.nodeName`",
        strength: "required",
        from_kinds: KindSet::Workloads,
        to_kinds: KindSet::Only(&["Node"]),
        is_noisy: true,
    }
    /// StatefulSet → the headless Service of its Pods.
    GOVERNED_BY = 33 {
        from: "StatefulSet",
        to: "Service",
        fields: "`spec.serviceName`",
        strength: "required",
    }
    /// Webhook configuration, APIService, CustomResourceDefinition → Service.
    CALLS_WEBHOOK = 34 {
        from: "webhook configuration, APIService, CustomResourceDefinition",
        to: "Service",
        fields: "`webhooks[].clientConfig.service`, `spec.service`, `spec.conversion.webhook.clientConfig.service`",
        strength: "required",
    }
    /// CustomResourceDefinition → its instances.
    DEFINES_KIND = 35 {
        from: "CustomResourceDefinition",
        to: "its instances",
        fields: "`spec.group`, `spec.names.kind`",
        strength: "required",
        is_stored: false,
        is_implied: true,
        is_noisy: true,
    }
    /// Namespace → ResourceQuota, LimitRange.
    LIMITED_BY = 36 {
        from: "Namespace",
        to: "ResourceQuota, LimitRange",
        fields: "`metadata.namespace`",
        strength: "required",
        is_implied: true,
        is_noisy: true,
    }
    /// ServiceMonitor → Service, PodMonitor → Pod.
    SCRAPES = 37 {
        from: "ServiceMonitor; PodMonitor",
        to: "Service; Pod",
        fields: "`spec.selector`, `spec.namespaceSelector`",
        strength: "required",
        selectors: &[("ServiceMonitor", "selector"), ("PodMonitor", "selector")],
    }
    /// Certificate → issuer and Secret.
    ISSUES = 38 {
        from: "Certificate, CertificateRequest",
        to: "issuer; Secret",
        fields: "`spec.issuerRef`; `spec.secretName`",
        strength: "required; Secret: optional",
    }
    /// ExternalSecret → store and Secret.
    SYNCS_FROM = 39 {
        from: "ExternalSecret, PushSecret",
        to: "store; Secret",
        fields: "`spec.secretStoreRef`, `spec.target.name`",
        strength: "required; target: optional",
    }
    /// Delivery object of Argo CD or Flux → its project or source.
    DEPLOYS = 40 {
        from: "delivery object (Argo CD, Flux)",
        to: "project, source",
        fields: "`spec.project`, `spec.sourceRef`, `spec.chartRef`",
        strength: "required",
    }
    /// Object → application.
    PART_OF = 41 {
        from: "any object",
        to: "application (virtual)",
        fields: "the label `app.kubernetes.io/instance`, `…/part-of` or `…/name`; the annotation `meta.helm.sh/release-name`",
        strength: "implicit",
        is_implied: true,
        is_noisy: true,
    }
    /// Pod or workload → image.
    USES_IMAGE = 42 {
        from: "workload",
        to: "image (virtual)",
        fields: "`containers[].image`, `initContainers[].image`, `ephemeralContainers[].image`",
        strength: "required",
        is_noisy: true,
    }
    /// Event → object.
    REPORTS_ON = 43 {
        from: "Event",
        to: "object in the input",
        fields: "`involvedObject`, `regarding`",
        strength: "optional",
        is_implied: true,
        is_noisy: true,
    }
    /// Any other reference.
    REFERS_TO = 44 {
        from: "any object",
        to: "any object",
        fields: "`secrets[]` of a ServiceAccount, the account of a token Secret, `dataSource` of claims; declared references without a type; in kinds without declared references, fields called `…Ref` or `…Refs` that name a kind and an object in the input",
        strength: "required; guessed: implicit",
    }
    /// ServiceAccount, User or Group → Role or ClusterRole that a binding grants it.
    CAN_ACCESS = 45 {
        from: "ServiceAccount, User, Group",
        to: "Role, ClusterRole",
        fields: "`subjects[]` and `roleRef` of a binding; the User `system:serviceaccount:…` is the ServiceAccount",
        strength: "required",
        from_kinds: KindSet::Only(&["ServiceAccount"]),
        to_kinds: KindSet::Only(&["Role", "ClusterRole"]),
    }
    /// Pod or workload → tainted Node that it tolerates.
    TOLERATES = 46 {
        from: "workload",
        to: "Node whose `NoSchedule` and `NoExecute` taints are all tolerated",
        fields: "`spec.tolerations[]` and the Node's `spec.taints[]`",
        strength: "optional",
        from_kinds: KindSet::Workloads,
        to_kinds: KindSet::Only(&["Node"]),
        is_stored: false,
    }
}
