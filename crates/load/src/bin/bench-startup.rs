//! How long short commands of `kubewright` take from start to exit, beside a program that does nothing.
//!
//! All are started the same way and in turn, so that a busy machine delays each of them alike.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use kubewright_load::{BenchLimits, Latencies};

/// For the median of each command.
const MAX_STARTUP_TIME: Duration = Duration::from_millis(5);

/// Measures how long short commands take.
#[derive(Parser)]
struct StartupArguments {
    /// The binary; the one beside this program if not given
    #[arg(long)]
    binary: Option<PathBuf>,
    /// How often each command is run
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// The policy that is applied
    #[arg(long, default_value_os_t = in_repository("examples/kyverno/pod-security/host-ports/policy.yaml"))]
    policy: PathBuf,
    /// The objects that it is applied to
    #[arg(long, default_value_os_t = in_repository("bench/inputs/pod.json"))]
    object: PathBuf,
}

/// A command, and how long each of its runs took.
struct MeasuredCommand {
    name: &'static str,
    command: Command,
    times: Vec<Duration>,
}

fn main() -> ExitCode {
    match run(&StartupArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-startup: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether every command keeps the limit.
fn run(arguments: &StartupArguments) -> Result<bool, String> {
    let mut commands = measured_commands(arguments)?;
    for _ in 0..arguments.rounds {
        for measured in &mut commands {
            measured.run()?;
        }
    }
    let mut limits = BenchLimits::default();
    println!("| command | p50 ms | p99 ms | × `true` |\n|---|---:|---:|---:|");
    let mut nothing = None;
    for MeasuredCommand { name, times, .. } in commands {
        let times = Latencies::new(times);
        let [median, p99] = [0.5, 0.99].map(|share| times.at(share));
        let base = *nothing.get_or_insert(median);
        let ratio = median.as_secs_f64() / base.as_secs_f64().max(1e-9);
        println!("| `{name}` | {:.2} | {:.2} | {ratio:.1} |", milliseconds(median), milliseconds(p99));
        if name != NOTHING {
            let limit = format!("< {} ms", MAX_STARTUP_TIME.as_millis());
            limits.add(&format!("`{name}`"), &limit, format!("{median:.2?}"), median < MAX_STARTUP_TIME);
        }
    }
    Ok(limits.print())
}

/// The program that does nothing.
const NOTHING: &str = "true";

fn measured_commands(arguments: &StartupArguments) -> Result<Vec<MeasuredCommand>, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = arguments.binary.clone().unwrap_or_else(|| this.with_file_name("kubewright"));
    let ours = |name, words: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(words);
        MeasuredCommand::new(name, command)
    };
    let mut apply = ours("kubewright apply", &["apply", "-p"]);
    apply.command.arg(&arguments.policy).arg("-r").arg(&arguments.object);
    Ok(vec![
        MeasuredCommand::new(NOTHING, Command::new(NOTHING)),
        ours("kubewright --version", &["--version"]),
        ours("kubewright --help", &["--help"]),
        apply,
    ])
}

impl MeasuredCommand {
    fn new(name: &'static str, mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { name, command, times: Vec::new() }
    }

    fn run(&mut self) -> Result<(), String> {
        let start = Instant::now();
        let status = self.command.status().map_err(|error| format!("{}: {error}", self.name))?;
        self.times.push(start.elapsed());
        if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", self.name)) }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
