//! What the policies would change about a live cluster: `kubewright impact RULES -r cluster:`.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kubewright_bench::clock::median;
use kubewright_load::BenchLimits;
use tokio::runtime::Runtime;

use crate::arguments::ScanBenchArguments;
use crate::cluster::{apply, start_control_plane};
use crate::fleet::Fleet;
use crate::objects::{ApplicationTemplate, application_count};
use crate::policies::{POLICY_SETTINGS, policy_count, policy_files, policy_stream};
use crate::programs::ScanProgram;

const MAX_IMPACT_TIME: Duration = Duration::from_secs(10);
/// The objects for which the limit is promised.
const PROMISED_OBJECTS: usize = 20_000;
const RUNS: usize = 3;

pub(crate) fn measure_impact(
    arguments: &ScanBenchArguments,
    runtime: &Runtime,
    program: &ScanProgram,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let cluster = start_control_plane()?;
    apply(&cluster, POLICY_SETTINGS)?;
    let applications = application_count(PROMISED_OBJECTS, &ApplicationTemplate::read()?);
    let objects = runtime.block_on(Fleet::new(&cluster)?.write(applications, arguments.under_way))?;
    let (policies, files) = (policy_count(&policy_stream()?), policy_files()?);
    println!("\n## impact of {policies} policies on {objects} objects of a control plane\n");
    let command = |rules: &[PathBuf]| {
        let mut command = Command::new(&program.binary);
        command.env_clear().arg("impact").args(rules).args(["-r", "cluster:", "--no-project"]);
        command.arg("--kubeconfig").arg(cluster.kubeconfig()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let (mut times, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        times.push(timed(command(&files))?);
        // A single policy reads the same cluster.
        floors.push(timed(command(files.get(..1).unwrap_or_default()))?);
    }
    let (time, floor) = (median(&mut times), median(&mut floors));
    println!("All policies: {:.2} s; one of them: {:.2} s.", time.as_secs_f64(), floor.as_secs_f64());
    let seen = format!("{:.2} s", time.as_secs_f64());
    limits.add("`impact` on 20,000 live objects", "≤ 10 s", seen, time <= MAX_IMPACT_TIME);
    Ok(())
}

fn timed(mut command: Command) -> Result<Duration, String> {
    let start = Instant::now();
    let status = command.status().map_err(|error| error.to_string())?;
    match status.code() {
        // Objects would be refused.
        Some(0 | 1) => Ok(start.elapsed()),
        _ => Err(format!("kubewright impact: {status}")),
    }
}
