//! Small clusters made at random, in which everything has to do with everything.

use kubewright_value::Value;

use super::objects;

/// The same seed gives the same numbers every time.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Returns one object of a few names, kinds and labels, so that objects meet.
pub(super) fn object(random: &mut Random) -> Value {
    let kinds = [
        "Pod",
        "Pod",
        "Pod",
        "Deployment",
        "ReplicaSet",
        "Service",
        "NetworkPolicy",
        "Namespace",
        "ServiceAccount",
        "ConfigMap",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "Node",
        "Row",
        "Table",
        "Markdown",
        "Crd",
        "EndpointSlice",
        "ResourceQuota",
        "ClusterRole",
        "Ingress",
        "RoleBinding",
        "Custom",
    ];
    let kind = random.one(&kinds);
    let (version, kind, spec) = body(kind, random);
    let name = random.one(&["x", "z", "default", "x-v"]);
    let namespace = random.one(&["a", "b", "a", ""]);
    let label =
        |random: &mut Random| format!("{}: {}", random.one(&["app", "tier"]), random.one(&["x", "z"]));
    let labels = match random.below(3) {
        0 => String::new(),
        1 => format!(", labels: {{{}}}", label(random)),
        _ => format!(
            ", labels: {{app: {}, managed-by: x, kubernetes.io/service-name: z}}",
            random.one(&["x", "z"])
        ),
    };
    let uid = match random.below(5) {
        0 => format!(", uid: u-{kind}-{name}"),
        _ => String::new(),
    };
    let owners = match random.below(3) {
        0 => format!(
            ", ownerReferences: [{{apiVersion: apps/v1, kind: {}, name: {}, controller: {}{}}}]",
            random.one(&["Deployment", "ReplicaSet"]),
            random.one(&["x", "z"]),
            random.one(&["true", "false"]),
            random.one(&["", ", uid: u-ReplicaSet-x", ", uid: u-Deployment-z", ", uid: u-none"]),
        ),
        _ => String::new(),
    };
    let namespace = if namespace.is_empty() { String::new() } else { format!(", namespace: {namespace}") };
    let text = format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}{namespace}{labels}{uid}{owners}}}\n{spec}\n"
    );
    objects(&text).remove(0)
}

fn body(kind: &'static str, random: &mut Random) -> (&'static str, &'static str, String) {
    let selector = random.one(&[
        "{}",
        "{matchLabels: {app: x}}",
        "{matchLabels: {app: y}}",
        "{matchExpressions: [{key: app, operator: NotIn, values: [x]}]}",
    ]);
    let name = random.one(&["x", "z"]);
    let pod = format!(
        "{{{}containers: [{{image: {name}, envFrom: [{{configMapRef: {{name: {name}}}}}]}}], volumes: [{{name: v, {}}}], affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{labelSelector: {selector}, {}}}]}}}}, {}}}",
        random.one(&["", "serviceAccountName: x, "]),
        random.one(&["ephemeral: {}", "persistentVolumeClaim: {claimName: x}", "secret: {secretName: z}"]),
        random.one(&[
            "namespaces: [b]",
            "namespaceSelector: {}",
            "namespaceSelector: {matchLabels: {app: x}}",
            "topologyKey: z"
        ]),
        random.one(&[
            "nodeSelector: {app: x}",
            "nodeName: x",
            "tolerations: [{key: x, operator: Exists}]",
            "tolerations: [{key: x, operator: Exists}, {key: z, effect: NoExecute}]"
        ]),
    );
    let template = format!(
        "spec: {{selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {pod}}}}}"
    );
    let widgets = "widgets.templates.krateo.io/v1";
    match kind {
        "Pod" => ("v1", kind, format!("spec: {pod}")),
        "Deployment" | "ReplicaSet" => ("apps/v1", kind, template),
        "Service" => ("v1", kind, format!("spec: {{selector: {{app: {name}}}}}")),
        "NetworkPolicy" => (
            "networking.k8s.io/v1",
            kind,
            format!(
                "spec: {{podSelector: {selector}, ingress: [{{from: [{{namespaceSelector: {{matchLabels: {{app: {name}}}}}}}, {{podSelector: {selector}}}]}}]}}"
            ),
        ),
        "PodDisruptionBudget" => ("policy/v1", kind, format!("spec: {{selector: {selector}}}")),
        "Row" | "Table" => (
            widgets,
            kind,
            format!(
                "spec: {{resourcesRefs: {{items: [{{name: {name}, resource: {}}}]}}}}",
                random.one(&["tables", "rows", "tableaux"])
            ),
        ),
        "Markdown" => (widgets, kind, String::new()),
        "Crd" => (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            format!(
                "spec: {{group: widgets.templates.krateo.io, names: {{kind: Table, plural: {}}}}}",
                random.one(&["tables", "tableaux"])
            ),
        ),
        "EndpointSlice" => (
            "discovery.k8s.io/v1",
            kind,
            format!(
                "endpoints: [{{targetRef: {{kind: Pod, name: {name}}}}}, {{targetRef: {{kind: Pod, name: x}}}}]"
            ),
        ),
        "ClusterRole" => (
            "rbac.authorization.k8s.io/v1",
            kind,
            format!("aggregationRule: {{clusterRoleSelectors: [{selector}]}}"),
        ),
        "RoleBinding" => (
            "rbac.authorization.k8s.io/v1",
            kind,
            format!(
                "roleRef: {{kind: ClusterRole, name: {name}}}\nsubjects: [{{kind: ServiceAccount, name: {name}}}]"
            ),
        ),
        "Node" => (
            "v1",
            kind,
            format!(
                "spec: {{taints: [{}]}}",
                random.one(&["", "{key: x, effect: NoSchedule}", "{key: z, effect: NoExecute}"])
            ),
        ),
        "Custom" => (
            "example.com/v1",
            kind,
            format!(
                "spec: {{aRef: {{kind: {}, name: {name}}}}}",
                random.one(&["Custom", "ConfigMap", "ServiceAccount"])
            ),
        ),
        "Ingress" => (
            random.one(&["networking.k8s.io/v1", "extensions/v1beta1"]),
            kind,
            format!("spec: {{defaultBackend: {{service: {{name: {name}}}}}}}"),
        ),
        _ => ("v1", kind, String::new()),
    }
}
