//! The fields that edges are derived from, by kind: what the other files of this folder read.
//!
//! A graph of objects that have only these fields has the same edges as one of whole objects; a property test compares
//! them.

use kubewright_k8s::PodTemplatePath;

use super::volume::{VOLUME_IDENTITY_FIELDS, VOLUME_SECRET_FIELDS};
use crate::fields::{FieldExtent, FieldStep, FieldTree};
use crate::graph::{Graph, is_widget_group};
use crate::{EdgeType, References};

/// Where a Pod template may be in an object of any kind.
const TEMPLATE_PATHS: [PodTemplatePath; 3] =
    [PodTemplatePath::Template, PodTemplatePath::JobTemplate, PodTemplatePath::Bare];

/// Returns the fields of objects of a kind that edges of `graph` are derived from, without those that identify the objects.
pub(crate) fn edge_fields(graph: &Graph, group: &str, kind: &str) -> FieldTree {
    let mut fields = KindFields { graph, tree: FieldTree::default() };
    fields.ownership_and_labels(group, kind);
    match (group, kind) {
        ("", "Pod") => fields.pod_template(PodTemplatePath::Pod),
        _ => TEMPLATE_PATHS.into_iter().for_each(|path| fields.pod_template(path)),
    }
    for path in KIND_FIELDS.iter().filter(|row| row.is_about(group, kind)).flat_map(|row| row.paths) {
        fields.whole(path);
    }
    if is_widget_group(group) {
        fields.widget();
    }
    fields.declared(group, kind);
    fields.tree
}

/// Returns the fields that identify an object.
pub(crate) fn identity_fields() -> FieldTree {
    let mut tree = FieldTree::default();
    for path in
        ["apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.generateName"]
    {
        tree.add_path(&[], path, FieldExtent::Whole);
    }
    tree
}

struct KindFields<'g> {
    graph: &'g Graph,
    tree: FieldTree,
}

impl KindFields<'_> {
    fn whole(&mut self, path: &str) {
        self.tree.add_path(&[], path, FieldExtent::Whole);
    }

    fn metadata(&mut self, map: &str, key: &str) {
        let steps = [FieldStep::Name("metadata"), FieldStep::Name(map), FieldStep::Name(key)];
        self.tree.add(&steps, FieldExtent::Whole);
    }

    fn ownership_and_labels(&mut self, group: &str, kind: &str) {
        if self.graph.has_edges_of(EdgeType::OWNS) {
            for field in ["apiVersion", "kind", "name", "uid", "controller"] {
                self.whole(&format!("metadata.ownerReferences[*].{field}"));
            }
        } else {
            // Selectors may leave out what has an owner.
            self.tree.add_path(&["metadata"], "ownerReferences", FieldExtent::Presence);
        }
        let is_namespace = group.is_empty() && kind == "Namespace";
        if is_namespace || !self.graph.references.classes(group, kind).is_empty() {
            self.whole("metadata.labels");
        }
        if self.graph.has_edges_of(EdgeType::PART_OF) {
            for label in ["instance", "part-of", "name"] {
                self.metadata("labels", &format!("app.kubernetes.io/{label}"));
            }
            self.metadata("annotations", "meta.helm.sh/release-name");
        }
    }

    fn pod_template(&mut self, path: PodTemplatePath) {
        let template = path.keys();
        // Selectors compare any label of the Pods.
        self.tree.add_path(template, "metadata.labels", FieldExtent::Whole);
        let spec = path.spec_keys();
        // Whether this is a Pod template at all, and whether its list of containers is one.
        self.tree.add_path(spec, "containers", FieldExtent::Presence);
        self.tree.add_path(template, "", FieldExtent::Presence);
        if path != PodTemplatePath::Pod {
            self.tree.add_path(spec, "", FieldExtent::Presence);
            self.whole("spec.selector");
        }
        for (kinds, fields) in TEMPLATE_FIELDS {
            if kinds.iter().any(|kind| self.graph.has_edges_of(*kind)) {
                for field in *fields {
                    self.tree.add_path(spec, field, FieldExtent::Whole);
                }
            }
        }
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            self.containers(spec, list);
        }
        if self.graph.has_edges_of(EdgeType::MOUNTS) || self.graph.has_edges_of(EdgeType::USES_CONFIG) {
            self.volumes(spec);
        }
    }

    fn containers(&mut self, spec: &[&str], list: &str) {
        for (kind, fields) in CONTAINER_FIELDS {
            if self.graph.has_edges_of(*kind) {
                for field in *fields {
                    self.tree.add_path(spec, &format!("{list}[*].{field}"), FieldExtent::Whole);
                }
            }
        }
        if self.graph.has_edges_of(EdgeType::MOUNTS) || self.graph.has_edges_of(EdgeType::USES_CONFIG) {
            for mounts in ["volumeMounts", "volumeDevices"] {
                self.tree.add_path(spec, &format!("{list}[*].{mounts}[*].name"), FieldExtent::VolumeName);
            }
        }
    }

    fn volumes(&mut self, spec: &[&str]) {
        self.tree.add_path(spec, "volumes[*].name", FieldExtent::VolumeName);
        self.tree.add_path(spec, "volumes[*].ephemeral", FieldExtent::Presence);
        for field in VOLUME_SOURCE_FIELDS {
            self.tree.add_path(spec, &format!("volumes[*].{field}"), FieldExtent::Whole);
        }
        for (source, keys) in VOLUME_IDENTITY_FIELDS {
            for key in *keys {
                self.tree.add_path(spec, &format!("volumes[*].{source}.{key}"), FieldExtent::Whole);
            }
        }
        for (source, keys) in VOLUME_SECRET_FIELDS {
            self.tree.add_path(spec, &format!("volumes[*].{source}.{}", keys.join(".")), FieldExtent::Whole);
        }
    }

    fn widget(&mut self) {
        self.whole("spec.resourcesRefs.items");
        for label in super::widget::MANAGED_BY {
            self.metadata("labels", label);
        }
    }

    /// What declared references read, and what is guessed where none are declared.
    fn declared(&mut self, group: &str, kind: &str) {
        let references: &References = &self.graph.references;
        let mut is_described = false;
        for reference in references.of_kind(group, kind) {
            is_described |= reference.from.kind != "*";
            self.tree.add(&reference.path.field_steps(), FieldExtent::Whole);
            if reference.is_selector {
                self.tree.add_path(&[], "spec.namespaceSelector", FieldExtent::Whole);
            }
        }
        let is_guessed = super::is_foreign(group) && !is_widget_group(group) && !is_described;
        if is_guessed && self.graph.has_edges_of(EdgeType::REFERS_TO) {
            for part in ["spec", "data"] {
                self.tree.add_path(&[], part, FieldExtent::References);
            }
        }
    }
}

/// The fields of the `spec` of a Pod, with the types of edges that need them.
const TEMPLATE_FIELDS: &[(&[EdgeType], &[&str])] = &[
    (&[EdgeType::USES_SA], &["serviceAccountName", "serviceAccount"]),
    (&[EdgeType::USES_CONFIG, EdgeType::PULLS_WITH], &["imagePullSecrets[*].name"]),
    (&[EdgeType::OF_CLASS], &["priorityClassName", "runtimeClassName"]),
    (&[EdgeType::SCHEDULED_ON], &["nodeName"]),
    (&[EdgeType::HAS_AFFINITY_TO, EdgeType::HAS_ANTI_AFFINITY_TO], &["affinity"]),
    (&[EdgeType::HAS_AFFINITY_TO], &["nodeSelector"]),
    (&[EdgeType::TOLERATES], &["tolerations"]),
];

/// The fields of a container.
const CONTAINER_FIELDS: &[(EdgeType, &[&str])] = &[
    (
        EdgeType::USES_CONFIG,
        &[
            "envFrom[*].configMapRef.name",
            "envFrom[*].configMapRef.optional",
            "envFrom[*].secretRef.name",
            "envFrom[*].secretRef.optional",
            "env[*].valueFrom.configMapKeyRef.name",
            "env[*].valueFrom.configMapKeyRef.optional",
            "env[*].valueFrom.secretKeyRef.name",
            "env[*].valueFrom.secretKeyRef.optional",
        ],
    ),
    (EdgeType::USES_IMAGE, &["image"]),
];

/// The fields of a volume that name objects.
const VOLUME_SOURCE_FIELDS: &[&str] = &[
    "persistentVolumeClaim.claimName",
    "configMap.name",
    "configMap.optional",
    "secret.secretName",
    "secret.optional",
    "projected.sources[*].configMap.name",
    "projected.sources[*].configMap.optional",
    "projected.sources[*].secret.name",
    "projected.sources[*].secret.optional",
];

/// The fields of one kind, or of all kinds of a group.
struct KindRow {
    group: &'static str,
    kind: &'static str,
    paths: &'static [&'static str],
}

impl KindRow {
    fn is_about(&self, group: &str, kind: &str) -> bool {
        (self.group == "*" || self.group == group) && (self.kind == "*" || self.kind == kind)
    }
}

const INGRESS_FIELDS: &[&str] = &[
    "spec.defaultBackend",
    "spec.backend",
    "spec.rules[*].http.paths[*].backend",
    "spec.tls[*].secretName",
    "spec.ingressClassName",
    "metadata.annotations",
];

const WEBHOOK_FIELDS: &[&str] =
    &["webhooks[*].clientConfig.service", "spec.service", "spec.conversion.webhook.clientConfig.service"];

/// What the built-in kinds are read for, Pod templates aside.
const KIND_FIELDS: &[KindRow] = &[
    KindRow { group: "", kind: "Service", paths: &["spec.selector", "spec.type"] },
    KindRow {
        group: "",
        kind: "Endpoints",
        paths: &[
            "subsets[*].addresses[*].targetRef.kind",
            "subsets[*].addresses[*].targetRef.name",
            "subsets[*].addresses[*].targetRef.namespace",
            "subsets[*].notReadyAddresses[*].targetRef.kind",
            "subsets[*].notReadyAddresses[*].targetRef.name",
            "subsets[*].notReadyAddresses[*].targetRef.namespace",
        ],
    },
    KindRow { group: "", kind: "ServiceAccount", paths: &["imagePullSecrets", "secrets"] },
    KindRow { group: "", kind: "Secret", paths: &["type", "metadata.annotations"] },
    KindRow {
        group: "",
        kind: "PersistentVolume",
        paths: &["spec.claimRef", "spec.storageClassName", "spec.csi.driver"],
    },
    KindRow {
        group: "",
        kind: "PersistentVolumeClaim",
        paths: &["spec.volumeName", "spec.storageClassName", "spec.dataSource", "spec.dataSourceRef"],
    },
    KindRow { group: "", kind: "Event", paths: &["involvedObject", "regarding"] },
    KindRow { group: "", kind: "Node", paths: &["spec.taints", "metadata.labels"] },
    KindRow { group: "events.k8s.io", kind: "*", paths: &["involvedObject", "regarding"] },
    KindRow { group: "apps", kind: "*", paths: &["spec.serviceName"] },
    KindRow { group: "batch", kind: "*", paths: &["spec.serviceName"] },
    KindRow { group: "argoproj.io", kind: "*", paths: &["spec.serviceName"] },
    KindRow {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        paths: &[
            "metadata.labels",
            "endpoints[*].targetRef.kind",
            "endpoints[*].targetRef.name",
            "endpoints[*].targetRef.namespace",
        ],
    },
    KindRow { group: "networking.k8s.io", kind: "Ingress", paths: INGRESS_FIELDS },
    KindRow { group: "extensions", kind: "Ingress", paths: INGRESS_FIELDS },
    KindRow {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        paths: &["spec.podSelector", "spec.ingress[*].from", "spec.egress[*].to"],
    },
    KindRow {
        group: "extensions",
        kind: "NetworkPolicy",
        paths: &["spec.podSelector", "spec.ingress[*].from", "spec.egress[*].to"],
    },
    KindRow {
        group: "gateway.networking.k8s.io",
        kind: "*",
        paths: &[
            "spec.gatewayClassName",
            "spec.listeners[*].tls.certificateRefs",
            "spec.parentRefs",
            "spec.rules[*].backendRefs",
            "spec.rules[*].filters",
            "spec.targetRef",
            "spec.targetRefs",
            "spec.from",
            "spec.to",
        ],
    },
    KindRow { group: "policy", kind: "*", paths: &["spec.selector"] },
    KindRow { group: "autoscaling", kind: "*", paths: &["spec.scaleTargetRef"] },
    KindRow {
        group: "rbac.authorization.k8s.io",
        kind: "*",
        paths: &["roleRef", "subjects", "aggregationRule"],
    },
    KindRow {
        group: "storage.k8s.io",
        kind: "*",
        paths: &["provisioner", "driver", "spec.source", "spec.nodeName", "spec.attacher"],
    },
    KindRow {
        group: "snapshot.storage.k8s.io",
        kind: "*",
        paths: &["driver", "spec.source", "spec.volumeSnapshotClassName"],
    },
    KindRow { group: "admissionregistration.k8s.io", kind: "*", paths: WEBHOOK_FIELDS },
    KindRow { group: "apiregistration.k8s.io", kind: "*", paths: WEBHOOK_FIELDS },
    KindRow { group: "apiextensions.k8s.io", kind: "*", paths: WEBHOOK_FIELDS },
    KindRow {
        group: "*",
        kind: "CustomResourceDefinition",
        paths: &["spec.group", "spec.names.kind", "spec.names.plural", "spec.names.categories"],
    },
];
