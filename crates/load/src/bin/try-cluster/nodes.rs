//! The trial with the chart as Pods on real nodes.

use std::env;
use std::path::{Path, PathBuf};

use kubewright_controlplane::{
    ClusterError, ContainerImage, NodeNetwork, TestCluster, enter_node_namespaces,
};

use crate::steps::{TrialPrograms, apply_manifests, trial_rules};
use crate::{SHOP, print_instructions, wait_for_end};

/// The binary of the image, which needs no shared libraries; without it no nodes are wanted.
const STATIC_VARIABLE: &str = "KUBEWRIGHT_STATIC";

const IMAGE: &str = "docker.io/library/kubewright:trial";
const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/kubewright");

/// Whether nodes are wanted and this machine can have them; says on standard error what it forbids. The program goes on
/// in namespaces of its own then.
pub(crate) fn are_possible() -> Result<bool, String> {
    if env::var_os(STATIC_VARIABLE).is_none() {
        return Ok(false);
    }
    match enter_node_namespaces() {
        Ok(()) => Ok(true),
        Err(ClusterError::Unavailable(reason)) => {
            eprintln!("{reason}; Pods are only said to run");
            Ok(false)
        }
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn run(step: &dyn Fn(&str), programs: &TrialPrograms) -> Result<(), String> {
    let text = |error: ClusterError| error.to_string();
    let program = PathBuf::from(env::var_os(STATIC_VARIABLE).unwrap_or_default());
    step("starting the control plane and two nodes");
    let cluster = TestCluster::builder().for_worker_nodes().try_start().map_err(text)?;
    let network = NodeNetwork::start(&cluster).map_err(text)?;
    let nodes =
        [network.start_node(&cluster, 1).map_err(text)?, network.start_node(&cluster, 2).map_err(text)?];
    step("importing the image and installing the chart");
    for node in &nodes {
        node.import_image(&image(&program)).map_err(text)?;
    }
    let chart = ["install", "kubewright", CHART, "--namespace", "kubewright-system", "--create-namespace"];
    let values = ["--set", "image.tag=trial,scan.reportCrds=true", "--wait", "--timeout", "200s"];
    let output = cluster.helm(&[&chart[..], &values[..]].concat());
    if !output.is_success() {
        return Err(output.to_string());
    }
    step("creating the shop, whose images are in no registry, and then rules that would refuse most of it");
    apply_manifests(&cluster, SHOP)?;
    apply_manifests(&cluster, &trial_rules()?)?;
    print!("{}", cluster.kubectl(&["get", "pods", "--all-namespaces", "-o", "wide"], "").stdout);
    print_instructions(&cluster, programs);
    wait_for_end();
    Ok(())
}

fn image(program: &Path) -> ContainerImage<'_> {
    ContainerImage { name: IMAGE, program, user: "65532:65532" }
}
