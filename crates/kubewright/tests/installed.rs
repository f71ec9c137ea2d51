//! The server with the rights of the manifests and no others, on a real control plane: it does its work, `doctor` is
//! content with it, and it leaves nothing when it is removed, in whatever order.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot do its work has failed")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kubewright_controlplane::TestCluster;
use kubewright_value::{Value, json};

const NAMESPACE: &str = "kubewright-system";
const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");

/// The one cluster; the name of the installation is its alone, so that one test has it at a time.
fn cluster() -> Option<(&'static TestCluster, MutexGuard<'static, ()>)> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    TestCluster::shared().map(|cluster| (cluster, turn))
}

/// An installation, with one server and one scanner that run beside the cluster as their service accounts.
struct Installed {
    manifests: String,
    programs: [Child; 2],
    log: PathBuf,
}

impl Installed {
    /// Puts everything in and waits until the webhooks are there.
    fn start(cluster: &TestCluster) -> Self {
        let output =
            Command::new(BINARY).args(["install", "--report-crds"]).output().expect("the binary starts");
        let manifests = String::from_utf8(output.stdout).expect("text");
        cluster.kubectl(&["apply", "-f", "-"], &manifests).expect_success();
        let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "kubewright");
        let address = cluster.reserve_address().to_string();
        let log = cluster.folder().join(format!("serve-{address}.log"));
        let server = Command::new(BINARY)
            .args(["serve", "--namespace", NAMESPACE, "--drain=0s", "--health-address=127.0.0.1:0"])
            .args(["--address", &address, "--url", &format!("https://{address}")])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stderr(File::options().create(true).append(true).open(&log).expect("a log"))
            .spawn()
            .expect("it starts");
        let scanner = Command::new(BINARY)
            .args(["scan", "--serve", "--health-address=127.0.0.1:0", "--kubeconfig"])
            .arg(cluster.kubeconfig_of(NAMESPACE, "kubewright-scan"))
            .stdin(Stdio::null())
            .stderr(File::options().append(true).open(&log).expect("the log"))
            .spawn()
            .expect("it starts");
        let installed = Self { manifests, programs: [server, scanner], log };
        cluster.wait_until("there are webhooks", || configurations(cluster).len() == 2);
        installed
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = (program.kill(), program.wait());
        }
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// The webhook configurations of ours.
fn configurations(cluster: &TestCluster) -> Vec<String> {
    let kinds = "mutatingwebhookconfiguration,validatingwebhookconfiguration";
    let names = cluster.kubectl(&["get", kinds, "-o", "name"], "").success();
    names.lines().filter(|name| name.ends_with("/kubewright")).map(str::to_owned).collect()
}

/// The findings of `doctor` that are not well, each its grade and what it is about.
fn doctor(kubeconfig: &Path) -> Vec<(String, String)> {
    let output =
        Command::new(BINARY).args(["doctor", "-q", "-o", "json"]).env("KUBECONFIG", kubeconfig).output();
    let text = String::from_utf8(output.expect("the binary starts").stdout).expect("text");
    let document = json::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let word = |finding: &Value, key: &str| finding.str_at(&[key]).to_owned();
    let findings = document.get("findings").and_then(Value::as_array).expect("findings");
    findings
        .iter()
        .map(|one| (word(one, "grade"), format!("{}: {}", word(one, "what"), word(one, "why"))))
        .collect()
}

const RULES: &str = "\
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: label, namespace: default}
spec:
  type: Patch
  match: [{select: '$.kind', matchValue: ConfigMap}]
  patch: [{op: add, path: /metadata/labels/marked, value: by-rule}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owners}
spec:
  validationFailureAction: Enforce
  rules:
    - name: owner
      match: {any: [{resources: {kinds: [Service]}}]}
      validate: {message: 'who is the owner?', pattern: {metadata: {labels: {owner: '?*'}}}}
";

#[test]
fn the_rights_of_the_manifests_are_enough_and_doctor_is_content() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    let installed = Installed::start(cluster);
    cluster.wait_until("rules are stored", || cluster.kubectl(&["apply", "-f", "-"], RULES).is_success());
    let create = |words: &[&str]| {
        cluster.kubectl(&[&["create"], words, &["--dry-run=server", "-o", "json"]].concat(), "")
    };
    cluster.wait_until("a rule patches", || {
        create(&["configmap", "a"]).stdout.contains("\"marked\": \"by-rule\"")
    });
    cluster.wait_until("a rule refuses", || {
        create(&["service", "clusterip", "a", "--tcp=80"]).stderr.contains("who is the owner?")
    });
    let is_ready = |rule: &str| {
        let ready = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
        cluster.kubectl(&["get", rule, "-o", ready], "").stdout == "True"
    };
    cluster.wait_until("rules say that they run", || {
        is_ready("modrule/label") && is_ready("clusterpolicy/owners")
    });

    let wait = ["rollout", "status", "deployment/kubewright", "--timeout=60s", "-n", NAMESPACE];
    cluster.kubectl(&wait, "").expect_success();
    // One node is all that this cluster has.
    let is_right = |(grade, why): &(String, String)| grade == "warn" && why.starts_with("spread: ");
    let mut wrong = Vec::new();
    cluster.wait_until("doctor has seen what is settled", || {
        wrong = doctor(&cluster.kubeconfig());
        wrong.iter().all(is_right)
    });

    let refused: Vec<String> =
        installed.log().lines().filter(|line| line.contains("forbidden")).map(str::to_owned).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    cluster.kubectl(&["delete", "-f", "-"], RULES).expect_success();
    cluster.delete(&["-f", "-"], &installed.manifests);
    cluster.wait_until("the webhooks are gone", || configurations(cluster).is_empty());
}

/// Three rules about the whole cluster, as people write them first.
const CLUSTER_RULES: &str = r#"
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: flavour, namespace: kubemod-system}
spec:
  type: Patch
  targetNamespaceRegex: ".*"
  match:
    - {select: '$.kind', matchValue: ConfigMap}
    - {select: '$.syntheticRefs.namespace.metadata.labels.flavour'}
  patch:
    - {op: add, path: /metadata/labels/flavour, value: '{{ .Target.syntheticRefs.namespace.metadata.labels.flavour }}'}
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: zone, namespace: kubemod-system}
spec:
  type: Patch
  targetNamespaceRegex: ".*"
  admissionOperations: [UPDATE]
  match:
    - {select: '$.kind', matchValue: Pod}
    - {select: '$.syntheticRefs.node.metadata.labels'}
  patch:
    - {op: add, path: /metadata/labels/zone, value: '"{{ index .Target.syntheticRefs.node.metadata.labels "zone" }}"'}
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: marked, namespace: kubemod-system}
spec:
  type: Patch
  targetNamespaceRegex: .*
  match:
    - {select: '$.kind', matchValue: ConfigMap}
  patch:
    - {op: add, path: /metadata/labels/marked, value: everywhere}
"#;

#[test]
fn a_fresh_installation_takes_rules_of_the_cluster_and_leaves_system_namespaces_alone() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    let installed = Installed::start(cluster);
    let label = |namespace: &str| {
        let path = r"jsonpath={.metadata.labels.admission\.kubemod\.io/ignore}";
        cluster.kubectl(&["get", "namespace", namespace, "-o", path], "").stdout
    };
    assert_eq!(label("kubemod-system"), "true", "with the manifests");
    cluster.kubectl(&["apply", "-f", "-"], CLUSTER_RULES).expect_success();
    cluster.wait_until("kube-system is labelled", || label("kube-system") == "true");
    assert_eq!(label("default"), "");

    let create = |namespace: &str| {
        let words = ["create", "configmap", "probe", "-n", namespace, "--dry-run=server", "-o", "json"];
        cluster.kubectl(&words, "").success()
    };
    cluster.wait_until("a rule patches", || create("default").contains("\"marked\": \"everywhere\""));
    for namespace in ["kube-system", "kubemod-system"] {
        assert!(!create(namespace).contains("marked"), "{namespace}");
    }
    // Also where the label is missing and the API server asks: the namespace has to say that it wants rules.
    let set = |value: &str| {
        let label = format!("admission.kubemod.io/ignore{value}");
        cluster.kubectl(&["label", "--overwrite", "namespace", "kube-system", &label], "").expect_success();
    };
    set("-");
    cluster.wait_until("the server knows it", || {
        let words = ["create", "configmap", "probe", "-n", "kube-system", "--dry-run=server", "-o", "name"];
        cluster.kubectl(&words, "").is_success()
    });
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(!create("kube-system").contains("marked"));
    set("=false");
    cluster.wait_until("kube-system is open", || create("kube-system").contains("marked"));
    set("=true");
    cluster.wait_until("kube-system is closed", || !create("kube-system").contains("marked"));

    cluster.delete(&["-f", "-"], &installed.manifests);
    cluster.wait_until("the webhooks are gone", || configurations(cluster).is_empty());
    cluster.kubectl(&["get", "namespace", "kube-system"], "").expect_success();
    assert!(
        !installed.manifests.contains("name: kube-system"),
        "deleting the manifests asks for what is ours"
    );
}

#[test]
fn webhooks_go_when_the_namespace_goes_first() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    let installed = Installed::start(cluster);
    cluster.delete(&["namespace", NAMESPACE], "");
    cluster.wait_until("the webhooks are gone", || configurations(cluster).is_empty());
    cluster.delete(&["--ignore-not-found", "-f", "-"], &installed.manifests);
    assert_eq!(configurations(cluster), Vec::<String>::new());
}

#[test]
fn a_running_server_respects_that_the_door_is_held_open() {
    let Some((cluster, _turn)) = cluster() else { return };
    let _kubelet = cluster.run_pods();
    let installed = Installed::start(cluster);
    let rescue = |flags: &[&str]| {
        let output =
            Command::new(BINARY).arg("rescue").args(flags).env("KUBECONFIG", cluster.kubeconfig()).output();
        assert!(output.expect("the binary starts").status.success());
    };
    rescue(&["--yes"]);
    cluster.wait_until("the server makes them again", || configurations(cluster).len() == 2);
    rescue(&["--yes", "--hold"]);
    cluster.wait_until("they are gone", || configurations(cluster).is_empty());
    assert!(
        doctor(&cluster.kubeconfig()).iter().any(|(grade, why)| grade == "bad" && why.starts_with("held: "))
    );
    rescue(&["--resume"]);
    cluster.wait_until("the server makes them again", || configurations(cluster).len() == 2);
    cluster.delete(&["-f", "-"], &installed.manifests);
    cluster.wait_until("they are gone for good", || configurations(cluster).is_empty());
}
