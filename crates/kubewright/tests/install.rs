//! The manifests and the Helm chart on a real control plane: put in twice, looked at, taken out without a trace.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kubewright_controlplane::TestCluster;
use kubewright_value::{Source, Value, yaml};

const NAMESPACE: &str = "kubewright-system";
/// A helm that is built from its module takes itself for one of Kubernetes 1.20, which the chart refuses.
const FOR_KUBERNETES: &str = "--kube-version=1.36.0";

/// The one cluster; definitions are its alone, so that one test has it at a time.
fn cluster() -> Option<(&'static TestCluster, MutexGuard<'static, ()>)> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    TestCluster::shared().map(|cluster| (cluster, turn))
}

/// What `kubewright install ARGUMENTS` prints.
fn manifests(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright")).arg("install").args(arguments).output();
    let output = output.expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn chart() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/kubewright").display().to_string()
}

/// The objects of a stream by kind and name, without what Helm and we each write of ourselves.
fn objects(stream: &str) -> BTreeMap<String, Value> {
    let reading = yaml::read(&Source::new("manifests", stream));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let named = reading.documents.into_iter().map(|document| {
        let mut object = document.value;
        let word = |path: &[&str]| object.str_at(path).to_owned();
        let name = format!(
            "{} {}/{}",
            word(&["kind"]),
            word(&["metadata", "namespace"]),
            word(&["metadata", "name"])
        );
        take(&mut object, "labels", "app.kubernetes.io/managed-by");
        take(&mut object, "annotations", "helm.sh/resource-policy");
        (name, object)
    });
    named.collect()
}

/// Takes a label or annotation away.
fn take(object: &mut Value, part: &str, key: &str) {
    let Some(metadata) =
        object.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut)
    else {
        return;
    };
    let Some(map) = metadata.get_mut(part).and_then(Value::as_object_mut) else { return };
    map.remove(key);
    if map.is_empty() {
        metadata.remove(part);
    }
}

/// Everything in the cluster that is called ours.
fn traces(cluster: &TestCluster) -> Vec<String> {
    let kinds = "namespace,customresourcedefinition,clusterrole,clusterrolebinding,\
                 mutatingwebhookconfiguration,validatingwebhookconfiguration";
    let names = cluster.kubectl(&["get", kinds, "-o", "name"], "").success();
    let is_ours =
        |name: &&str| name.contains("kubewright") || name.contains("kubemod") || name.contains("kyverno");
    names.lines().filter(is_ours).map(str::to_owned).collect()
}

/// A webhook configuration as the running server makes it: owned by its ClusterRole, in no manifest.
fn configuration_of_the_server(cluster: &TestCluster) {
    let uid = cluster
        .kubectl(&["get", "clusterrole", "kubewright", "-o", "jsonpath={.metadata.uid}"], "")
        .success();
    let manifest = format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n\
         metadata:\n  name: kubewright\n  ownerReferences:\n    - apiVersion: rbac.authorization.k8s.io/v1\n      \
         kind: ClusterRole\n      name: kubewright\n      uid: {uid}\nwebhooks: []\n"
    );
    cluster.kubectl(&["create", "-f", "-"], &manifest).expect_success();
}

fn rolled_out(cluster: &TestCluster) {
    let wait = ["rollout", "status", "deployment/kubewright", "--timeout=60s", "-n", NAMESPACE];
    cluster.kubectl(&wait, "").expect_success();
}

/// What changes when an object does, of all objects that were put in; a status does not count.
fn versions(cluster: &TestCluster) -> Vec<String> {
    let spaced = "deployment,service,serviceaccount,role,rolebinding,networkpolicy,poddisruptionbudget";
    let wide = "clusterrole,clusterrolebinding";
    let of = "jsonpath={range .items[*]}{.kind} {.metadata.uid} {.metadata.generation} {.spec} {.rules}{\"\\n\"}{end}";
    let ours = "app.kubernetes.io/name=kubewright";
    let get =
        |kinds: &str| cluster.kubectl(&["get", kinds, "-l", ours, "-n", NAMESPACE, "-o", of], "").success();
    let all = get(spaced) + &get(wide);
    all.lines().map(str::to_owned).collect()
}

/// Nothing but what was there `before` is there.
#[track_caller]
fn unchanged(cluster: &TestCluster, before: &[String]) {
    let after = versions(cluster);
    let changed: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(changed.is_empty() && after.len() == before.len(), "changed: {changed:#?}");
}

#[test]
fn manifests_are_applied_twice_and_deleted_without_a_trace() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    let manifests = manifests(&[]);
    cluster.kubectl(&["apply", "-f", "-"], &manifests).expect_success();
    // The namespace enforces the restricted Pod Security Standard, and so the API server has judged the Pods.
    rolled_out(cluster);
    let before = versions(cluster);
    let again = cluster.kubectl(&["apply", "-f", "-"], &manifests).success();
    // kubectl says of every budget that it was configured, and means it was sent.
    let is_changed = |line: &&str| !line.ends_with(" unchanged") && !line.starts_with("poddisruptionbudget");
    assert_eq!(again.lines().filter(is_changed).collect::<Vec<_>>(), Vec::<&str>::new());
    unchanged(cluster, &before);
    let server_side = || {
        cluster
            .kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &manifests)
            .expect_success();
    };
    server_side();
    let before = versions(cluster);
    server_side();
    unchanged(cluster, &before);
    configuration_of_the_server(cluster);

    cluster.delete(&["-f", "-"], &manifests);
    cluster.wait_until("nothing is left", || traces(cluster).is_empty());
}

#[test]
fn the_pods_of_the_server_are_restricted() {
    let Some((cluster, _turn)) = cluster() else { return };
    cluster.create_namespace("restricted");
    let label = ["label", "namespace", "restricted", "pod-security.kubernetes.io/enforce=restricted"];
    cluster.kubectl(&label, "").expect_success();
    let dry_run = |stream: &str| cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], stream);
    let deployments = objects(&manifests(&["--namespace", "restricted"]));
    let (_, deployment) =
        deployments.iter().find(|(name, _)| name.starts_with("Deployment ")).expect("a Deployment");
    let pod = deployment.at(&["spec", "template", "spec"]).expect("a Pod");
    let account = "serviceAccountName: kubewright\n";
    let spec = yaml::write(pod).replace(account, "");
    let indented: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let head = "apiVersion: v1\nkind: Pod\nmetadata: {name: kubewright, namespace: restricted}\nspec:\n";
    dry_run(&format!("{head}{indented}")).expect_success();
    // The same Pod without its promise is refused: the API server does look.
    let careless = indented.replace("allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true");
    assert!(dry_run(&format!("{head}{careless}")).failure().contains("violates PodSecurity"));
    cluster.kubectl(&["delete", "namespace", "restricted", "--wait=false"], "").expect_success();
}

#[test]
fn the_chart_has_the_objects_of_the_manifests() {
    let Some((cluster, _turn)) = cluster() else { return };
    let chart = chart();
    let template = |values: &[&str]| {
        let mut arguments = vec![
            "template",
            "kubewright",
            &chart,
            FOR_KUBERNETES,
            "-n",
            NAMESPACE,
            "--set",
            "namespace.create=true",
        ];
        arguments.extend(values);
        objects(&cluster.helm(&arguments).success())
    };
    assert_eq!(template(&[]), objects(&manifests(&[])));
    let ours = [
        "--dialects",
        "kyverno",
        "--exceptions-from",
        "a,b",
        "--can-read",
        "pods,deployments.apps",
        "--cert-manager",
    ];
    let helms = [
        "dialects={kyverno}",
        "exceptionsFrom={a,b}",
        "canRead={pods,deployments.apps}",
        "certManager.enabled=true",
    ];
    let helms: Vec<&str> = helms.iter().flat_map(|value| ["--set", *value]).collect();
    assert_eq!(template(&helms), objects(&manifests(&ours)));
    let without =
        cluster.helm(&["template", "kubewright", &chart, FOR_KUBERNETES, "-n", NAMESPACE]).success();
    let mut expected = objects(&manifests(&[]));
    expected.retain(|name, _| name != &format!("Namespace /{NAMESPACE}"));
    assert_eq!(objects(&without), expected, "with the values as they are");
}

#[test]
fn a_namespace_of_rules_that_is_there_already_is_left_as_it_is_by_the_chart() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    cluster.create_namespace("kubemod-system");
    let chart = chart();
    let install = ["install", "--create-namespace", "kubewright", &chart, "-n", NAMESPACE];
    cluster.helm(&install).expect_success();
    let labels = ["get", "namespace", "kubemod-system", "-o", "jsonpath={.metadata.labels}"];
    assert!(!cluster.kubectl(&labels, "").success().contains("app.kubernetes.io/name"));
    cluster.helm(&["uninstall", "kubewright", "-n", NAMESPACE, "--wait", "--timeout=60s"]).expect_success();
    cluster.kubectl(&["get", "namespace", "kubemod-system"], "").expect_success();
    cluster.delete(&["customresourcedefinition", "--all"], "");
    cluster.delete(&["namespace", NAMESPACE, "kubemod-system"], "");
}

#[test]
fn values_that_cannot_be_are_refused_by_the_chart() {
    let Some((cluster, _turn)) = cluster() else { return };
    for value in
        ["canRead={secrets}", "canRead={*}", "dialects={rego}", "replicas=0", "replica=2", "dialects={}"]
    {
        let refused =
            cluster.helm(&["template", "kubewright", &chart(), FOR_KUBERNETES, "--set", value]).failure();
        assert!(refused.contains("values don't meet the specifications"), "{value}: {refused}");
    }
}

#[test]
fn the_chart_is_installed_upgraded_and_removed() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    let chart = chart();
    let helm = |action: &[&str]| cluster.helm(&[action, &["kubewright", "-n", NAMESPACE]].concat());
    let install = ["upgrade", "--install", "--create-namespace", "--wait", "--timeout=60s"];
    let put_in = || {
        let mut arguments = install.to_vec();
        arguments.extend(["kubewright", &chart, "-n", NAMESPACE]);
        cluster.helm(&arguments).success()
    };
    assert!(put_in().contains("kubewright doctor"), "the notes are shown");
    let before = versions(cluster);
    put_in();
    unchanged(cluster, &before);
    configuration_of_the_server(cluster);

    helm(&["uninstall", "--wait", "--timeout=60s"]).expect_success();
    let is_kept =
        |name: &String| name.starts_with("customresourcedefinition") || name.starts_with("namespace");
    cluster.wait_until("only what is kept is left", || traces(cluster).iter().all(is_kept));
    cluster.delete(&["customresourcedefinition", "--all"], "");
    cluster.delete(&["namespace", NAMESPACE, "kubemod-system"], "");
    assert_eq!(traces(cluster), Vec::<String>::new());
}

/// What the server may and may not do, each `verb resource [namespace]`.
const MAY: &[&str] = &[
    "list namespaces",
    "patch namespaces/kube-system",
    "patch namespaces/kubemod-system",
    "watch nodes",
    "get configmaps default",
    "watch rolebindings.rbac.authorization.k8s.io default",
    "patch pods default",
    "create events default",
    "create secrets kubewright-system",
    "get secrets/kubewright-tls kubewright-system",
    "update secrets/kubewright-tls kubewright-system",
    "create validatingwebhookconfigurations.admissionregistration.k8s.io",
    "update validatingwebhookconfigurations.admissionregistration.k8s.io/kubewright",
    "delete mutatingwebhookconfigurations.admissionregistration.k8s.io/kubewright",
    "watch clusterroles.rbac.authorization.k8s.io/kubewright",
    "watch customresourcedefinitions.apiextensions.k8s.io",
    "create subjectaccessreviews.authorization.k8s.io",
];
const MAY_NOT: &[&str] = &[
    "get secrets default",
    "list secrets kubewright-system",
    "get secrets/other kubewright-system",
    "get secrets/kubewright-tls default",
    "create secrets default",
    "delete secrets/kubewright-tls kubewright-system",
    "delete pods default",
    "create pods kubewright-system",
    "update pods default",
    "update namespaces",
    "patch namespaces/default",
    "delete namespaces/kube-system",
    "create namespaces",
    "update nodes",
    "list deployments.apps default",
    "update configmaps default",
    "escalate clusterroles.rbac.authorization.k8s.io",
    "update clusterroles.rbac.authorization.k8s.io/kubewright",
    "create clusterrolebindings.rbac.authorization.k8s.io",
    "update validatingwebhookconfigurations.admissionregistration.k8s.io/other",
    "delete validatingwebhookconfigurations.admissionregistration.k8s.io/other",
    "update customresourcedefinitions.apiextensions.k8s.io",
    "impersonate users",
    "create serviceaccounts/token kubewright-system",
];

#[test]
fn the_server_may_do_what_it_must_and_nothing_else() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    let manifests = manifests(&[]);
    cluster.kubectl(&["apply", "-f", "-"], &manifests).expect_success();
    let may = |question: &&&str| {
        let mut words = question.split(' ');
        let mut arguments = vec!["auth", "can-i", "--as=system:serviceaccount:kubewright-system:kubewright"];
        arguments.extend([words.next().expect("a verb"), words.next().expect("a resource")]);
        arguments.extend(words.next().into_iter().flat_map(|namespace| ["-n", namespace]));
        cluster.kubectl(&arguments, "").stdout.trim() == "yes"
    };
    let refused: Vec<_> = MAY.iter().filter(|question| !may(question)).collect();
    let allowed: Vec<_> = MAY_NOT.iter().filter(may).collect();
    cluster.delete(&["-f", "-"], &manifests);
    assert!(refused.is_empty() && allowed.is_empty(), "refused {refused:#?}, allowed {allowed:#?}");
}
