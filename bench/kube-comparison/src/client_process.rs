//! One client in a process of its own.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::process_usage::ProcessUsage;
use crate::{kube_clients, own_clients};

/// The clients, in the order in which they run. Those without a store drop every object.
pub(crate) const CLIENTS: [&str; 9] = [
    "kubewright watch",
    "kube watcher",
    "kubewright watch, pages",
    "kube watcher, pages",
    "kubewright watch, metadata",
    "kube watcher, metadata",
    "kubewright Store",
    "kube Store<DynamicObject>",
    "kube Store<Pod>",
];

/// What was seen when a client had all objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SyncedUsage {
    pub(crate) objects: f64,
    pub(crate) seconds: f64,
    pub(crate) cpu: f64,
    pub(crate) memory: f64,
    pub(crate) peak: f64,
}

/// Counts what a client sees, and says when it is synced and when all changes have come.
pub(crate) struct Progress {
    started: Instant,
    objects: usize,
    changes: usize,
    expected_changes: usize,
    synced: Option<ProcessUsage>,
}

impl Progress {
    /// Counts an object of the first list.
    pub(crate) fn listed(&mut self) {
        self.objects += 1;
    }

    /// The first list is whole.
    pub(crate) async fn synced(&mut self) {
        let (seconds, usage) = (self.started.elapsed().as_secs_f64(), ProcessUsage::now());
        println!("{} {seconds} {} {} {}", self.objects, usage.cpu, usage.memory, usage.peak);
        self.synced = Some(usage);
    }

    /// Counts changes; ends the process after the last one.
    pub(crate) fn changed(&mut self, count: usize) {
        self.changes += count;
        if let (true, Some(synced)) = (self.changes >= self.expected_changes, self.synced) {
            println!("{}", ProcessUsage::now().cpu - synced.cpu);
            std::process::exit(0);
        }
    }
}

/// Runs the client of this name until it has seen all changes.
pub(crate) fn run(client: &str, kubeconfig: &str, expected_changes: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let progress =
        Progress { started: Instant::now(), objects: 0, changes: 0, expected_changes, synced: None };
    runtime.expect("a runtime").block_on(async {
        let kubeconfig = Path::new(kubeconfig);
        let work = async {
            match client {
                "kubewright Store" => own_clients::store(kubeconfig, progress).await,
                own if own.starts_with("kubewright") => own_clients::watch(own, kubeconfig, progress).await,
                other => kube_clients::watch(other, kubeconfig, progress).await,
            }
        };
        tokio::time::timeout(Duration::from_secs(600), work).await.expect("ten minutes are enough");
    });
}

/// A client in another process.
pub(crate) struct ClientProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl ClientProcess {
    pub(crate) fn start(client: &str, kubeconfig: &Path, churn: usize) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command.args(["--client", client, "--churn", &churn.to_string(), "--kubeconfig"]).arg(kubeconfig);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("this program starts");
        let output = child.stdout.take().expect("its output is piped");
        Self { child, lines: BufReader::new(output).lines() }
    }

    /// Waits until the client has all objects.
    pub(crate) fn synced(&mut self) -> SyncedUsage {
        match self.numbers().as_slice() {
            [objects, seconds, cpu, memory, peak] => {
                SyncedUsage { objects: *objects, seconds: *seconds, cpu: *cpu, memory: *memory, peak: *peak }
            }
            other => panic!("five numbers are expected, not {other:?}"),
        }
    }

    /// Waits until the client has seen all changes; returns the CPU seconds they took.
    pub(crate) fn churned(mut self) -> f64 {
        let cpu = self.numbers();
        self.child.wait().expect("the client ends");
        *cpu.first().expect("a number is expected")
    }

    fn numbers(&mut self) -> Vec<f64> {
        let line = self.lines.next().expect("the client says something").expect("it is text");
        line.split_whitespace().map(|word| word.parse().expect("a number")).collect()
    }
}
