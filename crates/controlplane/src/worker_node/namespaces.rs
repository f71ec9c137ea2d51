//! Namespaces of the kernel for a cluster with real nodes, so that nothing of it reaches the machine.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use crate::binaries::{self, CONTROL_PLANE_PROGRAMS, NODE_PROGRAMS};
use crate::{ClusterError, skip};

const NAMESPACES_SCRIPT: &str = include_str!("namespaces.sh");

/// The folder that the script has made for this process.
const FOLDER_VARIABLE: &str = "KUBEWRIGHT_NODE_FOLDER";
/// The name of its control groups.
const GROUP_VARIABLE: &str = "KUBEWRIGHT_NODE_GROUP";
/// The process that others name to enter the namespaces.
const PROCESS_VARIABLE: &str = "KUBEWRIGHT_NODE_PROCESS";
const ADDRESS_VARIABLE: &str = "KUBEWRIGHT_NODE_ADDRESS";

/// The address of the nodes and of the API server.
pub(crate) const NODE_ADDRESS: &str = "192.168.214.1";

/// Programs that Linux distributions have in the packages `containerd`, `runc`, `iptables`, `iproute2` and `util-linux`.
const NEEDED_PROGRAMS: &[&str] =
    &["unshare", "mount", "ip", "iptables", "containerd", "containerd-shim-runc-v2", "ctr", "runc", "tar"];

/// Where distributions have the plugins of `containernetworking-plugins`.
const PLUGIN_FOLDERS: &[&str] = &["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// Where this process may keep what belongs to nodes, and the name of its control groups.
#[derive(Debug, Clone)]
pub(crate) struct NodeNamespaces {
    pub(crate) folder: PathBuf,
    pub(crate) group: String,
}

impl NodeNamespaces {
    /// Those of this process.
    pub(crate) fn current() -> Result<Self, ClusterError> {
        match (env::var_os(FOLDER_VARIABLE), env::var(GROUP_VARIABLE)) {
            (Some(folder), Ok(group)) => Ok(Self { folder: folder.into(), group }),
            _ => Err(ClusterError::failed("a node needs `enter_node_namespaces`".to_owned())),
        }
    }
}

/// Runs this program again in namespaces of its own, where [`WorkerNode`](crate::WorkerNode) can start; it returns in
/// there. To be called at the beginning of `main`, before any thread.
///
/// # Errors
/// `Unavailable` if this machine does not allow it or has not the programs, with what it lacks.
pub fn enter_node_namespaces() -> Result<(), ClusterError> {
    if env::var_os(FOLDER_VARIABLE).is_some() {
        return Ok(());
    }
    check_machine()?;
    // Nothing can be downloaded in a network of its own.
    for names in [CONTROL_PLANE_PROGRAMS, &["helm"], NODE_PROGRAMS] {
        binaries::programs(names)?;
    }
    let this = env::current_exe().map_err(|error| ClusterError::failed(error.to_string()))?;
    let mut command = unshare();
    command.args(["sh", "-c", NAMESPACES_SCRIPT, "namespaces"]).arg(this).args(env::args_os().skip(1));
    // `exec` keeps the process id, which is another one inside.
    command.env(ADDRESS_VARIABLE, NODE_ADDRESS).env(PROCESS_VARIABLE, process::id().to_string());
    let error = command.exec();
    Err(ClusterError::failed(format!("cannot run `unshare`: {error}")))
}

/// The process outside whose namespaces are those of the nodes, for `nsenter --target`; `None` outside.
#[must_use]
pub fn node_namespaces_process() -> Option<String> {
    env::var(PROCESS_VARIABLE).ok()
}

/// The folder of the network plugins.
pub(crate) fn network_plugins() -> Option<&'static Path> {
    PLUGIN_FOLDERS.iter().map(Path::new).find(|folder| folder.join("bridge").is_file())
}

/// Finds out what this machine lacks, before anything is built.
fn check_machine() -> Result<(), ClusterError> {
    let unavailable = |reason: String| Err(ClusterError::Unavailable(format!("no real node: {reason}")));
    if skip::is_off() {
        return unavailable("clusters are switched off".to_owned());
    }
    if let Some(missing) = NEEDED_PROGRAMS.iter().find(|program| !is_installed(program)) {
        return unavailable(format!("`{missing}` is not installed"));
    }
    if network_plugins().is_none() {
        return unavailable("the package containernetworking-plugins is not installed".to_owned());
    }
    for (what, script) in MACHINE_CHECKS {
        let output = unshare().args(["sh", "-ec", script]).stdin(Stdio::null()).output();
        let output =
            output.map_err(|error| ClusterError::failed(format!("cannot run `unshare`: {error}")))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return unavailable(format!(
                "this machine forbids {what} ({})",
                reason.lines().last().unwrap_or("no reason given")
            ));
        }
    }
    Ok(())
}

/// What a node does, each tried in namespaces that are gone afterwards.
const MACHINE_CHECKS: &[(&str, &str)] = &[
    ("namespaces", "true"),
    ("mounts", "mount -t tmpfs tmpfs /mnt"),
    (
        "control groups",
        "for g in /sys/fs/cgroup/memory /sys/fs/cgroup; do [ -e $g/cgroup.procs ] || continue; mkdir $g/kubewright-try && rmdir $g/kubewright-try && exit; done; echo none are mounted >&2; false",
    ),
    (
        "overlayfs",
        "mount -t tmpfs tmpfs /mnt; cd /mnt; mkdir a b c d; mount -t overlay overlay -o lowerdir=a,upperdir=b,workdir=c d",
    ),
    (
        "virtual network devices",
        "ip link add bridge0 type bridge; ip link add veth0 type veth peer name veth1",
    ),
    ("packet filters", "iptables -t nat -A POSTROUTING -j MASQUERADE"),
];

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]);
    command
}

fn is_installed(program: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}
