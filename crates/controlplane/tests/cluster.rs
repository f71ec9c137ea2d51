//! What a test can expect of a cluster. All tests of this file share one.

use std::fs;

use kubewright_controlplane::TestCluster;

fn pod(namespace: &str, name: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: {namespace}}},
           spec: {{containers: [{{name: main, image: nginx}}]}}}}"
    )
}

/// What `kubectl get` says about one field.
#[track_caller]
fn field(cluster: &TestCluster, namespace: &str, object: &str, path: &str) -> String {
    cluster.kubectl(&["get", object, "-n", namespace, "-o", &format!("jsonpath={{{path}}}")], "").success()
}

#[test]
fn the_api_server_knows_its_version() {
    let Some(cluster) = TestCluster::shared() else { return };
    let version = cluster.get("/version").success();
    assert!(version.contains(r#""gitVersion": "v1."#), "{version}");
}

#[test]
fn kubectl_apply_twice_changes_nothing_the_second_time() {
    let Some(cluster) = TestCluster::shared() else { return };
    let manifest =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: twice, namespace: default}, data: {a: b}}";
    let apply = || cluster.kubectl(&["apply", "-f", "-"], manifest).success();
    assert_eq!(apply(), "configmap/twice created\n");
    assert_eq!(apply(), "configmap/twice unchanged\n");
}

#[test]
fn kubectl_says_in_its_own_words_what_went_wrong() {
    let Some(cluster) = TestCluster::shared() else { return };
    let error = cluster.kubectl(&["get", "configmap", "nowhere"], "").failure();
    assert_eq!(error, "Error from server (NotFound): configmaps \"nowhere\" not found\n");
}

#[test]
fn the_scheduler_binds_a_pod_to_the_node() {
    let Some(cluster) = TestCluster::shared() else { return };
    cluster.create_namespace("bound");
    cluster.kubectl(&["apply", "-f", "-"], &pod("bound", "web")).expect_success();
    cluster
        .wait_until("the pod is bound", || field(cluster, "bound", "pod/web", ".spec.nodeName") == "node-1");
}

#[test]
fn a_deployment_gets_its_replica_set_and_pods() {
    let Some(cluster) = TestCluster::shared() else { return };
    cluster.create_namespace("deployed");
    let create = ["create", "deployment", "web", "--image=nginx", "--replicas=2", "-n", "deployed"];
    cluster.kubectl(&create, "").expect_success();
    cluster.wait_until("there are two pods of one replica set", || {
        let replica_sets = field(cluster, "deployed", "replicasets", ".items[*].status.replicas");
        let pods = field(cluster, "deployed", "pods", ".items[*].metadata.name");
        replica_sets == "2" && pods.split(' ').count() == 2
    });
}

#[test]
fn a_node_is_ready_and_not_tainted() {
    let Some(cluster) = TestCluster::shared() else { return };
    cluster.create_node("with-labels", &[("topology.kubernetes.io/zone", "north")]);
    let node = |path: &str| field(cluster, "default", "node/with-labels", path);
    cluster.kubectl(&["cordon", "with-labels"], "").expect_success();
    assert_eq!(node(r#".status.conditions[?(@.type=="Ready")].status"#), "True");
    assert_eq!(node(r".metadata.labels.topology\.kubernetes\.io/zone"), "north");
    assert!(!node(".spec.taints").contains("not-ready"));
}

#[test]
fn a_service_account_may_do_only_what_a_role_says() {
    let Some(cluster) = TestCluster::shared() else { return };
    cluster.create_namespace("accounts");
    cluster.kubectl(&["create", "serviceaccount", "reader", "-n", "accounts"], "").expect_success();
    let kubeconfig = cluster.kubeconfig_of("accounts", "reader");
    let get = ["get", "configmaps", "-n", "accounts", "--kubeconfig", &kubeconfig.display().to_string()];
    let error = cluster.kubectl(&get, "").failure();
    assert!(error.contains(r#"User "system:serviceaccount:accounts:reader" cannot list"#), "{error}");

    let bind = ["create", "rolebinding", "r", "--clusterrole=view", "--serviceaccount=accounts:reader"];
    cluster.kubectl(&[&bind[..], &["-n", "accounts"]].concat(), "").expect_success();
    cluster.wait_until("the binding is seen", || cluster.kubectl(&get, "").is_success());
}

#[test]
fn a_webhook_can_be_registered_by_its_address_on_loopback() {
    let Some(cluster) = TestCluster::shared() else { return };
    cluster.create_namespace("hooked");
    // Nothing listens on port 1: the API server must say that it tried.
    let webhook = r#"{
        apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: closed},
        webhooks: [{name: closed.test.local, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Fail,
            namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: hooked}},
            rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}],
            clientConfig: {url: "https://127.0.0.1:1/validate"}}]}"#;
    cluster.kubectl(&["apply", "-f", "-"], webhook).expect_success();
    cluster.wait_until("the webhook is asked", || {
        let output = cluster.kubectl(&["create", "configmap", "x", "-n", "hooked", "--dry-run=server"], "");
        output.stderr.contains(r#"failed calling webhook "closed.test.local""#)
            && output.stderr.contains("connection refused")
    });
}

#[test]
fn helm_installs_and_removes_a_chart() {
    let Some(cluster) = TestCluster::shared() else { return };
    let chart = cluster.folder().join("chart");
    fs::create_dir_all(chart.join("templates")).expect("a folder");
    fs::write(chart.join("Chart.yaml"), "{apiVersion: v2, name: small, version: 1.0.0}").expect("a file");
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-a-chart}\ndata: {release: '{{ .Release.Name }}'}\n";
    fs::write(chart.join("templates/map.yaml"), template).expect("a file");

    cluster.helm(&["install", "first", &chart.display().to_string()]).expect_success();
    assert_eq!(field(cluster, "default", "configmap/of-a-chart", ".data.release"), "first");
    cluster.helm(&["uninstall", "first"]).expect_success();
    assert!(!cluster.kubectl(&["get", "configmap", "of-a-chart"], "").is_success());
}
