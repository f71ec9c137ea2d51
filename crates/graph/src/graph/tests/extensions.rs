//! Everything beyond the contract.

use super::{check, check_via, graph, label};
use crate::EdgeType;

fn object(version: &str, kind: &str, body: &str) -> String {
    format!("---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: x, namespace: a}}\n{body}\n")
}

#[test]
fn an_ingress_routes_to_services_and_has_secrets_and_a_class() {
    let ingress = object(
        "networking.k8s.io/v1",
        "Ingress",
        "spec: {ingressClassName: nginx, defaultBackend: {resource: {apiGroup: k.io, kind: Bucket, name: b}}, tls: [{secretName: cert}], rules: [{http: {paths: [{backend: {service: {name: web}}}]}}]}",
    );
    check_via(
        &ingress,
        "ROUTES_TO",
        &[
            "a/Bucket/b? spec.defaultBackend.resource required",
            "a/Service/web? spec.rules[0].http.paths[0].backend.service required",
        ],
    );
    check(&ingress, "TERMINATES_TLS_WITH", &["a/Ingress/x -> a/Secret/cert?"]);
    check(&ingress, "OF_CLASS", &["a/Ingress/x -> IngressClass/nginx?"]);
}

#[test]
fn the_gateway_api_has_defaults_for_what_is_left_out() {
    let version = "gateway.networking.k8s.io/v1";
    let route = object(
        version,
        "HTTPRoute",
        "spec: {parentRefs: [{name: gw, namespace: infra}], rules: [{backendRefs: [{name: web}], filters: [{type: RequestMirror, requestMirror: {backendRef: {name: copy}}}]}]}",
    );
    check(&route, "ATTACHES_TO", &["a/HTTPRoute/x -> infra/Gateway/gw?"]);
    check(&route, "FORWARDS_TO", &["a/HTTPRoute/x -> a/Service/copy?", "a/HTTPRoute/x -> a/Service/web?"]);
    let gateway = object(
        version,
        "Gateway",
        "spec: {gatewayClassName: c, listeners: [{tls: {certificateRefs: [{name: cert}]}}]}",
    );
    check(&gateway, "OF_CLASS", &["a/Gateway/x -> GatewayClass/c?"]);
    check(&gateway, "TERMINATES_TLS_WITH", &["a/Gateway/x -> a/Secret/cert?"]);
    check(
        &object(version, "ReferenceGrant", "spec: {from: [{kind: HTTPRoute, namespace: b}]}"),
        "GRANTS_REFERENCE",
        &["a/ReferenceGrant/x -> Namespace/b~"],
    );
    check(
        &object(version, "BackendTLSPolicy", "spec: {targetRefs: [{group: '', kind: Service, name: web}]}"),
        "TARGETS_POLICY",
        &["a/BackendTLSPolicy/x -> a/Service/web?"],
    );
}

#[test]
fn autoscalers_scale_what_they_name() {
    let target = "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}";
    check(
        &object("autoscaling/v2", "HorizontalPodAutoscaler", target),
        "SCALES",
        &["a/HorizontalPodAutoscaler/x -> a/Deployment/web?"],
    );
    check(
        &object("keda.sh/v1alpha1", "ScaledObject", "spec: {scaleTargetRef: {name: web}}"),
        "SCALES",
        &["a/ScaledObject/x -> a/Deployment/web?"],
    );
    check(
        &object(
            "autoscaling.k8s.io/v1",
            "VerticalPodAutoscaler",
            "spec: {targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}}",
        ),
        "SCALES",
        &["a/VerticalPodAutoscaler/x -> a/StatefulSet/db?"],
    );
}

#[test]
fn a_budget_protects_what_it_selects_and_an_empty_selector_selects_all() {
    let pods = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a, labels: {app: x}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: a}\n";
    let budget = |selector: &str| {
        format!("{pods}{}", object("policy/v1", "PodDisruptionBudget", &format!("spec: {{{selector}}}")))
    };
    check(&budget("selector: {matchLabels: {app: x}}"), "PROTECTS", &["a/PodDisruptionBudget/x -> a/Pod/p"]);
    check(
        &budget("selector: {matchExpressions: [{key: app, operator: DoesNotExist}]}"),
        "PROTECTS",
        &["a/PodDisruptionBudget/x -> a/Pod/q"],
    );
    check(
        &budget("selector: {}"),
        "PROTECTS",
        &["a/PodDisruptionBudget/x -> a/Pod/p", "a/PodDisruptionBudget/x -> a/Pod/q"],
    );
    check(&budget("maxUnavailable: 1"), "PROTECTS", &[]);
}

#[test]
fn bindings_lead_to_roles_and_subjects() {
    let body = "roleRef: {kind: ClusterRole, name: admin}\nsubjects: [{kind: ServiceAccount, name: s}, {kind: ServiceAccount, name: s, namespace: b}, {kind: User, name: u}]";
    let binding = object("rbac.authorization.k8s.io/v1", "RoleBinding", body);
    check(&binding, "BINDS_ROLE", &["a/RoleBinding/x -> ClusterRole/admin?"]);
    check(
        &binding,
        "BINDS_SUBJECT",
        &[
            "a/RoleBinding/x -> User/u~",
            "a/RoleBinding/x -> a/ServiceAccount/s?",
            "a/RoleBinding/x -> b/ServiceAccount/s?",
        ],
    );
    check(
        &object("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {kind: Role, name: r}"),
        "BINDS_ROLE",
        &["a/RoleBinding/x -> a/Role/r?"],
    );
}

#[test]
fn a_cluster_role_aggregates_others_by_label() {
    let roles = "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: all}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {to: all}}]}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: part, labels: {to: all}}\n";
    check(roles, "AGGREGATES", &["ClusterRole/all -> ClusterRole/part"]);
}

#[test]
fn claims_volumes_classes_and_drivers_hang_together() {
    let text = [
        &object("v1", "PersistentVolumeClaim", "spec: {volumeName: pv, storageClassName: fast}"),
        "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {claimRef: {namespace: a, name: x}, storageClassName: fast, csi: {driver: d}}\n",
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: d\n",
        "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: d}\n",
        "---\napiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {name: at}\nspec: {attacher: d, nodeName: k, source: {persistentVolumeName: pv}}\n",
    ]
    .concat();
    check(
        &text,
        "BOUND_TO",
        &[
            "PersistentVolume/pv -> a/PersistentVolumeClaim/x",
            "a/PersistentVolumeClaim/x -> PersistentVolume/pv",
        ],
    );
    check(
        &text,
        "OF_CLASS",
        &["PersistentVolume/pv -> StorageClass/fast", "a/PersistentVolumeClaim/x -> StorageClass/fast"],
    );
    check(
        &text,
        "PROVISIONED_BY",
        &["PersistentVolume/pv -> CSIDriver/d", "StorageClass/fast -> CSIDriver/d"],
    );
    check(
        &text,
        "ATTACHES_VOLUME",
        &[
            "VolumeAttachment/at -> CSIDriver/d",
            "VolumeAttachment/at -> Node/k~",
            "VolumeAttachment/at -> PersistentVolume/pv",
        ],
    );
    check(
        &object(
            "snapshot.storage.k8s.io/v1",
            "VolumeSnapshot",
            "spec: {source: {persistentVolumeClaimName: c}}",
        ),
        "SNAPSHOT_OF",
        &["a/VolumeSnapshot/x -> a/PersistentVolumeClaim/c?"],
    );
}

#[test]
fn pods_have_nodes_classes_images_and_applications() {
    let pod =
        object("v1", "Pod", "spec: {nodeName: k, priorityClassName: high, containers: [{image: nginx:1}]}")
            .replace("namespace: a", "namespace: a, labels: {app.kubernetes.io/instance: shop}");
    check(&pod, "SCHEDULED_ON", &["a/Pod/x -> Node/k~"]);
    check(&pod, "OF_CLASS", &["a/Pod/x -> PriorityClass/high?"]);
    check(&pod, "USES_IMAGE", &["a/Pod/x -> Image/nginx:1~"]);
    check(&pod, "PART_OF", &["a/Pod/x -> a/Application/shop~"]);
}

#[test]
fn webhooks_call_services() {
    let service = "clientConfig: {service: {namespace: b, name: s}}";
    check(
        &object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            &format!("webhooks: [{{{service}}}]"),
        ),
        "CALLS_WEBHOOK",
        &["ValidatingWebhookConfiguration/x -> b/Service/s?"],
    );
    check(
        &object(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &format!("spec: {{conversion: {{webhook: {{{service}}}}}}}"),
        ),
        "CALLS_WEBHOOK",
        &["CustomResourceDefinition/x -> b/Service/s?"],
    );
    check(
        &object("apiregistration.k8s.io/v1", "APIService", "spec: {service: {namespace: b, name: s}}"),
        "CALLS_WEBHOOK",
        &["APIService/x -> b/Service/s?"],
    );
}

#[test]
fn the_rest_of_kubernetes() {
    check(
        &object("apps/v1", "StatefulSet", "spec: {serviceName: h}"),
        "GOVERNED_BY",
        &["a/StatefulSet/x -> a/Service/h?"],
    );
    check(&object("v1", "LimitRange", ""), "LIMITED_BY", &["Namespace/a~ -> a/LimitRange/x"]);
    check(
        &object("v1", "ServiceAccount", "imagePullSecrets: [{name: s}]"),
        "PULLS_WITH",
        &["a/ServiceAccount/x -> a/Secret/s?"],
    );
    let event = object("v1", "Event", "involvedObject: {kind: ConfigMap, namespace: a, name: m}");
    check(&event, "REPORTS_ON", &[]);
    check(
        &format!("{event}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m, namespace: a}}"),
        "REPORTS_ON",
        &["a/Event/x -> a/ConfigMap/m"],
    );
}

#[test]
fn well_known_kinds_of_other_projects_are_declared() {
    check(
        &object(
            "cert-manager.io/v1",
            "Certificate",
            "spec: {secretName: s, issuerRef: {kind: ClusterIssuer, name: i, group: cert-manager.io}}",
        ),
        "ISSUES",
        &["a/Certificate/x -> ClusterIssuer/i?", "a/Certificate/x -> a/Secret/s?"],
    );
    check(
        &object("cert-manager.io/v1", "Certificate", "spec: {issuerRef: {name: i}}"),
        "ISSUES",
        &["a/Certificate/x -> a/Issuer/i?"],
    );
    check(
        &object("external-secrets.io/v1", "ExternalSecret", "spec: {secretStoreRef: {name: st}}"),
        "SYNCS_FROM",
        &["a/ExternalSecret/x -> a/SecretStore/st?"],
    );
    check(
        &object("argoproj.io/v1alpha1", "Application", "spec: {project: p}"),
        "DEPLOYS",
        &["a/Application/x -> a/AppProject/p?"],
    );
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: b, labels: {app: x}}\n";
    let monitor = |more: &str| {
        format!(
            "{service}{}",
            object(
                "monitoring.coreos.com/v1",
                "ServiceMonitor",
                &format!("spec: {{selector: {{matchLabels: {{app: x}}}}{more}}}")
            )
        )
    };
    check(&monitor(""), "SCRAPES", &[]);
    check(&monitor(", namespaceSelector: {any: true}"), "SCRAPES", &["a/ServiceMonitor/x -> b/Service/s"]);
    check(
        &monitor(", namespaceSelector: {matchNames: [b]}"),
        "SCRAPES",
        &["a/ServiceMonitor/x -> b/Service/s"],
    );
}

#[test]
fn an_edge_to_what_is_not_there_dangles_and_one_to_an_image_does_not() {
    let graph = graph(&object("v1", "Pod", "spec: {serviceAccountName: s, containers: [{image: i}]}"));
    let dangling: Vec<String> =
        graph.edges().filter(|edge| graph.is_dangling(edge)).map(|edge| label(&graph, edge.to)).collect();
    assert_eq!(dangling, ["a/ServiceAccount/s?"]);
    assert!(graph.of_kind("ServiceAccount").is_empty());
    assert_eq!(graph.edge_type("USES_SA"), Some(EdgeType::USES_SA));
}

#[test]
fn hostile_objects_are_objects() {
    let graph = graph(
        "1\n---\nkind: [Pod]\nmetadata: 3\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: [x], ownerReferences: {a: 1}}\nspec: {volumes: [1, null], containers: [null, {env: [1], envFrom: x}], affinity: []}\n",
    );
    assert_eq!(graph.of_kind("Pod").len(), 1);
}
