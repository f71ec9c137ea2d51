//! The ten types of the contract, each with what makes an edge, what does not, and what looks as if.

use super::{check, check_via, graph, label, objects};
use crate::{EdgeType, Graph, References};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: a}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}
---
";

fn owned(kind: &str, name: &str, owner: &str) -> String {
    let version = if kind == "Pod" { "v1" } else { "apps/v1" };
    format!(
        "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: a, uid: u-{name}, ownerReferences: [{owner}]}}\n"
    )
}

#[test]
fn an_owner_is_found_by_uid() {
    let text = format!(
        "{}{}",
        owned("Deployment", "web", ""),
        owned("ReplicaSet", "web-1", "{apiVersion: apps/v1, kind: Deployment, name: web, uid: u-web}")
    );
    check(&text, "OWNS", &["a/Deployment/web -> a/ReplicaSet/web-1"]);
}

#[test]
fn labels_make_no_owner_where_objects_have_uids() {
    let text = format!(
        "{DEPLOYMENT}apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{name: web-1, namespace: a, uid: u, labels: {{app: web}}}}"
    );
    check(&text, "OWNS", &[]);
}

#[test]
fn labels_make_an_owner_among_manifests_in_one_namespace() {
    let set = |namespace: &str, more: &str| {
        format!(
            "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{name: web-1, namespace: {namespace}, labels: {{app: web}}{more}}}"
        )
    };
    check(&format!("{DEPLOYMENT}{}", set("a", "")), "OWNS", &["a/Deployment/web -> a/ReplicaSet/web-1"]);
    check(&format!("{DEPLOYMENT}{}", set("b", "")), "OWNS", &[]);
    let other = ", ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: other}]";
    check(
        &format!("{DEPLOYMENT}{}", set("a", other)),
        "OWNS",
        &["a/Deployment/other? -> a/ReplicaSet/web-1"],
    );
}

#[test]
fn an_owner_without_uid_is_found_by_name_beside_or_above() {
    let pod = |kind: &str, version: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: a, uid: u, ownerReferences: [{{apiVersion: {version}, kind: {kind}, name: web}}]}}"
        )
    };
    check(&format!("{DEPLOYMENT}{}", pod("Deployment", "apps/v1")), "OWNS", &["a/Deployment/web -> a/Pod/p"]);
    check(
        &format!("{DEPLOYMENT}{}", pod("Deployment", "other/v1")),
        "OWNS",
        &["a/Deployment/web? -> a/Pod/p"],
    );
    let node = format!("apiVersion: v1\nkind: Node\nmetadata: {{name: web}}\n{}", pod("Node", "v1"));
    check(&node, "OWNS", &["Node/web -> a/Pod/p"]);
}

#[test]
fn owns_leads_to_an_absent_owner_for_an_unknown_uid_if_any_object_has_a_uid() {
    let owner = "{apiVersion: apps/v1, kind: Deployment, name: web, uid: gone}";
    check(&format!("{DEPLOYMENT}{}", owned("Pod", "p", owner)), "OWNS", &["a/Deployment/web? -> a/Pod/p"]);
    let bare = owned("Pod", "p", owner).replace(", uid: u-p", "");
    check(&format!("{DEPLOYMENT}{bare}"), "OWNS", &["a/Deployment/web -> a/Pod/p"]);
}

#[test]
fn an_owner_in_another_namespace_makes_no_edge() {
    let owner = "{apiVersion: apps/v1, kind: Deployment, name: web, uid: u-web}";
    let deployment = owned("Deployment", "web", "").replace("namespace: a", "namespace: b");
    check(&format!("{deployment}{}", owned("Pod", "p", owner)), "OWNS", &[]);
}

#[test]
fn owners_in_a_circle_end() {
    let text = format!(
        "{}{}",
        owned("ReplicaSet", "x", "{apiVersion: apps/v1, kind: ReplicaSet, name: z, uid: u-z}"),
        owned("ReplicaSet", "z", "{apiVersion: apps/v1, kind: ReplicaSet, name: x, uid: u-x}")
    );
    check(&text, "OWNS", &["a/ReplicaSet/x -> a/ReplicaSet/z", "a/ReplicaSet/z -> a/ReplicaSet/x"]);
    check(&text, "MANAGES", &[]);
}

#[test]
fn controllers_manage_pods_also_through_others() {
    let text = format!(
        "{}{}{}",
        owned("Deployment", "web", ""),
        owned("ReplicaSet", "web-1", "{apiVersion: apps/v1, kind: Deployment, name: web, uid: u-web}"),
        owned(
            "Pod",
            "p",
            "{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u-web-1, controller: true}"
        )
    );
    check(&text, "MANAGES", &["a/Deployment/web -> a/Pod/p", "a/ReplicaSet/web-1 -> a/Pod/p"]);
    check(&text, "OWNS", &["a/Deployment/web -> a/ReplicaSet/web-1", "a/ReplicaSet/web-1 -> a/Pod/p"]);
    let graph = &graph(&text);
    let pod = graph.find("", "Pod", "a", "p").unwrap();
    let through: Vec<_> =
        graph.incoming(pod, EdgeType::MANAGES).map(|edge| edge.through.map(|id| label(graph, id))).collect();
    assert_eq!(through, [Some("a/ReplicaSet/web-1".to_owned()), None]);
}

#[test]
fn an_owner_that_does_not_control_does_not_manage_if_another_does() {
    let refs = "{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u-r, controller: true}, {apiVersion: apps/v1, kind: Deployment, name: d, uid: u-d}";
    let text = format!(
        "{}{}{}",
        owned("ReplicaSet", "r", ""),
        owned("Deployment", "d", ""),
        owned("Pod", "p", refs)
    );
    check(&text, "OWNS", &["a/Deployment/d -> a/Pod/p", "a/ReplicaSet/r -> a/Pod/p"]);
    check(&text, "MANAGES", &["a/ReplicaSet/r -> a/Pod/p"]);
    let alone = owned("Pod", "p", "{apiVersion: apps/v1, kind: Deployment, name: d, uid: u-d}");
    check(&format!("{}{alone}", owned("Deployment", "d", "")), "MANAGES", &["a/Deployment/d -> a/Pod/p"]);
}

#[test]
fn a_pod_without_owner_is_managed_by_whose_selector_selects_it() {
    let pod = |more: &str| {
        format!(
            "{DEPLOYMENT}apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: a, uid: u, labels: {{app: web}}{more}}}"
        )
    };
    check(&pod(""), "MANAGES", &["a/Deployment/web -> a/Pod/p"]);
    check(
        &pod(", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: x}]"),
        "MANAGES",
        &["a/Job/j? -> a/Pod/p"],
    );
    check(&pod("").replace("namespace: a, uid", "namespace: b, uid"), "MANAGES", &[]);
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec:\n";

#[test]
fn volumes_lead_to_claims_configuration_and_identities() {
    let text = format!(
        "{POD}  containers: [{{name: c, volumeMounts: [{{name: data}}, {{name: host}}]}}]
  volumes:
  - {{name: data, persistentVolumeClaim: {{claimName: disk}}}}
  - {{name: unused, configMap: {{name: conf}}}}
  - {{name: host, hostPath: {{path: /var/log}}}}
  - {{name: share, nfs: {{server: s, path: /x}}}}
  - {{name: kube-api-access-x, projected: {{sources: [{{configMap: {{name: root-ca}}}}, {{secret: {{name: key, optional: true}}}}]}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: disk, namespace: a}}
"
    );
    check_via(
        &text,
        "MOUNTS",
        &[
            "Volume/hostPath:/var/log~ spec.volumes[2].hostPath required",
            "Volume/nfs:s:/x~ spec.volumes[3].nfs optional",
            "a/ConfigMap/conf? spec.volumes[1].configMap optional",
            "a/ConfigMap/root-ca? spec.volumes[4].projected.sources[0].configMap optional",
            "a/PersistentVolumeClaim/disk spec.volumes[0].persistentVolumeClaim required",
            "a/Secret/key? spec.volumes[4].projected.sources[1].secret optional",
            "a/Volume/name:data~ spec.volumes[0].name implicit",
            "a/Volume/name:host~ spec.volumes[2].name implicit",
            "a/Volume/name:share~ spec.volumes[3].name implicit",
            "a/Volume/name:unused~ spec.volumes[1].name implicit",
        ],
    );
}

#[test]
fn a_claim_of_the_same_name_in_another_namespace_is_another() {
    let text = format!(
        "{POD}  volumes: [{{name: d, persistentVolumeClaim: {{claimName: disk}}}}]\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: disk, namespace: b}}"
    );
    check(&text, "MOUNTS", &["a/Pod/p -> a/PersistentVolumeClaim/disk?", "a/Pod/p -> a/Volume/name:d~"]);
}

#[test]
fn an_ephemeral_claim_is_mounted_once_it_is_there() {
    let pod = format!("{POD}  volumes: [{{name: scratch, ephemeral: {{volumeClaimTemplate: {{}}}}}}]\n");
    check(&pod, "MOUNTS", &["a/Pod/p -> a/Volume/name:scratch~"]);
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: p-scratch, namespace: a}";
    check(
        &format!("{pod}{claim}"),
        "MOUNTS",
        &["a/Pod/p -> a/PersistentVolumeClaim/p-scratch", "a/Pod/p -> a/Volume/name:scratch~"],
    );
}

#[test]
fn volumes_of_one_name_need_not_count_as_one() {
    let file = objects("apiVersion: kubewright.dev/v1\nkind: References\nvolumesMatchByName: false");
    let source = kubewright_value::Source::new("r.yaml", "");
    let (references, problems) =
        References::default().with(&kubewright_value::Document::made(file[0].clone(), source));
    assert!(problems.is_empty());
    let graph = Graph::build(objects(&format!("{POD}  volumes: [{{name: d, emptyDir: {{}}}}]")), &references);
    assert_eq!(graph.edges().filter(|edge| edge.kind == EdgeType::MOUNTS).count(), 0);
}

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a}\nspec:\n";

fn labelled(name: &str, namespace: &str, labels: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}\n"
    )
}

#[test]
fn a_service_exposes_what_has_all_its_labels_in_its_namespace() {
    let pods = [
        labelled("both", "a", "app: web, tier: x"),
        labelled("one", "a", "app: web"),
        labelled("far", "b", "app: web, tier: x"),
    ]
    .concat();
    check(
        &format!("{SERVICE}  selector: {{app: web, tier: x}}\n{pods}"),
        "EXPOSES",
        &["a/Service/s -> a/Pod/both"],
    );
    check(&format!("{SERVICE}  selector: {{}}\n{pods}"), "EXPOSES", &[]);
    check(&format!("{SERVICE}  clusterIP: None\n{pods}"), "EXPOSES", &[]);
    check(&format!("{SERVICE}  selector: {{app: web}}\n  type: ExternalName\n{pods}"), "EXPOSES", &[]);
}

#[test]
fn a_service_exposes_workloads_by_their_templates() {
    check(
        &format!("{DEPLOYMENT}{SERVICE}  selector: {{app: web}}"),
        "EXPOSES",
        &["a/Service/s -> a/Deployment/web"],
    );
}

#[test]
fn endpoints_lead_where_they_say() {
    let slice = "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s-1, namespace: a, labels: {kubernetes.io/service-name: s}}\nendpoints: [{targetRef: {kind: Pod, name: p}}, {}]\n";
    check(
        &format!("{SERVICE}  ports: []\n{slice}{}", labelled("p", "a", "")),
        "EXPOSES",
        &["a/Service/s -> a/Pod/p"],
    );
}

#[test]
fn every_way_to_use_configuration_is_an_edge_of_its_own() {
    let text = format!(
        "{POD}  initContainers: [{{name: i, envFrom: [{{configMapRef: {{name: only-init}}}}]}}]
  containers:
  - name: c
    envFrom: [{{secretRef: {{name: s}}}}]
    env: [{{name: X, valueFrom: {{secretKeyRef: {{name: s, key: k, optional: true}}}}}}]
    volumeMounts: [{{name: v}}]
  volumes: [{{name: v, secret: {{secretName: s}}}}, {{name: x, csi: {{driver: d, nodePublishSecretRef: {{name: s}}}}}}]
  imagePullSecrets: [{{name: s}}]
---
apiVersion: v1
kind: Secret
metadata: {{name: s, namespace: a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: only-init, namespace: b}}
"
    );
    check_via(
        &text,
        "USES_CONFIG",
        &[
            "a/ConfigMap/only-init? spec.initContainers[0].envFrom[0].configMapRef required",
            "a/Secret/s spec.containers[0].envFrom[0].secretRef required",
            "a/Secret/s spec.containers[0].env[0].valueFrom.secretKeyRef optional",
            "a/Secret/s spec.imagePullSecrets[0] required",
            "a/Secret/s spec.volumes[0].secret required",
            "a/Secret/s spec.volumes[1].csi.nodePublishSecretRef required",
        ],
    );
    check(&text, "PULLS_WITH", &["a/Pod/p -> a/Secret/s"]);
}

#[test]
fn workloads_use_configuration_through_their_templates() {
    let text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j, namespace: a}\nspec: {jobTemplate: {spec: {template: {spec: {containers: [{name: c, envFrom: [{configMapRef: {name: m}}]}]}}}}}";
    check_via(
        text,
        "USES_CONFIG",
        &[
            "a/ConfigMap/m? spec.jobTemplate.spec.template.spec.containers[0].envFrom[0].configMapRef required",
        ],
    );
}

fn policy(spec: &str) -> String {
    format!(
        "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: np, namespace: a}}\nspec: {spec}\n"
    )
}

/// Whether the Pods `x` in a and `z` in `namespace` are on one network.
fn on_one_network(spec: &str, namespace: &str, more: &str) -> bool {
    let pods = [labelled("x", "a", "app: x"), labelled("z", namespace, "app: z")].concat();
    let graph = &graph(&format!("{pods}{}{more}", policy(spec)));
    let (x, z) = (graph.find("", "Pod", "a", "x").unwrap(), graph.find("", "Pod", namespace, "z").unwrap());
    let joined = graph.between(x, z, EdgeType::SAME_NETWORK).is_some();
    assert_eq!(joined, graph.between(z, x, EdgeType::SAME_NETWORK).is_some());
    assert_eq!(joined, graph.neighbours(x, EdgeType::SAME_NETWORK).any(|id| id == z));
    assert_eq!(joined, graph.incoming(x, EdgeType::SAME_NETWORK).any(|edge| edge.from == z));
    assert_eq!(joined, graph.out(z, EdgeType::SAME_NETWORK).any(|edge| edge.to == x));
    joined
}

#[test]
fn pods_are_on_one_network_through_a_policy() {
    assert!(on_one_network("{podSelector: {}}", "a", ""), "both selected");
    assert!(!on_one_network("{podSelector: {}}", "b", ""), "one selected");
    assert!(!on_one_network("{podSelector: {matchLabels: {app: x}}}", "a", ""));
    let from =
        |peer: &str| format!("{{podSelector: {{matchLabels: {{app: x}}}}, ingress: [{{from: [{peer}]}}]}}");
    assert!(on_one_network(&from("{podSelector: {matchLabels: {app: z}}}"), "a", ""), "admitted");
    assert!(
        !on_one_network(&from("{podSelector: {matchLabels: {app: z}}}"), "b", ""),
        "only its own namespace"
    );
    assert!(on_one_network(&from("{namespaceSelector: {}}"), "b", ""), "all namespaces");
    assert!(!on_one_network(&from("{ipBlock: {cidr: 10.0.0.0/8}}"), "b", ""), "addresses");
    assert!(!on_one_network("{podSelector: {matchLabels: {app: x}}, ingress: [{}]}", "a", ""), "no peers");
    let to = "{podSelector: {matchLabels: {app: x}}, egress: [{to: [{podSelector: {}}]}]}";
    assert!(on_one_network(to, "a", ""), "let out");
    let labelled =
        from("{namespaceSelector: {matchLabels: {team: t}}, podSelector: {matchLabels: {app: z}}}");
    assert!(!on_one_network(&labelled, "b", ""));
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b, labels: {team: t}}";
    assert!(on_one_network(&labelled, "b", namespace), "by the labels of the namespace");
    let named = from("{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}}");
    assert!(on_one_network(&named, "b", ""), "every namespace has its name as a label");
}

#[test]
fn without_policies_no_pods_are_on_one_network() {
    check(&[labelled("x", "a", "app: x"), labelled("z", "a", "app: x")].concat(), "SAME_NETWORK", &[]);
}

#[test]
fn a_policy_is_on_the_network_of_what_it_selects_also_by_template() {
    let text = format!("{DEPLOYMENT}{}{}", labelled("x", "a", ""), policy("{podSelector: {}}"));
    check(
        &text,
        "SAME_NETWORK",
        &["a/NetworkPolicy/np -> a/Deployment/web", "a/NetworkPolicy/np -> a/Pod/x"],
    );
}

#[test]
fn a_namespace_leads_to_its_objects_loaded_or_not() {
    let pods = [labelled("x", "a", ""), labelled("z", "b", "")].concat();
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: k}\n";
    check(
        &format!("{pods}{namespace}"),
        "IS_NAMESPACE_OF",
        &["Namespace/a -> a/Pod/x", "Namespace/b~ -> b/Pod/z"],
    );
    let graph = graph(&pods);
    assert!(graph.of_kind("Namespace").is_empty(), "a namespace without an object is not a candidate");
}

#[test]
fn accounts_are_named_by_either_field_and_the_default_one_only_if_it_is_there() {
    let account = |name: &str| {
        format!("---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: a}}\n")
    };
    check(
        &format!("{POD}  serviceAccountName: x\n{}", account("x")),
        "USES_SA",
        &["a/Pod/p -> a/ServiceAccount/x"],
    );
    check(&format!("{POD}  serviceAccount: z\n"), "USES_SA", &["a/Pod/p -> a/ServiceAccount/z?"]);
    check(&format!("{POD}  containers: []\n"), "USES_SA", &[]);
    check_via(
        &format!("{POD}  containers: []\n{}", account("default")),
        "USES_SA",
        &["a/ServiceAccount/default spec.serviceAccountName implicit"],
    );
}

fn affinity(field: &str, term: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: a, labels: {{app: p, v: one}}}}\nspec: {{affinity: {{{field}: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}}}\n"
    )
}

#[test]
fn affinity_leads_to_the_pods_that_attract() {
    let pods = [labelled("x", "a", "app: x, v: one"), labelled("z", "b", "app: x, v: two")].concat();
    let with = |term: &str| format!("{pods}{}", affinity("podAffinity", term));
    check(&with("{labelSelector: {matchLabels: {app: x}}}"), "HAS_AFFINITY_TO", &["a/Pod/p -> a/Pod/x"]);
    check(
        &with("{labelSelector: {matchLabels: {app: x}}, namespaces: [b]}"),
        "HAS_AFFINITY_TO",
        &["a/Pod/p -> b/Pod/z"],
    );
    check(
        &with("{labelSelector: {matchLabels: {app: x}}, namespaceSelector: {}}"),
        "HAS_AFFINITY_TO",
        &["a/Pod/p -> a/Pod/x", "a/Pod/p -> b/Pod/z"],
    );
    let keys = "{labelSelector: {matchLabels: {app: x}}, namespaceSelector: {}, matchLabelKeys: [v]}";
    check(&with(keys), "HAS_AFFINITY_TO", &["a/Pod/p -> a/Pod/x"]);
    check(&with("{labelSelector: {matchLabels: {app: p}}}"), "HAS_AFFINITY_TO", &[]);
    check(&with("{topologyKey: zone}"), "HAS_AFFINITY_TO", &[]);
}

#[test]
fn anti_affinity_is_no_affinity() {
    let text =
        format!("{}{}", labelled("x", "a", "app: x"), affinity("podAntiAffinity", "{labelSelector: {}}"));
    check(&text, "HAS_AFFINITY_TO", &[]);
    check(&text, "HAS_ANTI_AFFINITY_TO", &["a/Pod/p -> a/Pod/x"]);
}

#[test]
fn a_node_attracts_if_selector_and_affinity_agree() {
    let node = |name: &str, labels: &str| {
        format!("---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{{labels}}}}}\n")
    };
    let nodes = [node("m", "disk: ssd, cpus: '8'"), node("k", "disk: ssd, cpus: '2'")].concat();
    let terms = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: cpus, operator: Gt, values: ['4']}]}]}}}";
    let name = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [k]}]}]}}}";
    check(
        &format!("{POD}  nodeSelector: {{disk: ssd}}\n{nodes}"),
        "HAS_AFFINITY_TO",
        &["a/Pod/p -> Node/k", "a/Pod/p -> Node/m"],
    );
    check(
        &format!("{POD}  nodeSelector: {{disk: ssd}}\n  {terms}\n{nodes}"),
        "HAS_AFFINITY_TO",
        &["a/Pod/p -> Node/m"],
    );
    check(&format!("{POD}  nodeSelector: {{disk: hdd}}\n  {terms}\n{nodes}"), "HAS_AFFINITY_TO", &[]);
    check(&format!("{POD}  {name}\n{nodes}"), "HAS_AFFINITY_TO", &["a/Pod/p -> Node/k"]);
    check(&format!("{POD}  nodeSelector: {{disk: ssd}}\n"), "HAS_AFFINITY_TO", &[]);
}

fn widget(kind: &str, name: &str, items: &str) -> String {
    format!(
        "---\napiVersion: widgets.templates.krateo.io/v1beta1\nkind: {kind}\nmetadata: {{name: {name}, namespace: a}}\nspec: {{resourcesRefs: {{items: [{items}]}}}}\n"
    )
}

#[test]
fn widgets_refer_by_plural_name_and_namespace() {
    let table = widget("Table", "t", "");
    let with = |item: &str| format!("{table}{}", widget("Row", "r", item));
    let found = ["a/Row/r -> a/Table/t"];
    check(&with("{name: t, namespace: a, resource: tables}"), "REFERENCES_KRATEO", &found);
    check(&with("{name: t, resource: tables}"), "REFERENCES_KRATEO", &found);
    check(
        &with("{name: t, resource: tables, apiVersion: widgets.templates.krateo.io/v1}"),
        "REFERENCES_KRATEO",
        &found,
    );
    check(
        &with("{name: t, resource: tables, apiVersion: templates.krateo.io/v1}"),
        "REFERENCES_KRATEO",
        &["a/Row/r -> a/tables/t?"],
    );
    check(&with("{name: t, resource: panels}"), "REFERENCES_KRATEO", &["a/Row/r -> a/panels/t?"]);
    check(
        &with("{name: t, namespace: b, resource: tables}"),
        "REFERENCES_KRATEO",
        &["a/Row/r -> b/tables/t?"],
    );
    check(&with("{name: t}"), "REFERENCES_KRATEO", &[]);
    check(&with("{name: r, resource: rows}"), "REFERENCES_KRATEO", &["a/Row/r -> a/Row/r"]);
    check(
        &format!("{}{}", widget("Filters", "f", ""), widget("Row", "r", "{name: f, resource: filters}")),
        "REFERENCES_KRATEO",
        &["a/Row/r -> a/Filters/f"],
    );
}

#[test]
fn a_definition_says_what_the_plural_is() {
    let definition = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {group: widgets.templates.krateo.io, names: {kind: Table, plural: tableaux}}\n";
    let text = |plural: &str| {
        format!(
            "{definition}{}{}",
            widget("Table", "t", ""),
            widget("Row", "r", &format!("{{name: t, resource: {plural}}}"))
        )
    };
    check(&text("tableaux"), "REFERENCES_KRATEO", &["a/Row/r -> a/Table/t"]);
    check(&text("tables"), "REFERENCES_KRATEO", &["a/Row/r -> a/tables/t?"]);
    check(&text("tableaux"), "DEFINES_KIND", &["CustomResourceDefinition/x -> a/Table/t"]);
}

#[test]
fn a_markdown_names_what_manages_it() {
    let markdown = "---\napiVersion: widgets.templates.krateo.io/v1\nkind: Markdown\nmetadata: {name: m, namespace: b, labels: {managed-by: t}}\n";
    check(
        &format!("{markdown}{}{}", widget("Table", "t", ""), widget("Paragraph", "t", "")),
        "MANAGES_KRATEO",
        &["a/Table/t -> b/Markdown/m"],
    );
    check(
        &format!("{markdown}{}", widget("Paragraph", "t", "")),
        "MANAGES_KRATEO",
        &["a/Paragraph/t -> b/Markdown/m"],
    );
}
