//! A control plane to try things on: `cargo run -p kubewright-controlplane -- run`.

use std::env;
use std::io::{Read, stdin};
use std::process::ExitCode;

use kubewright_controlplane::{
    CONTROL_PLANE_PROGRAMS, ClusterError, NodeNetwork, TestCluster, enter_node_namespaces, programs,
};

const PROGRAM_USAGE: &str = "usage: kubewright-controlplane build|run|run-nodes
  build     builds what is missing and prints the folders
  run       starts a cluster, prints its kubeconfig, and removes it at the end of its standard input
  run-nodes the same with two nodes on which Pods run; needs root, containerd, runc, iptables and network plugins
";

fn main() -> ExitCode {
    let done = match env::args().nth(1).as_deref() {
        Some("build") => build(),
        Some("run") => run(),
        Some("run-nodes") => enter_node_namespaces().and_then(|()| run_nodes()),
        _ => {
            eprint!("{PROGRAM_USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), ClusterError> {
    println!("{}", programs(CONTROL_PLANE_PROGRAMS)?.display());
    println!("{}", programs(&["helm"])?.display());
    Ok(())
}

fn run() -> Result<(), ClusterError> {
    let cluster = TestCluster::builder().try_start()?;
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    let _ = stdin().read_to_end(&mut Vec::new());
    Ok(())
}

fn run_nodes() -> Result<(), ClusterError> {
    let cluster = TestCluster::builder().for_worker_nodes().try_start()?;
    let network = NodeNetwork::start(&cluster)?;
    let _nodes = [network.start_node(&cluster, 1)?, network.start_node(&cluster, 2)?];
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    let _ = stdin().read_to_end(&mut Vec::new());
    Ok(())
}
