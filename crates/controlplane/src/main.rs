//! A control plane to try things on: `cargo run -p kubewright-controlplane -- run`.

use std::env;
use std::io::{Read, stdin};
use std::process::ExitCode;

use kubewright_controlplane::{ClusterError, TestCluster, programs};

const PROGRAM_USAGE: &str = "usage: kubewright-controlplane build|run
  build   builds what is missing and prints the folders
  run     starts a cluster, prints its kubeconfig, and removes it at the end of its standard input
";

fn main() -> ExitCode {
    let done = match env::args().nth(1).as_deref() {
        Some("build") => build(),
        Some("run") => run(),
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
    let control_plane = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
    println!("{}", programs(&control_plane)?.display());
    println!("{}", programs(&["helm"])?.display());
    Ok(())
}

fn run() -> Result<(), ClusterError> {
    let cluster = TestCluster::builder().try_start()?;
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    let _ = stdin().read_to_end(&mut Vec::new());
    Ok(())
}
