//! The chart as real Pods behind a real Service, on two nodes with a kubelet and containerd: it is installed, a container is
//! killed, the image is replaced, a node is drained, and it is removed, each under load through the API server.
//!
//! `make test-node` builds the static binary for the image and runs this. It needs root; elsewhere one line says what is
//! missing.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "faults/load.rs"]
mod load;
#[path = "faults/table.rs"]
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kubewright_controlplane::{
    ClusterError, CommandOutput, ContainerImage, NodeNetwork, TestCluster, WorkerNode, announce_skipped,
    enter_node_namespaces,
};

use load::{LOAD_RULES, Load};
use table::{Row, print};

const NAMESPACE: &str = "kubewright-system";
const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/kubewright");

/// The names of the image: both have the same content, which is enough to replace all Pods.
const IMAGES: [&str; 2] = ["docker.io/library/kubewright:first", "docker.io/library/kubewright:second"];

/// How often the image is replaced: a Pod that ends may lose a request in a moment only.
const REPLACEMENTS: usize = 4;

/// How long requests may fail after a container was killed: until the kubelet has seen it and kube-proxy was told.
const ENDPOINT_DELAY: Duration = Duration::from_secs(10);

/// How many requests are under way at most. The API server keeps 25 connections to a webhook; where more requests are under
/// way for long, each needs a new one, and a machine with other work then makes connections and nothing else.
const MAX_UNDER_WAY: usize = 20;

/// How long a rule may take to be live, on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens to the Pods, by name.
type Step = (&'static str, fn(&NodeStage<'_>) -> Row);

const STEPS: &[Step] = &[
    ("the chart is installed", |stage| stage.install()),
    ("a container is killed", |stage| stage.kill()),
    ("the image is replaced", |stage| stage.upgrade()),
    ("a node is drained", |stage| stage.drain()),
    ("the chart is uninstalled", |stage| stage.uninstall()),
];

fn main() -> ExitCode {
    match enter_node_namespaces().and_then(|()| run()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(ClusterError::Unavailable(reason)) if !is_required() => {
            announce_skipped(&reason);
            ExitCode::SUCCESS
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether a machine that cannot do this fails.
fn is_required() -> bool {
    std::env::var("KUBEWRIGHT_CLUSTER").is_ok_and(|wish| wish == "required")
}

fn run() -> Result<bool, ClusterError> {
    let cluster = TestCluster::builder().for_worker_nodes().try_start()?;
    let network = NodeNetwork::start(&cluster)?;
    let nodes = [network.start_node(&cluster, 1)?, network.start_node(&cluster, 2)?];
    let program = static_program();
    for node in &nodes {
        for name in IMAGES {
            node.import_image(&ContainerImage { name, program: &program, user: "65532:65532" })?;
        }
    }
    let stage = NodeStage { cluster: &cluster, nodes, load: Load::on(&cluster, MAX_UNDER_WAY) };
    let mut rows = Vec::new();
    for (name, step) in STEPS {
        eprintln!("{name} …");
        let row = Row { name, ..step(&stage) };
        eprintln!("{}", row.line());
        rows.push(row);
    }
    Ok(print(&rows))
}

/// The binary that needs no shared libraries; `make test-node` says where it has built it.
fn static_program() -> PathBuf {
    let path = std::env::var_os("KUBEWRIGHT_STATIC").expect("KUBEWRIGHT_STATIC: use `make test-node`");
    let path = Path::new(&path).canonicalize().expect("the static binary");
    assert_eq!(path.file_name().expect("a name"), "kubewright", "the program of the image");
    path
}

/// A cluster on which Pods run.
struct NodeStage<'c> {
    cluster: &'c TestCluster,
    nodes: [WorkerNode<'c>; 2],
    load: Load,
}

impl NodeStage<'_> {
    /// Until all Pods are ready and both rules are live.
    fn install(&self) -> Row {
        let start = Instant::now();
        self.helm(&[
            "install",
            "kubewright",
            CHART,
            "--create-namespace",
            "--set",
            "image.tag=first",
            "--set",
            "scan.reportCrds=true",
        ]);
        let mut row = Row::default();
        row.notes.push(format!("all Pods were ready after {:.1?}", start.elapsed()));
        self.cluster.create_namespace("faults");
        self.cluster.kubectl(&["apply", "-f", "-"], LOAD_RULES).expect_success();
        self.await_judged();
        row.recovery = start.elapsed();
        let hosts = self.pods("{.items[*].spec.nodeName}");
        let used = self.nodes.iter().filter(|node| hosts.contains(&node.name())).count();
        row.expect(used == 2, format!("Pods run on {hosts}"));
        row
    }

    /// As the kernel does it when memory runs out. Requests that are sent to it until kube-proxy knows are lost.
    fn kill(&self) -> Row {
        let pods = self.pods(r#"{range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}"#);
        let (pod, host) = pods.lines().next().and_then(|line| line.split_once(' ')).expect("a Pod");
        let node = self.nodes.iter().find(|node| node.name() == host).expect("its node");
        let (run, fault) = self.load.during(|start| {
            sleep(Duration::from_secs(2));
            let fault = start.elapsed();
            node.kill_container(NAMESPACE, pod).expect("a container");
            sleep(Duration::from_secs(15));
            fault
        });
        let mut row = Row::of(&run).recovered(&run, fault);
        row.expect(row.recovery < ENDPOINT_DELAY, "requests failed for too long");
        self.rollout();
        let restarts = self.pods("{.items[*].status.containerStatuses[*].restartCount}");
        row.notes.push(format!("restarts of the containers: {restarts}"));
        row.expect(restarts.contains('1'), "no container was started again");
        row
    }

    /// As a Deployment does it, several times: no request is lost.
    fn upgrade(&self) -> Row {
        self.without_loss(|| {
            for (old, new) in [("first", "second"), ("second", "first")].iter().cycle().take(REPLACEMENTS) {
                let tag = format!("image.tag={new}");
                self.helm(&["upgrade", "kubewright", CHART, "--reuse-values", "--set", &tag]);
                let is_replaced = || !self.pods("{.items[*].spec.containers[*].image}").contains(old);
                self.cluster.wait_until("Pods of the old image are gone", is_replaced);
            }
        })
    }

    /// The PodDisruptionBudget lets Pods go one by one, and they come back on the other node: no request is lost.
    fn drain(&self) -> Row {
        let name = self.nodes.first().map(WorkerNode::name).unwrap_or_default();
        let mut row = self.without_loss(|| {
            self.cluster
                .kubectl(&["drain", &name, "--ignore-daemonsets", "--timeout=200s"], "")
                .expect_success();
            self.rollout();
        });
        let hosts = self.pods("{.items[*].spec.nodeName}");
        row.expect(!hosts.contains(&name), format!("Pods run on {hosts}"));
        self.cluster.kubectl(&["uncordon", &name], "").expect_success();
        row
    }

    /// Nothing is judged afterwards, and nothing is refused.
    fn uninstall(&self) -> Row {
        let start = Instant::now();
        self.helm(&["uninstall", "kubewright"]);
        let mut row = Row::default();
        self.cluster.wait_until("the webhooks are gone", || self.webhooks().is_empty());
        row.recovery = start.elapsed();
        let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"free","namespace":"faults"},"data":{"verdict":"deny"}}"#;
        let answer = self.load.post("/api/v1/namespaces/faults/configmaps", body.to_owned());
        row.expect(matches!(answer, Ok((201, _))), format!("a ConfigMap was answered with {answer:?}"));
        self.cluster.wait_until("the Pods are gone", || self.pods("{.items[*].metadata.name}").is_empty());
        row
    }

    fn without_loss(&self, change: impl FnOnce()) -> Row {
        let (run, fault) = self.load.during(|start| {
            sleep(Duration::from_secs(2));
            let fault = start.elapsed();
            change();
            sleep(Duration::from_secs(2));
            fault
        });
        let mut row = Row::of(&run).recovered(&run, fault);
        row.expect(row.right == row.requests, "a request went wrong");
        row
    }

    fn helm(&self, arguments: &[&str]) {
        let common = ["--namespace", NAMESPACE, "--wait", "--timeout", "200s"];
        self.cluster.helm(&[arguments, &common].concat()).expect_success();
    }

    fn rollout(&self) {
        let wait = ["rollout", "status", "deployment/kubewright", "-n", NAMESPACE, "--timeout=200s"];
        self.cluster.kubectl(&wait, "").expect_success();
    }

    /// A field of the Pods of the server.
    fn pods(&self, fields: &str) -> String {
        let selector = ["get", "pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=kubewright", "-o"];
        let fields = format!("jsonpath={fields}");
        self.cluster.kubectl(&[&selector[..], &[fields.as_str()]].concat(), "").success()
    }

    /// The webhook configurations of ours.
    fn webhooks(&self) -> String {
        let kinds = "mutatingwebhookconfiguration,validatingwebhookconfiguration";
        let output: CommandOutput = self.cluster.kubectl(&["get", kinds, "-o", "name"], "");
        output.success().lines().filter(|name| name.ends_with("/kubewright")).collect()
    }

    fn await_judged(&self) {
        let start = Instant::now();
        while !(0..6).all(|number| self.load.is_right(number)) {
            let why = [self.load.reason(0), self.load.reason(1)];
            assert!(start.elapsed() < PATIENCE, "requests are {why:?}");
            sleep(Duration::from_millis(50));
        }
    }
}
