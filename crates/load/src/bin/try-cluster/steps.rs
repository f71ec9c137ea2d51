//! What a trial cluster gets, one after the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::{ClusterProgram, TestCluster};

/// The definitions of reports, which other programs may have installed in a real cluster.
const REPORT_DEFINITIONS: &str =
    include_str!("../../../../report/src/cluster_report/definitions/openreports.yaml");

/// Examples of rules that the shop meets or breaks.
const TRIAL_RULES: &[&str] = &[
    "kyverno/require-labels/policy.yaml",
    "kyverno/fixed-image-tags/policy.yaml",
    "kyverno/allowed-registries/policy.yaml",
    "kyverno/requests-and-limits/policy.yaml",
    "kyverno/pod-security/privileged-containers/policy.yaml",
    "kyverno/secrets-in-environment/policy.yaml",
    "kyverno/service-exposure/policy.yaml",
    "kyverno/rbac-wildcards/policy.yaml",
    "kyverno/ingress-tls/policy.yaml",
    "kyverno/production-replicas/policy.yaml",
];

/// Where the scanner has its Lease, as `kubewright install` would create it.
const SCANNER_NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: kubewright-system}}";

/// How long the reports may take.
const REPORTS_TIMEOUT: Duration = Duration::from_secs(90);
/// When their number has not changed for so long, they are complete.
const REPORTS_QUIET_TIME: Duration = Duration::from_secs(4);

/// The binary that is tried.
pub(crate) struct TrialPrograms {
    pub(crate) kubewright: PathBuf,
}

impl TrialPrograms {
    /// `kubewright` from the folder of this program, where `make` has built both.
    pub(crate) fn beside_this_program() -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let kubewright = this.with_file_name("kubewright");
        if kubewright.is_file() {
            return Ok(Self { kubewright });
        }
        Err(format!("no `{}`: use `make try-cluster`, which builds it", kubewright.display()))
    }

    /// Starts the scanner with the rights of the administrator.
    pub(crate) fn start_scanner<'c>(&self, cluster: &'c TestCluster) -> Result<ClusterProgram<'c>, String> {
        let mut command = Command::new(&self.kubewright);
        command.env_clear().args([
            "scan",
            "--serve",
            "--built-in-patterns",
            "--health-address",
            &cluster.reserve_address().to_string(),
        ]);
        command.arg("--kubeconfig").arg(cluster.kubeconfig());
        cluster.run_beside("kubewright-scan", command).map_err(|error| error.to_string())
    }
}

/// Installs the definitions of rules and reports, and waits until they can be used.
pub(crate) fn install_definitions(cluster: &TestCluster, programs: &TrialPrograms) -> Result<(), String> {
    let output = Command::new(&programs.kubewright).args(["install", "--crds"]).output();
    let output = output.map_err(|error| format!("{}: {error}", programs.kubewright.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    apply_manifests(cluster, &String::from_utf8_lossy(&output.stdout))?;
    apply_manifests(cluster, REPORT_DEFINITIONS)?;
    apply_manifests(cluster, SCANNER_NAMESPACE)?;
    cluster.await_definitions().map_err(|error| error.to_string())
}

/// The rules as one YAML stream.
pub(crate) fn trial_rules() -> Result<String, String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut stream = String::new();
    for rule in TRIAL_RULES {
        let path = examples.join(rule);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        stream.push_str("---\n");
        stream.push_str(&text);
        stream.push('\n');
    }
    Ok(stream)
}

pub(crate) fn apply_manifests(cluster: &TestCluster, manifests: &str) -> Result<(), String> {
    // Not a plain `apply`: the annotation that it adds would be too large for some definitions.
    let output = cluster.kubectl(&["apply", "--server-side", "-f", "-"], manifests);
    if output.is_success() { Ok(()) } else { Err(output.to_string()) }
}

/// Waits until there are reports about the shop and no more are added.
pub(crate) fn await_reports(cluster: &TestCluster, scanner: &mut ClusterProgram<'_>) -> Result<(), String> {
    let count = || {
        let names = cluster.kubectl(&["get", "reports", "-n", "shop", "-o", "name"], "");
        names.stdout.lines().count()
    };
    let (start, mut since, mut last) = (Instant::now(), Instant::now(), 0);
    while last == 0 || since.elapsed() < REPORTS_QUIET_TIME {
        scanner.check().map_err(|error| format!("{error}\n{}", scanner.log()))?;
        if start.elapsed() > REPORTS_TIMEOUT {
            return Err(format!("no reports after {} s\n{}", REPORTS_TIMEOUT.as_secs(), scanner.log()));
        }
        thread::sleep(Duration::from_millis(300));
        let now = count();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(())
}
