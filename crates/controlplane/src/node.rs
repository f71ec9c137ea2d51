//! Nodes that exist only as objects: ready, with room, and without a kubelet.

/// The manifest of a node to which the scheduler binds pods.
///
/// It is made with its status, as a kubelet would make it. Its heartbeat needs no renewal, because the
/// controller manager is started with a grace period that no test outlives.
pub(crate) fn node_manifest(name: &str, labels: &[(&str, &str)]) -> String {
    let labels: String = labels.iter().map(|(key, value)| format!("    {key}: {value:?}\n")).collect();
    format!(
        r#"apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    kubernetes.io/hostname: {name}
    kubernetes.io/os: linux
    kubernetes.io/arch: amd64
{labels}status:
  capacity: &room {{cpu: "64", memory: 256Gi, pods: "1000", ephemeral-storage: 1Ti}}
  allocatable: *room
  conditions:
  - {{type: Ready, status: "True", reason: KubeletReady, message: "this node is an object only"}}
  - {{type: MemoryPressure, status: "False", reason: KubeletHasSufficientMemory}}
  - {{type: DiskPressure, status: "False", reason: KubeletHasNoDiskPressure}}
  - {{type: PIDPressure, status: "False", reason: KubeletHasSufficientPID}}
  addresses:
  - {{type: InternalIP, address: 10.0.0.1}}
  - {{type: Hostname, address: {name}}}
  nodeInfo: {{kubeletVersion: v1.36.3, osImage: none, architecture: amd64, operatingSystem: linux,
    bootID: "", containerRuntimeVersion: "", kernelVersion: "", kubeProxyVersion: "", machineID: "", systemUUID: ""}}
"#
    )
}
