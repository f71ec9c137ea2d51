//! A real Kubernetes control plane for tests: etcd, kube-apiserver, controller manager and scheduler on loopback.
//!
//! ```no_run
//! use kubewright_controlplane::TestCluster;
//!
//! let Some(cluster) = TestCluster::start() else { return };
//! cluster.kubectl(&["apply", "-f", "-"], "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").expect_success();
//! ```
//!
//! The programs are built from `tests/cluster` the first time and kept in the user's cache. A machine that can neither
//! build nor find them skips, and says so on standard error: `None` never means that a test passed.
//!
//! Nothing outlives a cluster, however the test ends: dropping it kills and removes everything, and where the test
//! process itself is killed a small shell that watches over it does the same (see `guard`).

mod balancer;
mod binaries;
mod builder;
mod client;
mod cluster;
mod component;
mod error;
mod folder;
mod go_module;
mod guard;
mod kubeconfig;
mod kubelet;
mod kyverno;
mod node;
mod output;
mod port;
mod process;
mod program;
mod registry;
mod skip;
mod worker_node;

pub use balancer::Balancer;
pub use binaries::{CONTROL_PLANE_PROGRAMS, built_programs, programs};
pub use builder::Builder;
pub use cluster::TestCluster;
pub use component::ControlPlaneComponent;
pub use error::ClusterError;
pub use kubelet::Kubelet;
pub use kyverno::{KyvernoReportsController, install_kyverno_definitions};
pub use output::CommandOutput;
pub use port::LoopbackPort;
pub use program::ClusterProgram;
pub use registry::TestRegistry;
pub use skip::announce_skip as announce_skipped;
pub use worker_node::{
    ContainerImage, NodeNetwork, WorkerNode, enter_node_namespaces, node_namespaces_process,
};
