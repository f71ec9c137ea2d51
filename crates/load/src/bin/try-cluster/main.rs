//! A control plane with rules, a shop that breaks some of them, and the scanner: `make try-cluster`.
//!
//! With `NODES=2` the chart runs as Pods on two nodes with a kubelet, where the machine allows it.
//!
//! Everything ends with this process, also when it is interrupted: the control plane's guard kills what is left and
//! removes its files.

mod nodes;
mod steps;

use std::io::{Read, stdin};
use std::process::ExitCode;
use std::time::Instant;

use kubewright_controlplane::{ControlPlaneComponent, TestCluster, node_namespaces_process};

use steps::{TrialPrograms, apply_manifests, await_reports, install_definitions, trial_rules};

/// The manifests of the shop.
pub(crate) const SHOP: &str = include_str!("../../../inputs/shop.yaml");

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("try-cluster: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let start = Instant::now();
    let step = |text: &str| eprintln!("{:5.1} s  {text}", start.elapsed().as_secs_f64());
    let programs = TrialPrograms::beside_this_program()?;
    if nodes::are_possible()? {
        return nodes::run(&step, &programs);
    }
    step("starting etcd, kube-apiserver, kube-controller-manager and kube-scheduler");
    // As in most clusters; the shop has a privileged container.
    let builder = TestCluster::builder().flag(ControlPlaneComponent::ApiServer, "--allow-privileged=true");
    let cluster = builder.try_start().map_err(|error| error.to_string())?;
    let _kubelet = cluster.run_pods();
    step("installing definitions and rules");
    install_definitions(&cluster, &programs)?;
    apply_manifests(&cluster, &trial_rules()?)?;
    step("starting the scanner: kubewright scan --serve");
    let mut scanner = programs.start_scanner(&cluster)?;
    step("creating the shop");
    apply_manifests(&cluster, SHOP)?;
    await_reports(&cluster, &mut scanner)?;
    step("reports are complete\n");
    print!("{}", cluster.kubectl(&["get", "reports", "--all-namespaces", "-o", "wide"], "").stdout);
    print_instructions(&cluster, &programs);
    wait_for_end();
    Ok(())
}

pub(crate) fn print_instructions(cluster: &TestCluster, programs: &TrialPrograms) {
    let kubectl = cluster.kubectl_program();
    println!("\nIn another terminal:\n");
    println!("  export KUBECONFIG={}", cluster.kubeconfig().display());
    let enter = node_namespaces_process().map(|id| format!("nsenter --target {id} --net --mount "));
    println!("  alias kubectl='{}{}'", enter.unwrap_or_default(), kubectl.display());
    println!("  kubectl get reports -n shop -o yaml                       # the rows");
    println!("  kubectl label deployment checkout -n shop shop.example/team=team-pay   # one of them goes");
    println!(
        "  {} scan -n shop                            # the same, once, as a table",
        programs.kubewright.display()
    );
    println!("\nCtrl-C stops everything and removes its files.");
}

/// Until the end of the standard input, or until the process is interrupted.
pub(crate) fn wait_for_end() {
    let _ = stdin().read_to_end(&mut Vec::new());
}
