//! `kubewright serve` as a process beside a real cluster: rules by kubectl, decisions through the API server.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::{CommandOutput, TestCluster};
use kubewright_serve::Snapshot;

const NAMESPACE: &str = "kubewright-system";

/// A running server. It is killed when this is dropped.
struct Serve {
    child: Child,
    health: String,
    log: Arc<Mutex<String>>,
}

impl Serve {
    /// Starts it and waits until it is ready.
    fn start(cluster: &TestCluster, kubeconfig: &Path) -> Self {
        let serve = Self::spawn(cluster, kubeconfig, &[]);
        cluster.wait_until("the server is ready", || serve.is_ready());
        serve
    }

    fn spawn(cluster: &TestCluster, kubeconfig: &Path, flags: &[&str]) -> Self {
        let address = cluster.reserve_address().to_string();
        let health = cluster.reserve_address().to_string();
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(["serve", "--drain", "0s"])
            .args(flags)
            .args([
                "--address",
                &address,
                "--url",
                &format!("https://{address}"),
                "--health-address",
                &health,
            ])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, written) = (BufReader::new(child.stderr.take().expect("a pipe")), Arc::clone(&log));
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                written.lock().expect("a log").push_str(&(line + "\n"));
            }
        });
        Serve { child, health, log }
    }

    fn is_ready(&self) -> bool {
        get(&self.health, "/readyz").is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    fn log(&self) -> String {
        self.log.lock().expect("a log").clone()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        if thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

fn get(address: &str, path: &str) -> Option<String> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// A cluster with the definitions of all languages, and a server.
fn served() -> Option<(TestCluster, Serve)> {
    let cluster = TestCluster::builder().api_server_only().start()?;
    let snapshot = Snapshot::empty();
    let definitions: Vec<&str> =
        snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
    cluster.kubectl(&["apply", "--server-side", "-f", "-"], &definitions.join("\n---\n")).expect_success();
    let serve = Serve::start(&cluster, &cluster.kubeconfig());
    Some((cluster, serve))
}

fn rule(label: &str) -> String {
    format!(
        "{{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {{name: one, namespace: default}}, spec: \
         {{type: Patch, match: [{{select: '$.kind', matchValue: Deployment}}], \
         patch: [{{op: add, path: /metadata/labels/{label}, value: x}}]}}}}"
    )
}

fn try_deployment(cluster: &TestCluster) -> CommandOutput {
    cluster.kubectl(&["create", "deployment", "web", "--image=web", "--dry-run=server", "-o", "json"], "")
}

#[test]
fn a_rule_is_stored_and_decides_through_the_api_server_within_a_second() {
    let Some((cluster, mut serve)) = served() else { return };
    cluster.wait_until("rules are checked", || {
        let wrong = cluster.kubectl(&["create", "-f", "-"], &rule("a").replace("$.kind", "$.["));
        wrong.stderr.contains("spec.match[0].select")
    });
    // The first rule also needs a webhook configuration that asks about it.
    cluster.kubectl(&["apply", "-f", "-"], &rule("first")).expect_success();
    cluster.wait_until("the rule decides", || try_deployment(&cluster).stdout.contains("\"first\": \"x\""));
    let mut slowest = Duration::ZERO;
    for number in 0..3 {
        let label = format!("label-{number}");
        cluster.kubectl(&["apply", "-f", "-"], &rule(&label)).expect_success();
        let stored = Instant::now();
        // How long kubectl itself takes is no matter of ours.
        let mut asked = stored;
        cluster.wait_until("the rule decides", || {
            asked = Instant::now();
            try_deployment(&cluster).stdout.contains(&label)
        });
        slowest = slowest.max(asked - stored);
    }
    println!("a changed rule decides what is asked {slowest:?} after it was stored, at the latest");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");

    let pid = serve.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
    assert_eq!(serve.child.wait().expect("it ends").code(), Some(0));
    let log = serve.log();
    assert!(log.contains("\"message\":\"stopped\",\"clean\":true"), "{log}");
    assert!(!log.contains("panic caught"), "{log}");
}

/// Looks at nodes, at the roles of who asks and at a ConfigMap.
const CURIOUS: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: curious}
spec:
  background: false
  rules:
  - name: one
    match: {any: [{resources: {kinds: [ConfigMap]}, clusterRoles: [nobody]}]}
    context: [{name: settings, configMap: {name: settings, namespace: default}}]
    validate:
      message: never
      failureAction: Enforce
      deny: {conditions: {any: [{key: '{{ settings.data.key }}', operator: Equals, value: x}]}}
";

#[test]
fn with_the_rights_of_an_installation_it_can_do_all_it_has_to() {
    let Some(cluster) = TestCluster::builder().api_server_only().start() else { return };
    let install = Command::new(env!("CARGO_BIN_EXE_kubewright")).arg("install").output().expect("it runs");
    let manifests = String::from_utf8_lossy(&install.stdout).into_owned();
    cluster.wait_until("it is installed", || {
        cluster.kubectl(&["apply", "--server-side", "-f", "-"], &manifests).is_success()
    });
    // Rules that are there from the start, so that it is not ready before it knows all that they need.
    let nosy = rule("rack").replace("name: one", "name: nosy").replace("$.kind", "$.syntheticRefs.node.kind");
    for object in [rule("label"), nosy, CURIOUS.to_owned()] {
        cluster
            .wait_until("a rule is stored", || cluster.kubectl(&["apply", "-f", "-"], &object).is_success());
    }
    let serve = Serve::start(&cluster, &cluster.kubeconfig_of(NAMESPACE, "kubewright"));
    let metrics = get(&serve.health, "/metrics").expect("metrics");
    for kind in ["v1/Node", "v1/ConfigMap", "rbac.authorization.k8s.io/v1/ClusterRoleBinding"] {
        cluster.wait_until(&format!("{kind} is counted"), || {
            let metrics = get(&serve.health, "/metrics").unwrap_or_default();
            metrics.contains(&format!("kubewright_snapshot_objects{{gvk=\"{kind}\"}}"))
        });
    }
    assert!(metrics.contains("kubewright_snapshot_generation 1"), "{metrics}");
    cluster.wait_until("the rule decides", || try_deployment(&cluster).stdout.contains("\"label\": \"x\""));
    cluster.wait_until("the rule has its status", || {
        let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
        cluster.kubectl(&["get", "modrule", "one", "-n", "default", "-o", ready], "").stdout == "True"
    });
    let log = serve.log();
    assert!(!log.contains("forbidden"), "{log}");
}

/// Refuses a Deployment that is called `refused`.
const REFUSING: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: names}
spec:
  background: false
  rules:
  - name: allowed
    match: {any: [{resources: {kinds: [Deployment], names: [refused]}}]}
    validate: {failureAction: Enforce, message: this name is not allowed, deny: {}}
";

#[test]
fn why_tells_from_the_log_and_the_events_what_rules_did_in_the_cluster() {
    let Some((cluster, serve)) = served() else { return };
    for object in [&rule("first"), REFUSING] {
        cluster
            .wait_until("a rule is stored", || cluster.kubectl(&["apply", "-f", "-"], object).is_success());
    }
    let create = |name: &str| cluster.kubectl(&["create", "deployment", name, "--image=web"], "");
    cluster.wait_until("the rule decides", || try_deployment(&cluster).stdout.contains("\"first\": \"x\""));
    cluster.wait_until("it is refused", || create("refused").stderr.contains("this name is not allowed"));
    create("changed").expect_success();
    let log = cluster.folder().join("serve.log");
    let why = |object: &str, from: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(["why", object])
            .args(from)
            .env("KUBECONFIG", cluster.kubeconfig())
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let from_log = |object: &str| {
        std::fs::write(&log, serve.log()).expect("a log");
        why(object, &["--log", &log.display().to_string()])
    };
    cluster.wait_until("the log tells the refusal", || {
        let told = from_log("Deployment/default/refused");
        told.contains("refused\n") && told.contains("✗ kyverno/names/allowed  this name is not allowed")
    });
    cluster.wait_until("the log tells the change", || {
        let told = from_log("Deployment/default/changed");
        told.contains("~ modrule/default/one\n") && told.contains("/metadata/labels/first\n")
    });
    cluster.wait_until("the Events tell the refusal", || {
        why("Deployment/default/refused", &["-r", "cluster:"]).contains("this name is not allowed")
    });
}

#[test]
fn a_namespace_that_is_not_there_is_named_and_waited_for() {
    let Some(cluster) = TestCluster::builder().api_server_only().start() else { return };
    let serve = Serve::spawn(&cluster, &cluster.kubeconfig(), &["--namespace", "later"]);
    cluster.wait_until("the log says it", || serve.log().contains(r#"namespaces \"later\" not found"#));
    assert!(!serve.is_ready());
    cluster.create_namespace("later");
    cluster.wait_until("the server is ready", || serve.is_ready());
}

#[test]
fn without_a_cluster_it_says_where_it_looked() {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .arg("serve")
        .env_clear()
        .env("HOME", "/does/not/exist")
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message.contains("KUBECONFIG and ~/.kube/config are missing, and this does not run in a pod"),
        "{message}"
    );
    assert!(message.contains("--offline"), "{message}");
}
