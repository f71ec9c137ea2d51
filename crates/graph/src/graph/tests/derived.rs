//! Edges that follow from several objects, or are guessed: what one may access, where one may run, what a field may mean.

use super::{all, check, check_via, graph, label, objects};
use crate::{EdgeType, Graph, References};

fn binding(kind: &str, role: &str, subject: &str) -> String {
    format!(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: b, namespace: a}}\nroleRef: {role}\nsubjects: [{subject}]\n"
    )
}

const ADMIN: &str = "{kind: ClusterRole, name: cluster-admin}";

#[test]
fn an_account_can_access_what_its_role_allows() {
    let text = binding("ClusterRoleBinding", ADMIN, "{kind: ServiceAccount, name: s, namespace: a}");
    check(&text, "CAN_ACCESS", &["a/ServiceAccount/s? -> ClusterRole/cluster-admin?"]);
    check_via(&text, "CAN_ACCESS", &["ClusterRole/cluster-admin? ClusterRoleBinding subjects[0] required"]);
    let own = binding("RoleBinding", "{kind: Role, name: r}", "{kind: ServiceAccount, name: s}");
    check(&own, "CAN_ACCESS", &["a/ServiceAccount/s? -> a/Role/r?"]);
    let user = binding("RoleBinding", ADMIN, "{kind: User, name: 'system:serviceaccount:b:s'}");
    check(&user, "CAN_ACCESS", &["b/ServiceAccount/s? -> ClusterRole/cluster-admin?"]);
    check(&user, "BINDS_SUBJECT", &["a/RoleBinding/b -> User/system:serviceaccount:b:s~"]);
}

#[test]
fn a_binding_without_a_role_or_a_subject_gives_nothing() {
    check(&binding("RoleBinding", "{}", "{kind: ServiceAccount, name: s}"), "CAN_ACCESS", &[]);
    check(&binding("RoleBinding", ADMIN, "{kind: ServiceAccount}"), "CAN_ACCESS", &[]);
    check(&binding("RoleBinding", ADMIN, ""), "CAN_ACCESS", &[]);
}

#[test]
fn a_workload_leads_to_cluster_admin_in_two_steps() {
    let pod =
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec: {serviceAccountName: s}\n";
    let subject = "{kind: ServiceAccount, name: s, namespace: a}";
    let graph = graph(&format!("{pod}{}", binding("ClusterRoleBinding", ADMIN, subject)));
    let pod = graph.find("", "Pod", "a", "p").unwrap();
    let account = graph.out(pod, EdgeType::USES_SA).next().unwrap().to;
    let role = graph.out(account, EdgeType::CAN_ACCESS).next().map(|edge| label(&graph, edge.to));
    assert_eq!(role.as_deref(), Some("ClusterRole/cluster-admin?"));
}

#[test]
fn a_removed_binding_takes_its_rights_with_it() {
    let text = binding("RoleBinding", ADMIN, "{kind: ServiceAccount, name: s}");
    let mut graph = graph(&text);
    let id = graph.find("rbac.authorization.k8s.io", "RoleBinding", "a", "b").unwrap();
    graph.insert(
        objects(&binding("RoleBinding", "{kind: Role, name: r}", "{kind: ServiceAccount, name: s}"))
            .remove(0),
    );
    let account = graph.find("", "ServiceAccount", "a", "s").unwrap();
    let roles: Vec<String> =
        graph.out(account, EdgeType::CAN_ACCESS).map(|edge| label(&graph, edge.to)).collect();
    assert_eq!(roles, ["a/Role/r?"]);
    graph.remove(id);
    assert!(graph.is_empty(), "{:?}", all(&graph));
}

fn node(name: &str, taints: &str) -> String {
    format!("---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\nspec: {{taints: [{taints}]}}\n")
}

fn pod(tolerations: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: a}}\nspec: {{tolerations: [{tolerations}]}}\n"
    )
}

/// Checks which Nodes the Pod tolerates, from all sides.
#[track_caller]
fn check_tolerated(graph: &Graph, want: &[&str]) {
    let kind = EdgeType::TOLERATES;
    let pod = graph.find("", "Pod", "a", "p").unwrap();
    let found: Vec<String> = graph.out(pod, kind).map(|edge| label(graph, edge.to)).collect();
    assert_eq!(found, want);
    for node in graph.of_kind("Node") {
        let is_tolerated = want.contains(&label(graph, *node).as_str());
        assert_eq!(graph.incoming(*node, kind).any(|edge| edge.from == pod), is_tolerated);
        assert_eq!(graph.between(*node, pod, kind).is_some(), is_tolerated);
        assert_eq!(graph.neighbours(*node, kind).any(|id| id == pod), is_tolerated);
    }
    assert!(graph.out(pod, kind).all(|edge| edge.via == "spec.tolerations"));
}

#[track_caller]
fn check_toleration(tolerations: &str, taints: &str, want: bool) {
    let graph = graph(&format!("{}{}", pod(tolerations), node("n1", taints)));
    check_tolerated(&graph, if want { &["Node/n1"] } else { &[] });
}

#[test]
fn a_pod_tolerates_a_node_if_it_tolerates_all_its_taints() {
    let gpu = "{key: gpu, value: 'yes', effect: NoSchedule}";
    check_toleration("{key: gpu, operator: Exists}", gpu, true);
    check_toleration("{key: gpu, value: 'yes'}", gpu, true);
    check_toleration("{key: gpu, operator: Equal, value: 'yes', effect: NoSchedule}", gpu, true);
    check_toleration("{operator: Exists}", gpu, true);
    check_toleration("{key: gpu, value: 'no'}", gpu, false);
    check_toleration("{key: gpu, operator: Exists, effect: NoExecute}", gpu, false);
    check_toleration("{key: cpu, operator: Exists}", gpu, false);
    check_toleration("{value: 'yes'}", gpu, false);
    let two = format!("{gpu}, {{key: old, effect: NoExecute}}");
    check_toleration("{key: gpu, operator: Exists}", &two, false);
    check_toleration("{key: gpu, operator: Exists}, {key: old, operator: Exists}", &two, true);
}

#[test]
fn tolerates_has_no_edge_to_a_node_without_repelling_taints() {
    check_toleration("{operator: Exists}", "", false);
    check_toleration("{operator: Exists}", "{key: gpu, effect: PreferNoSchedule}", false);
    check_toleration("", "{key: gpu, effect: NoSchedule}", false);
}

#[test]
fn taints_come_and_go() {
    let taint = "{key: gpu, effect: NoSchedule}";
    let mut graph = graph(&format!("{}{}", pod("{operator: Exists}"), node("n1", "")));
    check_tolerated(&graph, &[]);
    graph.insert(objects(&node("n1", taint)).remove(0));
    graph.insert(objects(&node("m1", taint)).remove(0));
    check_tolerated(&graph, &["Node/m1", "Node/n1"]);
    graph.insert(objects(&pod("{key: other, operator: Exists}")).remove(0));
    check_tolerated(&graph, &[]);
    graph.insert(objects(&pod("{key: gpu, operator: Exists}")).remove(0));
    graph.remove(graph.find("", "Node", "", "n1").unwrap());
    check_tolerated(&graph, &["Node/m1"]);
}

const BACKUP: &str = "---\napiVersion: example.com/v1\nkind: Backup\nmetadata: {name: b, namespace: a}\nspec: {storeRef: {kind: Store, name: s}, jobs: [{podRefs: [{kind: Secret, name: k}, {name: unsaid}]}], scope: {clusterRef: {apiVersion: other.com/v1, kind: ClusterThing, name: c}}}\n";
const STORE: &str = "---\napiVersion: example.com/v1\nkind: Store\nmetadata: {name: s, namespace: a}\n";
const SECRET: &str = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: k, namespace: a}\n";
const THING: &str = "---\napiVersion: other.com/v1\nkind: ClusterThing\nmetadata: {name: c}\n";

#[test]
fn fields_called_ref_of_unknown_kinds_are_guessed() {
    check_via(
        &format!("{BACKUP}{STORE}{SECRET}{THING}"),
        "REFERS_TO",
        &[
            "ClusterThing/c spec.scope.clusterRef implicit",
            "a/Secret/k spec.jobs[0].podRefs[0] implicit",
            "a/Store/s spec.storeRef implicit",
        ],
    );
}

#[test]
fn a_guess_leads_only_to_what_is_there() {
    check(BACKUP, "REFERS_TO", &[]);
    let elsewhere = STORE.replace("namespace: a", "namespace: b");
    check(&format!("{BACKUP}{elsewhere}"), "REFERS_TO", &[]);
}

#[test]
fn kinds_that_are_described_are_not_guessed() {
    let certificate = "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: c, namespace: a}\nspec: {otherRef: {kind: Secret, name: k}}\n";
    check(&format!("{certificate}{SECRET}"), "REFERS_TO", &[]);
    let own = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: c, namespace: a}\nspec: {otherRef: {kind: Secret, name: k}}\n";
    check(&format!("{own}{SECRET}"), "REFERS_TO", &[]);
}

#[test]
fn a_guess_changes_when_objects_come_and_go() {
    let mut graph = Graph::build(objects(BACKUP), &References::default());
    let backup = graph.find("example.com", "Backup", "a", "b").unwrap();
    assert_eq!(graph.out(backup, EdgeType::REFERS_TO).count(), 0);
    let store = graph.insert(objects(STORE).remove(0));
    assert_eq!(graph.out(backup, EdgeType::REFERS_TO).map(|edge| edge.to).collect::<Vec<_>>(), [store]);
    graph.remove(store);
    assert_eq!(graph.out(backup, EdgeType::REFERS_TO).count(), 0);
}

#[test]
fn a_grant_leads_to_what_it_names() {
    check(
        "apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: g, namespace: a}\nspec: {from: [{namespace: b}], to: [{group: '', kind: Secret, name: s}, {kind: Service}]}\n",
        "GRANTS_REFERENCE",
        &["a/ReferenceGrant/g -> Namespace/b~", "a/ReferenceGrant/g -> a/Secret/s?"],
    );
}
