//! The forty policies: examples of this repository, and two that the measurements change.

use std::fs;
use std::path::{Path, PathBuf};

/// The examples of Pod Security Standards, one policy each.
const POD_SECURITY_FOLDER: &str = "examples/kyverno/pod-security";

/// Further examples, all with `background: true`.
const EXAMPLES: &[&str] = &[
    "allowed-registries",
    "audit-then-enforce",
    "autoscaler-bounds",
    "cel-container-limits",
    "fixed-image-tags",
    "image-versions",
    "ingress-tls",
    "labels-from-list",
    "limits-ratio",
    "no-default-namespace",
    "pod-security-profile",
    "probes",
    "production-replicas",
    "rbac-wildcards",
    "read-only-root",
    "registries-from-configmap",
    "replica-ceiling",
    "requests-and-limits",
    "require-labels",
    "service-exposure",
];

/// The ConfigMaps that `registries-from-configmap` and `replica-ceiling` read.
pub(crate) const POLICY_SETTINGS: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: platform, labels: {shop.example/team: team-platform, shop.example/cost-centre: '1'}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: allowed-registries, namespace: platform}, data: {hosts: '[registry.shop.example, ghcr.io]'}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: replica-ceilings, namespace: platform}, data: {team-0000: '10'}}
";

/// The files of the policies.
pub(crate) fn policy_files() -> Result<Vec<PathBuf>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let pod_security = root.join(POD_SECURITY_FOLDER);
    let entries =
        fs::read_dir(&pod_security).map_err(|error| format!("{}: {error}", pod_security.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path().join("policy.yaml"))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files.extend(EXAMPLES.iter().map(|name| root.join("examples/kyverno").join(name).join("policy.yaml")));
    files.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/scan/policies.yaml"));
    Ok(files)
}

/// All policies as one YAML stream.
pub(crate) fn policy_stream() -> Result<String, String> {
    let mut stream = String::new();
    for file in policy_files()? {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        stream.push_str("---\n");
        stream.push_str(&text);
        stream.push('\n');
    }
    Ok(stream)
}

/// How many policies a stream has.
pub(crate) fn policy_count(stream: &str) -> usize {
    stream.lines().filter(|line| *line == "kind: ClusterPolicy").count()
}
