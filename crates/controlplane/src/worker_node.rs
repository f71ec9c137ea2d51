//! Real nodes: a kubelet and a container runtime each, and one kube-proxy for all, so that Pods run and Services answer.
//!
//! They run in namespaces of their own, see [`enter_node_namespaces`].

mod configuration;
mod image;
mod namespaces;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use image::ContainerImage;
pub(crate) use namespaces::NODE_ADDRESS;
pub use namespaces::{enter_node_namespaces, node_namespaces_process};

use crate::binaries::NODE_PROGRAMS;
use crate::output::run_command;
use crate::process::kept_environment;
use crate::{
    Builder, ClusterError, ClusterProgram, CommandOutput, ControlPlaneComponent, TestCluster, binaries,
};
use configuration::NodeLayout;
use namespaces::NodeNamespaces;

/// The image of the container that holds the namespaces of a Pod.
const PAUSE_IMAGE: &str = "docker.io/library/pause:local";

/// How long the import of an image may take.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(120);

impl Builder {
    /// Lets Pods of real nodes reach the API server, and leaves out the nodes that are objects only.
    #[must_use]
    pub fn for_worker_nodes(mut self) -> Self {
        use ControlPlaneComponent::{ApiServer, ControllerManager};
        self.api_server_address = NODE_ADDRESS;
        self.nodes(0)
            .flag(ApiServer, "--bind-address=0.0.0.0")
            .flag(ApiServer, &format!("--advertise-address={NODE_ADDRESS}"))
            .flag(ApiServer, "--endpoint-reconciler-type=lease")
            .flag(ApiServer, "--allow-privileged=true")
            .flag(ControllerManager, "--node-monitor-grace-period=40s")
    }
}

/// A node on which Pods run. It ends when this is dropped; its containers end with the process.
pub struct WorkerNode<'c> {
    cluster: &'c TestCluster,
    layout: NodeLayout,
    containerd: ClusterProgram<'c>,
    kubelet: ClusterProgram<'c>,
}

/// The programs of a node, and the process that translates the addresses of Services for all nodes.
pub struct NodeNetwork<'c> {
    programs: PathBuf,
    namespaces: NodeNamespaces,
    _proxy: ClusterProgram<'c>,
}

impl<'c> NodeNetwork<'c> {
    /// Starts kube-proxy. The first call may build the programs.
    ///
    /// # Errors
    /// If a program cannot be built or started, or this process is not in namespaces of its own.
    pub fn start(cluster: &'c TestCluster) -> Result<Self, ClusterError> {
        let namespaces = NodeNamespaces::current()?;
        let programs = binaries::programs(NODE_PROGRAMS)?;
        let file = namespaces.folder.join("kube-proxy.yaml");
        write(&file, &configuration::kube_proxy(&cluster.kubeconfig()))?;
        let mut command = Command::new(programs.join("kube-proxy"));
        command.env_clear().arg("--config").arg(&file).arg("--hostname-override=node-1");
        let proxy = cluster.run_beside("kube-proxy", command)?;
        Ok(Self { programs, namespaces, _proxy: proxy })
    }

    /// Starts the node `node-NUMBER` and waits until it is ready.
    ///
    /// # Errors
    /// If something does not start; the logs are beside those of the control plane.
    pub fn start_node(&self, cluster: &'c TestCluster, number: u8) -> Result<WorkerNode<'c>, ClusterError> {
        let layout = NodeLayout::new(&self.namespaces, number);
        layout.write(&cluster.kubeconfig())?;
        let mut command = Command::new("containerd");
        command.env_clear().arg("--config").arg(layout.path("containerd.toml"));
        let containerd = cluster.run_beside(&format!("containerd-{number}"), command)?;
        await_that("containerd answers", || layout.ctr(&["version"]).is_success())?;
        layout.import(&ContainerImage {
            name: PAUSE_IMAGE,
            program: &self.programs.join("pause"),
            user: "65535:65535",
        })?;
        let mut command = Command::new(self.programs.join("kubelet"));
        command.env_clear().args(layout.kubelet_flags(&cluster.kubeconfig()));
        let kubelet = cluster.run_beside(&format!("kubelet-{number}"), command)?;
        let ready = ["wait", "--for=condition=Ready", "--timeout=5s", "node", &layout.name()];
        await_that("the node is ready", || cluster.kubectl(&ready, "").is_success())?;
        Ok(WorkerNode { cluster, layout, containerd, kubelet })
    }
}

impl WorkerNode<'_> {
    /// The name of its Node.
    #[must_use]
    pub fn name(&self) -> String {
        self.layout.name()
    }

    /// Makes an image known to its container runtime.
    ///
    /// # Errors
    /// If it cannot be written or read.
    pub fn import_image(&self, image: &ContainerImage<'_>) -> Result<(), ClusterError> {
        self.layout.import(image)
    }

    /// Kills the processes of a container without warning, as the kernel does when memory runs out.
    ///
    /// # Errors
    /// If it does not run here.
    pub fn kill_container(&self, namespace: &str, pod: &str) -> Result<(), ClusterError> {
        let id =
            ["get", "pod", pod, "-n", namespace, "-o", "jsonpath={.status.containerStatuses[0].containerID}"];
        let id = self.cluster.kubectl(&id, "").stdout;
        let id = id.trim_start_matches("containerd://");
        let output = self.layout.ctr(&["task", "kill", "--signal", "KILL", id]);
        if output.is_success() { Ok(()) } else { Err(ClusterError::failed(output.to_string())) }
    }

    /// Fails if its kubelet or container runtime has ended by itself.
    ///
    /// # Errors
    /// With the exit status.
    pub fn check(&mut self) -> Result<(), ClusterError> {
        self.containerd.check().and_then(|()| self.kubelet.check())
    }
}

impl NodeLayout {
    fn ctr(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = Command::new("ctr");
        command.env_clear().envs(kept_environment()).arg("--address").arg(self.path("containerd.sock"));
        command.args(["--namespace", "k8s.io"]).args(arguments);
        run_command(command, &[], IMPORT_TIMEOUT)
    }

    fn import(&self, image: &ContainerImage<'_>) -> Result<(), ClusterError> {
        let archive = image.write_archive(&self.path("images"))?;
        let output = self.ctr(&["images", "import", &archive.display().to_string()]);
        fs::remove_file(&archive).map_err(ClusterError::at("remove", &archive))?;
        if output.is_success() { Ok(()) } else { Err(ClusterError::failed(output.to_string())) }
    }
}

fn write(path: &Path, content: &str) -> Result<(), ClusterError> {
    fs::write(path, content).map_err(ClusterError::at("write", path))
}

fn await_that(what: &str, is_so: impl FnMut() -> bool) -> Result<(), ClusterError> {
    if crate::cluster::poll_until(is_so) {
        return Ok(());
    }
    Err(ClusterError::failed(format!("timed out: {what}")))
}
