//! The files that the programs of a node read.

use std::fs;
use std::path::{Path, PathBuf};

use super::namespaces::{NODE_ADDRESS, NodeNamespaces, network_plugins};
use super::{PAUSE_IMAGE, write};
use crate::ClusterError;

/// The addresses of Pods, of all nodes together: they share a bridge.
const POD_ADDRESSES: &str = "10.244.0.0/16";

/// Where the files of one node are.
pub(super) struct NodeLayout {
    folder: PathBuf,
    number: u8,
    group: String,
}

impl NodeLayout {
    pub(super) fn new(namespaces: &NodeNamespaces, number: u8) -> Self {
        let folder = namespaces.folder.join(format!("node-{number}"));
        Self { folder, number, group: namespaces.group.clone() }
    }

    pub(super) fn name(&self) -> String {
        format!("node-{}", self.number)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes everything that containerd and the kubelet read.
    pub(super) fn write(&self, kubeconfig: &Path) -> Result<(), ClusterError> {
        for part in ["images", "network", "kubelet", "logs", "plugins", "manifests"] {
            let part = self.path(part);
            fs::create_dir_all(&part).map_err(ClusterError::at("make", &part))?;
        }
        self.make_control_groups()?;
        write(&self.path("containerd.toml"), &self.containerd())?;
        write(&self.path("network/10-bridge.conflist"), NETWORK)?;
        write(&self.path("resolv.conf"), "nameserver 127.0.0.1\n")?;
        write(&self.path("kubelet.yaml"), &self.kubelet())?;
        fs::copy(kubeconfig, self.path("kubeconfig")).map_err(ClusterError::at("copy", kubeconfig))?;
        Ok(())
    }

    /// One for each kubelet: it ends processes of Pods that it does not know.
    fn make_control_groups(&self) -> Result<(), ClusterError> {
        let mounted = Path::new("/sys/fs/cgroup");
        let entries = fs::read_dir(mounted).map_err(ClusterError::at("read", mounted))?;
        let controllers = entries.flatten().map(|entry| entry.path()).chain([mounted.to_owned()]);
        for group in controllers.map(|controller| controller.join(&self.group)).filter(|group| group.is_dir())
        {
            let own = group.join(self.name());
            fs::create_dir_all(&own).map_err(ClusterError::at("make", &own))?;
        }
        Ok(())
    }

    pub(super) fn kubelet_flags(&self, kubeconfig: &Path) -> Vec<String> {
        vec![
            format!("--config={}", self.path("kubelet.yaml").display()),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--root-dir={}", self.path("kubelet").display()),
            format!("--hostname-override={}", self.name()),
            format!("--node-ip={NODE_ADDRESS}"),
        ]
    }

    /// Without `restrict_oom_score_adj` a process that lacks CAP_SYS_RESOURCE cannot start a container.
    fn containerd(&self) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        let plugins = network_plugins().unwrap_or(Path::new("/opt/cni/bin")).display();
        format!(
            r#"version = 2
root = "{root}"
state = "{state}"

[grpc]
address = "{socket}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{network}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
"#,
            root = path("containerd"),
            state = path("containerd-state"),
            socket = path("containerd.sock"),
            network = path("network"),
        )
    }

    /// Only processes of these namespaces reach the kubelet, so that clients need no credentials.
    fn kubelet(&self) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        format!(
            r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {NODE_ADDRESS}
port: {port}
healthzPort: 0
authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
containerRuntimeEndpoint: unix://{socket}
cgroupDriver: cgroupfs
cgroupRoot: /{group}/{name}
failCgroupV1: false
failSwapOn: false
resolvConf: {resolv}
podLogsDir: {logs}
volumePluginDir: {plugins}
staticPodPath: {manifests}
# Tests need no room on the disk, and a machine that is nearly full is to run them.
evictionHard: {{memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}}
nodeStatusUpdateFrequency: 2s
syncFrequency: 10s
"#,
            port = 10_250 + u16::from(self.number),
            socket = path("containerd.sock"),
            group = self.group,
            name = self.name(),
            resolv = path("resolv.conf"),
            logs = path("logs"),
            plugins = path("plugins"),
            manifests = path("manifests"),
        )
    }
}

/// A bridge for all Pods of the namespace.
const NETWORK: &str = r#"{"cniVersion":"0.4.0","name":"pods","plugins":[
  {"type":"bridge","bridge":"pods0","isGateway":true,"ipMasq":true,"hairpinMode":true,"ipam":{"type":"host-local","subnet":"10.244.0.0/16","routes":[{"dst":"0.0.0.0/0"}]}},
  {"type":"loopback"}
]}
"#;

/// Limits of connections are those of the machine; a namespace cannot change them.
pub(super) fn kube_proxy(kubeconfig: &Path) -> String {
    format!(
        r#"apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: {POD_ADDRESSES}
clientConnection: {{kubeconfig: {}}}
conntrack: {{maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}}
healthzBindAddress: ""
metricsBindAddress: 127.0.0.1:10249
"#,
        kubeconfig.display()
    )
}
