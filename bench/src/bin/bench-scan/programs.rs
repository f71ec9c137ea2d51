//! The scanner as a process beside the control plane, and what it says of itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kubewright_controlplane::{ClusterProgram, TestCluster};
use kubewright_load::ProcessUsage;

/// How long an answer about its metrics may take.
const METRICS_TIMEOUT: Duration = Duration::from_secs(5);

/// The binary that is measured.
pub(crate) struct ScanProgram {
    pub(crate) binary: PathBuf,
    pub(crate) profile: String,
}

/// A scanner that runs.
pub(crate) struct RunningScanner<'c> {
    program: ClusterProgram<'c>,
    health: SocketAddr,
    pub(crate) started: Instant,
}

impl ScanProgram {
    /// Builds it beside this program, with its profile.
    pub(crate) fn build() -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let folder = this.parent().unwrap_or(Path::new(".")).to_owned();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let profile = if name == "debug" { "dev".to_owned() } else { name };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args([
                "build",
                "--quiet",
                "--locked",
                "--profile",
                &profile,
                "-p",
                "kubewright",
                "--bin",
                "kubewright",
            ])
            .arg("--target-dir")
            .arg(folder.parent().unwrap_or(&folder))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err("kubewright cannot be built".to_owned());
        }
        Ok(Self { binary: folder.join("kubewright"), profile })
    }

    /// Starts `kubewright scan --serve` with the rights of the administrator.
    pub(crate) fn start<'c>(
        &self,
        cluster: &'c TestCluster,
        name: &str,
    ) -> Result<RunningScanner<'c>, String> {
        let health = cluster.reserve_address();
        let mut command = Command::new(&self.binary);
        command.env_clear().args(["scan", "--serve", "--reports", "openreports"]);
        command.args(["--lease-namespace", "default", "--health-address", &health.to_string()]);
        command.arg("--kubeconfig").arg(cluster.kubeconfig());
        let started = Instant::now();
        let program = cluster.run_beside(name, command).map_err(|error| error.to_string())?;
        Ok(RunningScanner { program, health, started })
    }

    /// The standard output of a command of the binary that needs no cluster.
    pub(crate) fn output(&self, arguments: &[&str]) -> Result<String, String> {
        let output =
            Command::new(&self.binary).args(arguments).output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!("kubewright {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
    }
}

impl RunningScanner<'_> {
    /// What it has used so far.
    pub(crate) fn usage(&self) -> ProcessUsage {
        self.program.id().map_or_else(ProcessUsage::default, ProcessUsage::of)
    }

    /// The sum of all series of a metric whose labels contain `label`. Fails if it has ended.
    pub(crate) fn metric(&mut self, name: &str, label: &str) -> Result<f64, String> {
        self.program.check().map_err(|error| format!("{error}\n{}", last_lines(&self.program.log())))?;
        let Some(metrics) = read_metrics(self.health) else { return Ok(0.0) };
        let series = metrics.lines().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let labels = series.strip_prefix(name)?;
            let is_wanted = (labels.is_empty() || labels.starts_with('{')) && labels.contains(label);
            is_wanted.then_some(value)
        });
        Ok(series.filter_map(|value| value.parse::<f64>().ok()).sum())
    }

    /// Whether it has judged every object once.
    pub(crate) fn has_passed(&mut self) -> Result<bool, String> {
        Ok(self.metric("kubewright_scan_last_pass_timestamp_seconds", "")? > 0.0)
    }

    /// How many reports it has created, replaced and deleted.
    pub(crate) fn writes(&mut self) -> Result<f64, String> {
        self.metric("kubewright_report_writes_total", "")
    }

    /// Waits until it has written nothing for `quiet`.
    pub(crate) async fn settle(&mut self, quiet: Duration, limit: Duration) -> Result<(), String> {
        let start = Instant::now();
        let (mut last, mut since) = (self.writes()?, Instant::now());
        while since.elapsed() < quiet {
            if start.elapsed() > limit {
                return Err(format!("reports are still written after {} s", limit.as_secs()));
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
            let now = self.writes()?;
            if now > last {
                (last, since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    pub(crate) fn stop(mut self) {
        self.program.stop();
    }
}

/// A plain HTTP request: nothing of the answer is needed but its text.
fn read_metrics(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, METRICS_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(METRICS_TIMEOUT)).ok()?;
    stream
        .write_all(
            b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
        )
        .ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n")
}
