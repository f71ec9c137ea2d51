//! The controller beside a real control plane: the first pass, changes, and what is stored.

use std::time::{Duration, Instant};

use kubewright_controlplane::{ControlPlaneComponent, TestCluster};
use kubewright_load::BenchLimits;
use kubewright_report::cluster_report::ReportApi;
use tokio::runtime::Runtime;

use crate::arguments::ScanBenchArguments;
use crate::changes::{measure_changed_rule, measure_exclusion};
use crate::churn::measure_churn;
use crate::fleet::Fleet;
use crate::objects::{ApplicationTemplate, application_count};
use crate::policies::{POLICY_SETTINGS, policy_count, policy_stream};
use crate::programs::{RunningScanner, ScanProgram};

const MAX_PASS_TIME: Duration = Duration::from_secs(60);
const MAX_MEMORY_BYTES: u64 = 256 << 20;
/// How long the scanner may take for a pass before the measurement is given up.
const PASS_TIMEOUT: Duration = Duration::from_secs(600);
/// The objects for which the limits are promised.
const PROMISED_OBJECTS: usize = 100_000;

pub(crate) fn measure_cluster(
    arguments: &ScanBenchArguments,
    runtime: &Runtime,
    program: &ScanProgram,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let cluster = start_control_plane()?;
    let policies = install_policies(&cluster, program)?;
    let applications = application_count(arguments.objects, &ApplicationTemplate::read()?);
    let fleet = Fleet::new(&cluster)?;
    let start = Instant::now();
    let objects = runtime.block_on(fleet.write(applications, arguments.under_way))?;
    let seconds = start.elapsed().as_secs_f64();
    println!("\n## {objects} objects, {policies} policies, on a control plane\n");
    println!("Written in {seconds:.0} s, {:.0} objects a second.\n", objects as f64 / seconds);

    let mut scanner = program.start(&cluster, "scanner")?;
    runtime.block_on(first_pass(&mut scanner, objects, limits))?;
    runtime.block_on(scanner.settle(Duration::from_secs(5), PASS_TIMEOUT))?;
    check_judged(&mut scanner, objects, limits)?;
    runtime.block_on(measure_churn(arguments, &fleet, &mut scanner, applications, limits))?;
    runtime.block_on(scanner.settle(Duration::from_secs(3), PASS_TIMEOUT))?;
    runtime.block_on(measure_changed_rule(&fleet, applications, limits))?;
    runtime.block_on(scanner.settle(Duration::from_secs(3), PASS_TIMEOUT))?;
    runtime.block_on(measure_exclusion(&fleet, applications, limits))?;

    let peak = scanner.usage().peak;
    limits.add(
        "memory of the scanner, at most",
        "≤ 256 MiB",
        format!("{:.0} MiB", peak as f64 / f64::from(1 << 20)),
        peak <= MAX_MEMORY_BYTES,
    );
    scanner.stop();
    runtime.block_on(second_start(program.start(&cluster, "scanner-again")?, limits))?;
    runtime.block_on(print_stored(&fleet))
}

/// Only etcd and the API server, so that nothing else competes for the CPU and the objects stay as they are written.
pub(crate) fn start_control_plane() -> Result<TestCluster, String> {
    TestCluster::builder()
        .api_server_only()
        .flag(ControlPlaneComponent::Etcd, "--quota-backend-bytes=8589934592")
        .flag(ControlPlaneComponent::ApiServer, "--max-mutating-requests-inflight=1000")
        .flag(ControlPlaneComponent::ApiServer, "--allow-privileged=true")
        .try_start()
        .map_err(|error| error.to_string())
}

/// Installs the definitions and the policies, and returns how many policies they are.
pub(crate) fn install_policies(cluster: &TestCluster, program: &ScanProgram) -> Result<usize, String> {
    let definitions = program.output(&["install", "--crds"])?;
    let policies = policy_stream()?;
    let established = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
    apply(cluster, &definitions)?;
    apply(cluster, ReportApi::OpenReports.definitions())?;
    let waited = cluster.kubectl(&established, "");
    if !waited.is_success() {
        return Err(waited.to_string());
    }
    apply(cluster, POLICY_SETTINGS)?;
    apply(cluster, &policies)?;
    Ok(policy_count(&policies))
}

pub(crate) fn apply(cluster: &TestCluster, manifests: &str) -> Result<(), String> {
    // Not a plain `apply`: the annotation that it adds would be too large for some definitions.
    let output = cluster.kubectl(&["apply", "--server-side", "--force-conflicts", "-f", "-"], manifests);
    if output.is_success() { Ok(()) } else { Err(output.to_string()) }
}

async fn first_pass(
    scanner: &mut RunningScanner<'_>,
    objects: usize,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    while !scanner.has_passed()? {
        if scanner.started.elapsed() > PASS_TIMEOUT {
            return Err(format!("no pass in {} s", PASS_TIMEOUT.as_secs()));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (took, usage) = (scanner.started.elapsed(), scanner.usage());
    println!("| first pass | seconds | CPU s | memory MiB |\n|---|---:|---:|---:|");
    println!(
        "| | {:.1} | {:.1} | {:.0} |",
        took.as_secs_f64(),
        usage.cpu.as_secs_f64(),
        usage.peak as f64 / f64::from(1 << 20)
    );
    let what = format!("first pass over {objects} objects, from the start of the process");
    limits.add(&what, "≤ 60 s", format!("{:.1} s", took.as_secs_f64()), took <= MAX_PASS_TIME);
    if objects < PROMISED_OBJECTS {
        println!("\nThe limits are promised for {PROMISED_OBJECTS} objects.");
    }
    Ok(())
}

/// Every object that was written is about some policy, so the scanner must have judged it.
fn check_judged(
    scanner: &mut RunningScanner<'_>,
    objects: usize,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let judged = scanner.metric("kubewright_scan_objects", "judged")?;
    let waiting = scanner.metric("kubewright_scan_objects", "waiting")?;
    println!("\nAfter that: {judged:.0} objects judged, {waiting:.0} waiting.");
    let seen = format!("{judged:.0} judged, {waiting:.0} waiting");
    limits.add(
        &format!("objects that are judged, of {objects}"),
        "all",
        seen,
        judged >= objects as f64 && waiting == 0.0,
    );
    Ok(())
}

/// Nothing has changed, so nothing may be written.
async fn second_start(mut scanner: RunningScanner<'_>, limits: &mut BenchLimits) -> Result<(), String> {
    while !scanner.has_passed()? {
        if scanner.started.elapsed() > PASS_TIMEOUT {
            return Err(format!("no second pass in {} s", PASS_TIMEOUT.as_secs()));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let took = scanner.started.elapsed();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let writes = scanner.writes()?;
    println!("\nSecond start: a pass in {:.1} s, {writes:.0} writes.", took.as_secs_f64());
    limits.add("writes after a second start without a change", "0", format!("{writes:.0}"), writes == 0.0);
    scanner.stop();
    Ok(())
}

async fn print_stored(fleet: &Fleet) -> Result<(), String> {
    let reports = fleet.stored_bytes("/apis/openreports.io/v1alpha1/reports").await?;
    let cluster_reports = fleet.stored_bytes("/apis/openreports.io/v1alpha1/clusterreports").await?;
    println!(
        "\nStored reports: {} with {} bytes, and {} cluster reports with {} bytes.",
        reports.objects, reports.bytes, cluster_reports.objects, cluster_reports.bytes
    );
    Ok(())
}
