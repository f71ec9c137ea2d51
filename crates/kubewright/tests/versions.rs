//! A smoke test on a real control plane: what `install` prints is taken, a rule patches, a policy refuses, and a rule that
//! asks for it is enforced by the API server, where that can.
//!
//! It runs on the version of `tests/cluster/go.mod`, or the one that `KUBEWRIGHT_CLUSTER_VERSION` names:
//! `make test-versions` runs it on all of them.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use kubewright_controlplane::TestCluster;
use kubewright_value::json;

const NAMESPACE: &str = "kubewright-system";
const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");

const RULES: [&str; 3] = [
    "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: label, namespace: default}, spec: {type: Patch, \
     match: [{select: '$.kind', matchValue: ConfigMap}], patch: [{op: add, path: /metadata/labels/marked, value: by-rule}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: owners}, spec: {validationFailureAction: Enforce, \
     rules: [{name: owner, match: {any: [{resources: {kinds: [Service]}}]}, \
     validate: {message: 'who is the owner?', pattern: {metadata: {labels: {owner: '?*'}}}}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: replicas}, spec: {validationFailureAction: Enforce, \
     rules: [{name: r, match: {any: [{resources: {kinds: [Deployment], operations: [CREATE]}}]}, \
     validate: {cel: {generate: true, expressions: [{expression: 'object.spec.replicas <= 3', message: 'too many'}]}}}]}}",
];

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

#[test]
fn it_installs_patches_and_refuses() {
    let Some(cluster) = TestCluster::start() else { return };
    let version = version(&cluster);
    let output =
        Command::new(BINARY).args(["install", "--generate-vap"]).output().expect("the binary starts");
    let manifests = String::from_utf8(output.stdout).expect("text");
    cluster.wait_until("the manifests are taken", || {
        cluster.kubectl(&["apply", "--server-side", "-f", "-"], &manifests).is_success()
    });
    let log = cluster.folder().join("serve.log");
    let _server = serve(&cluster, &log);
    for rule in RULES {
        // What begins with a brace is JSON for an old kubectl.
        let rule = format!("---\n{rule}");
        cluster.wait_until("a rule is stored", || cluster.kubectl(&["apply", "-f", "-"], &rule).is_success());
    }
    let create = |words: &[&str]| {
        cluster.kubectl(&[&["create"], words, &["--dry-run=server", "-o", "json"]].concat(), "")
    };
    cluster.wait_until("the ModRule patches", || create(&["configmap", "one"]).stdout.contains("by-rule"));
    cluster.wait_until("the ClusterPolicy refuses", || {
        create(&["service", "clusterip", "one", "--tcp=80"]).stderr.contains("who is the owner?")
    });
    let many = ["deployment", "many", "--image=web", "--replicas=4"];
    cluster.wait_until("the rule in CEL refuses", || create(&many).stderr.contains("too many"));
    let state = |key: &str| {
        let path = format!("jsonpath={{.status.validatingadmissionpolicy.{key}}}");
        cluster.kubectl(&["get", "clusterpolicy", "replicas", "-o", &path], "").stdout
    };
    let groups = cluster.kubectl(&["api-resources", "-o", "name"], "").success();
    if groups.contains("validatingadmissionpolicies.admissionregistration.k8s.io") {
        cluster.wait_until("the API server enforces it", || state("generated") == "true");
        let told = create(&many).stderr;
        assert!(told.contains("ValidatingAdmissionPolicy 'cpol-replicas'"), "{told}");
    } else {
        cluster.wait_until("it is told why it does not", || state("message").contains("Kubernetes 1.30"));
    }
    let log = fs::read_to_string(&log).unwrap_or_default();
    assert!(!log.contains("forbidden") && !log.contains("panic caught"), "{log}");
    println!("Kubernetes {version}: installed, patched, refused; generated: {}", state("generated"));
}

fn version(cluster: &TestCluster) -> String {
    let found = cluster.kubectl(&["get", "--raw", "/version"], "").success();
    let found = json::parse(&found).expect("JSON");
    found.str_at(&["gitVersion"]).to_owned()
}

fn serve(cluster: &TestCluster, log: &std::path::Path) -> Server {
    let address = cluster.reserve_address().to_string();
    let server = Command::new(BINARY)
        .args([
            "serve",
            "--generate-vap",
            "--namespace",
            NAMESPACE,
            "--drain=0s",
            "--health-address=127.0.0.1:0",
        ])
        .args(["--address", &address, "--url", &format!("https://{address}")])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig_of(NAMESPACE, "kubewright"))
        .stdin(Stdio::null())
        .stderr(File::create(log).expect("a log"))
        .spawn();
    Server(server.expect("it starts"))
}
