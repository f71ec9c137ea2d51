//! Kyverno's reports controller beside the control plane: the real one, as its release is built.
//!
//! Only this controller runs, without Kyverno's webhook: policies are stored as they are written, and the controller
//! scans, writes its reports and cleans them up.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::go_module::DEFINITIONS_FILE;
use crate::port::LoopbackPort;
use crate::{ClusterError, ClusterProgram, TestCluster, binaries, skip};

const REPORTS_CONTROLLER: &str = "reports-controller";
const KYVERNO_NAMESPACE: &str = "kyverno";

/// Which report API it writes, and how often it scans.
#[derive(Debug, Clone, Copy)]
pub struct KyvernoReportsController {
    /// Whether it writes `openreports.io` instead of `wgpolicyk8s.io`.
    pub is_openreports: bool,
    /// Its `--backgroundScanInterval`.
    pub scan_interval: Duration,
}

impl KyvernoReportsController {
    /// Starts it, for a test: `None` if this machine cannot, which is announced as skipped. Its definitions must have
    /// been installed by [`install_kyverno_definitions`].
    ///
    /// # Panics
    /// If it should have started and did not.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn start(self, cluster: &TestCluster) -> Option<ClusterProgram<'_>> {
        match self.try_start(cluster) {
            Ok(program) => Some(program),
            Err(ClusterError::Unavailable(reason)) if !skip::is_required() => {
                skip::announce_skip(&reason);
                None
            }
            Err(error) => panic!("no Kyverno: {error}"),
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// `Unavailable` if this machine does not have the program and cannot build it, `Failed` if it did not start.
    pub fn try_start(self, cluster: &TestCluster) -> Result<ClusterProgram<'_>, ClusterError> {
        let programs = binaries::programs(&[REPORTS_CONTROLLER])?;
        create_kyverno_settings(cluster)?;
        let mut command = Command::new(programs.join(REPORTS_CONTROLLER));
        let port = LoopbackPort::reserve()?;
        command.env_clear().args(self.flags(cluster, port.number));
        for (name, value) in [
            ("KYVERNO_NAMESPACE", KYVERNO_NAMESPACE),
            ("KYVERNO_SERVICEACCOUNT_NAME", "kyverno-reports-controller"),
            ("KYVERNO_DEPLOYMENT", "kyverno-reports-controller"),
            ("KYVERNO_POD_NAME", "kyverno-reports-controller-0"),
            ("INIT_CONFIG", "kyverno"),
            ("METRICS_CONFIG", "kyverno-metrics"),
        ] {
            command.env(name, value);
        }
        let mut program = cluster.run_beside("kyverno-reports-controller", command)?;
        program.port = Some(port);
        Ok(program)
    }

    fn flags(self, cluster: &TestCluster, port: u16) -> Vec<String> {
        vec![
            format!("--kubeconfig={}", cluster.kubeconfig().display()),
            format!("--openreportsEnabled={}", self.is_openreports),
            format!("--backgroundScanInterval={}s", self.scan_interval.as_secs()),
            "--metricsHost=127.0.0.1".to_owned(),
            format!("--metricsPort={port}"),
            "--disableLogColor=true".to_owned(),
            "--enablePolicyException=true".to_owned(),
            "--exceptionNamespace=*".to_owned(),
            // It has no Secrets to read for images, and no policy verifies any.
            "--imageVerifyCacheEnabled=false".to_owned(),
        ]
    }
}

/// Installs the definitions of Kyverno's and both groups' reports, as they are packaged with its release.
///
/// # Errors
/// `Unavailable` if this machine does not have them and cannot download them, `Failed` if the API server refuses them.
pub fn install_kyverno_definitions(cluster: &TestCluster) -> Result<(), ClusterError> {
    let folder = binaries::programs(&[REPORTS_CONTROLLER, DEFINITIONS_FILE])?;
    let path = folder.join(DEFINITIONS_FILE);
    let definitions = fs::read_to_string(&path).map_err(ClusterError::at("read", &path))?;
    // Not a plain `apply`: the annotation that it adds would be too large for some of them.
    let applied = cluster.kubectl(&["apply", "--server-side", "-f", "-"], &definitions);
    if !applied.is_success() {
        return Err(ClusterError::failed(applied.to_string()));
    }
    cluster.await_definitions()
}

/// Its namespace and the two ConfigMaps that its chart would make; an empty one leaves every default.
fn create_kyverno_settings(cluster: &TestCluster) -> Result<(), ClusterError> {
    let manifests = format!(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {KYVERNO_NAMESPACE}}}}}\n\
         ---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: kyverno, namespace: {KYVERNO_NAMESPACE}}}}}\n\
         ---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: kyverno-metrics, namespace: {KYVERNO_NAMESPACE}}}}}\n"
    );
    let output = cluster.kubectl(&["apply", "-f", "-"], &manifests);
    if output.is_success() { Ok(()) } else { Err(ClusterError::failed(output.to_string())) }
}
