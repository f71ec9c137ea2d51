//! Lists and watches of `kubewright-cluster` and of the crate `kube` on one API server: memory, time to synced, CPU.
//!
//! ```text
//! kubewright-kube-comparison [--pods N] [--churn N] [--only CLIENT]
//! ```
//!
//! Each client runs in a process of its own, so that memory and CPU are its own; this process writes Pods into etcd and
//! changes them while a client watches.

mod client_process;
mod etcd;
mod kube_clients;
mod own_clients;
mod pods;
mod process_usage;
mod table;

use std::time::{Duration, Instant};

use kubewright_controlplane::{ControlPlaneComponent, TestCluster};

use crate::client_process::ClientProcess;
use crate::etcd::EtcdGateway;

/// What ships uses this allocator; here both sides do.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many Pods are changed in one transaction. With the pause between them this makes 500 changes a second.
const CHANGES_AT_ONCE: usize = 25;
const CHANGE_INTERVAL: Duration = Duration::from_millis(50);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    let number =
        |name: &str, default: usize| option(name).and_then(|text| text.parse().ok()).unwrap_or(default);
    let churn = number("--churn", 10_000);
    match option("--client") {
        Some(client) => {
            let kubeconfig = option("--kubeconfig").expect("--kubeconfig is missing");
            client_process::run(client, kubeconfig, churn);
        }
        None => {
            let only = option("--only").map_or("", String::as_str);
            let clients = client_process::CLIENTS.into_iter().filter(|client| client.contains(only));
            compare(&clients.collect::<Vec<_>>(), number("--pods", 100_000), churn);
        }
    }
}

fn compare(clients: &[&'static str], pods: usize, churn: usize) {
    let cluster = TestCluster::builder()
        .api_server_only()
        .flag(ControlPlaneComponent::Etcd, "--quota-backend-bytes=8589934592")
        .start();
    let Some(cluster) = cluster else { return };
    let mut etcd = EtcdGateway::of(&cluster);
    let started = Instant::now();
    for first in (0..pods).step_by(pods::PODS_AT_ONCE) {
        etcd.put((first..pods.min(first + pods::PODS_AT_ONCE)).map(|number| pods::pod(number, 0)).collect());
    }
    println!(
        "{pods} Pods of {} bytes of JSON written in {:.0} s",
        pods::pod(0, 0).1.len(),
        started.elapsed().as_secs_f64()
    );
    // The cache of the API server is behind etcd for a while, and refuses watches until then.
    let _ = ClientProcess::start("kubewright watch, metadata", &cluster.kubeconfig(), 0).synced();
    let mut rows = Vec::new();
    for (round, client) in clients.iter().enumerate() {
        let mut process = ClientProcess::start(client, &cluster.kubeconfig(), churn);
        let synced = process.synced();
        for (step, first) in (0..churn).step_by(CHANGES_AT_ONCE).enumerate() {
            let numbers = first..churn.min(first + CHANGES_AT_ONCE);
            etcd.put(numbers.map(|number| pods::pod(number % pods, 1 + round * 1000 + step)).collect());
            std::thread::sleep(CHANGE_INTERVAL);
        }
        let row = (*client, synced, process.churned());
        table::print_row(&row, pods, churn);
        rows.push(row);
    }
    table::print_decision(&rows);
}
