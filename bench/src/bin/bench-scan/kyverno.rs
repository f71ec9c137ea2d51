//! The bytes of our reports beside those of Kyverno's reports controller, in the same cluster with the same policies.

use std::time::{Duration, Instant};

use kubewright_controlplane::{
    ClusterError, KyvernoReportsController, TestCluster, install_kyverno_definitions,
};
use tokio::runtime::Runtime;

use crate::arguments::ScanBenchArguments;
use crate::cluster::{apply, start_control_plane};
use crate::fleet::{Fleet, StoredBytes};
use crate::objects::{ApplicationTemplate, application_count};
use crate::policies::{POLICY_SETTINGS, policy_stream};
use crate::programs::ScanProgram;

/// When its reports have not changed for so long, Kyverno has written them all: it waits 30 s after a change, and 10 s
/// before it merges.
const KYVERNO_QUIET_TIME: Duration = Duration::from_secs(45);
const KYVERNO_TIMEOUT: Duration = Duration::from_secs(900);

/// What both have stored of one cluster.
struct ReportBytes {
    ours: StoredBytes,
    theirs: StoredBytes,
    /// The reports that Kyverno merges, the most that were seen at once.
    ephemeral: StoredBytes,
}

pub(crate) fn measure_kyverno(
    arguments: &ScanBenchArguments,
    runtime: &Runtime,
    program: &ScanProgram,
) -> Result<(), String> {
    let cluster = start_control_plane()?;
    match install_kyverno_definitions(&cluster) {
        Err(ClusterError::Unavailable(reason)) => {
            println!("\nKyverno's reports were not measured: {reason}");
            return Ok(());
        }
        other => other.map_err(|error| error.to_string())?,
    }
    apply(&cluster, POLICY_SETTINGS)?;
    apply(&cluster, &policy_stream()?)?;
    let applications = application_count(arguments.kyverno_objects, &ApplicationTemplate::read()?);
    let fleet = Fleet::new(&cluster)?;
    let objects = runtime.block_on(fleet.write(applications, arguments.under_way))?;
    let stored = runtime.block_on(run_both(&cluster, &fleet, program))?;

    println!(
        "\n## Reports of {objects} objects in etcd\n\n| | reports | bytes | bytes an object |\n|---|---:|---:|---:|"
    );
    let each = |stored: StoredBytes| stored.bytes as f64 / objects as f64;
    for (name, stored) in [
        ("kubewright, `openreports.io`", stored.ours),
        ("Kyverno 1.19.1, `wgpolicyk8s.io`", stored.theirs),
        ("Kyverno 1.19.1, EphemeralReports at once", stored.ephemeral),
    ] {
        println!("| {name} | {} | {} | {:.1} |", stored.objects, stored.bytes, each(stored));
    }
    let ratio = stored.theirs.bytes as f64 / stored.ours.bytes.max(1) as f64;
    let scaled = |stored: StoredBytes| each(stored) * arguments.objects as f64 / 1e6;
    println!(
        "\nKyverno's reports have {ratio:.0} times the bytes. Scaled to {} objects: {:.1} MB and {:.1} MB.",
        arguments.objects,
        scaled(stored.theirs),
        scaled(stored.ours)
    );
    Ok(())
}

async fn run_both(
    cluster: &TestCluster,
    fleet: &Fleet,
    program: &ScanProgram,
) -> Result<ReportBytes, String> {
    let controller =
        KyvernoReportsController { is_openreports: false, scan_interval: Duration::from_secs(3_600) };
    let mut kyverno = controller.try_start(cluster).map_err(|error| error.to_string())?;
    let (start, mut since) = (Instant::now(), Instant::now());
    let (mut theirs, mut ephemeral) = (StoredBytes::default(), StoredBytes::default());
    while theirs.objects == 0 || since.elapsed() < KYVERNO_QUIET_TIME {
        if start.elapsed() > KYVERNO_TIMEOUT {
            return Err(format!("Kyverno still writes reports after {} s", KYVERNO_TIMEOUT.as_secs()));
        }
        kyverno.check().map_err(|error| error.to_string())?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let now = fleet.stored_bytes("/apis/wgpolicyk8s.io/v1alpha2/policyreports").await?;
        let waiting = fleet.stored_bytes("/apis/reports.kyverno.io/v1/ephemeralreports").await?;
        if now.bytes != theirs.bytes || waiting.objects > 0 {
            since = Instant::now();
        }
        theirs = now;
        if waiting.bytes > ephemeral.bytes {
            ephemeral = waiting;
        }
    }
    println!("\nKyverno's reports were complete after {:.0} s.", (since - start).as_secs_f64());
    kyverno.stop();
    let mut scanner = program.start(cluster, "scanner")?;
    while !scanner.has_passed()? {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    scanner.settle(Duration::from_secs(5), KYVERNO_TIMEOUT).await?;
    scanner.stop();
    let ours = fleet.stored_bytes("/apis/openreports.io/v1alpha1/reports").await?;
    Ok(ReportBytes { ours, theirs, ephemeral })
}
