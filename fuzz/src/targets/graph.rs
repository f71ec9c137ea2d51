//! The graph: any stream of objects gives one, whatever their order, and one object more or less gives the same as
//! building it anew.

use kubewright_graph::{Graph, Id, References};
use kubewright_value::{Source, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "graph",
    run: fuzz_graph,
    seeds: &[
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a, labels: {app: x}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]}\nspec:\n  serviceAccountName: s\n  nodeName: w\n  tolerations: [{key: gpu, operator: Exists}]\n  containers: [{image: i, envFrom: [{configMapRef: {name: c}}], env: [{valueFrom: {secretKeyRef: {name: k}}}], volumeMounts: [{name: v}]}]\n  volumes: [{name: v, persistentVolumeClaim: {claimName: d}}, {name: e, projected: {sources: [{secret: {name: k}}]}}]\n  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: x}}, namespaceSelector: {}}]}}\n---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: r, namespace: a, uid: u}\nspec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: []}}}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a}\nspec: {selector: {app: x}}\n---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p, namespace: a}\nspec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: t, operator: NotIn, values: [z]}]}}]}]}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {t: z}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: a, labels: {app: x}}\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount, name: s, namespace: a}, {kind: User, name: 'system:serviceaccount:a:s'}]\n---\napiVersion: v1\nkind: Node\nmetadata: {name: w}\nspec: {taints: [{key: gpu, effect: NoSchedule}]}\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: a}\nspec: {otherRef: {kind: Thing, name: t}, list: [{someRefs: [{kind: Secret, name: k}]}]}\n",
        "apiVersion: widgets.templates.krateo.io/v1\nkind: Row\nmetadata: {name: r, namespace: a, labels: {managed-by: t}}\nspec: {resourcesRefs: {items: [{name: t, resource: tables}]}}\n---\napiVersion: widgets.templates.krateo.io/v1\nkind: Table\nmetadata: {name: t, namespace: a}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c}\nspec: {group: widgets.templates.krateo.io, names: {kind: Table, plural: tables}}\n",
    ],
    dictionaries: &[FuzzDictionary::Yaml],
    words: &[
        "apiVersion: ",
        "kind: Pod",
        "kind: Namespace",
        "kind: Deployment",
        "metadata: ",
        "name: ",
        "namespace: ",
        "uid: u",
        "labels: ",
        "ownerReferences: ",
        "selector: ",
        "matchLabels: ",
        "matchExpressions: ",
        "operator: In",
        "operator: Exists",
        "values: ",
        "namespaceSelector: {}",
        "template: ",
        "volumes: ",
        "tolerations: ",
        "taints: ",
        "subjects: ",
        "roleRef: ",
        "Ref: ",
        "\n---\n",
        "\n  ",
        ": ",
        "'",
        "{",
        "}",
        "[",
        "]",
    ],
};

/// A limit, because more objects only slow it down.
const MAX_OBJECTS: usize = 12;

fn fuzz_graph(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let documents = yaml::read(&Source::new("objects.yaml", text)).documents;
    let objects: Vec<Value> =
        documents.into_iter().map(|document| document.value).take(MAX_OBJECTS).collect();
    let references = References::default();
    let built = Graph::build(objects.clone(), &references);
    let turned = Graph::build(objects.iter().rev().cloned(), &references);
    assert_eq!(describe_graph(&built), describe_graph(&turned), "the order of objects shows");
    let mut grown = Graph::new(&references);
    for object in &objects {
        grown.insert(object.clone());
        assert_rebuilt(&grown, &references);
    }
    let ids: Vec<Id> = grown.ids().collect();
    for id in ids {
        grown.remove(id);
        assert_rebuilt(&grown, &references);
    }
    assert!(grown.is_empty(), "something is left: {:?}", describe_graph(&grown));
}

fn assert_rebuilt(graph: &Graph, references: &References) {
    let present = graph.ids().filter_map(|id| graph.node(id)?.object.clone());
    let rebuilt = Graph::build(present, references);
    assert_eq!(describe_graph(graph), describe_graph(&rebuilt), "an update differs from a rebuild");
}

/// The public content of a graph.
fn describe_graph(graph: &Graph) -> Vec<String> {
    let name = |id: Id| {
        let node = graph.node(id);
        node.map(|node| {
            format!(
                "{}/{}/{}/{} {} {}",
                node.api_version,
                node.namespace,
                node.kind,
                node.name,
                node.uid,
                node.sort.name()
            )
        })
    };
    let mut lines: Vec<String> = graph.ids().map(|id| format!("{:?}", name(id))).collect();
    for edge in graph.edges() {
        let kind = graph.edge_type_name(edge.kind);
        let ends = (name(edge.from), name(edge.to), edge.through.map(name));
        lines.push(format!("{kind} {ends:?} {} {}", edge.via, edge.strength.name()));
    }
    for id in graph.ids() {
        for kind in graph.edge_types() {
            let (from, near) = (graph.incoming(id, kind), graph.neighbours(id, kind));
            let from: Vec<_> = from.map(|edge| (name(edge.from), edge.via.to_owned())).collect();
            let near: Vec<_> = near.map(name).collect();
            if !near.is_empty() {
                lines.push(format!("{} {:?} {from:?} {near:?}", graph.edge_type_name(kind), name(id)));
            }
        }
    }
    lines
}
