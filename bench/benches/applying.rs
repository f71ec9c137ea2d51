//! `kubewright apply` on 20,000 Deployments in one file, as a ratio to reading that file alone.
//!
//! `cargo bench -p kubewright-bench --bench applying` builds the binary and prints a Markdown table of CPU time over all
//! cores and of the most memory that was held.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use kubewright_bench::clock::{Subject, medians};
use kubewright_bench::{rules, texts};
use kubewright_value::yaml;

const OBJECTS: usize = 20_000;
const ROUNDS: usize = 5;

fn main() {
    let folder = std::env::temp_dir().join(format!("kubewright-bench-{}", std::process::id()));
    if let Err(error) = run(&folder) {
        println!("not measured: {error}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn run(folder: &Path) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let binary = binary()?;
    std::fs::create_dir_all(folder).map_err(told)?;
    let objects = folder.join("objects.yaml");
    let text = texts::deployments(OBJECTS);
    std::fs::write(&objects, &text).map_err(told)?;

    let reading = Subject::new("reading the file alone", || read(&objects));
    let base = medians(&[reading], ROUNDS).first().copied().unwrap_or_default();
    println!("\n{OBJECTS} Deployments, {} MB, 50 rules of which 5 match\n", text.len() / 1_000_000);
    println!("| work | CPU ms | times reading | memory MB |\n|---|---:|---:|---:|");
    println!("| reading the file alone | {:.0} | 1.00 | |", base.as_secs_f64() * 1e3);
    let sets = [
        ("apply, 5 rules set a label, 45 are about something else", rules::plain_text(5, 45)),
        (
            "apply, 5 rules set an annotation by template and ports by select, 45 are about something else",
            rules::text(5, 45),
        ),
        ("apply, the same 5, and 45 look at every Deployment and do not match", rules::unmet_text(5, 45)),
    ];
    for (name, rules) in sets {
        let file = folder.join("rules.yaml");
        std::fs::write(&file, rules).map_err(told)?;
        let (time, memory) = apply(&binary, &file, &objects)?;
        let ratio = time.as_secs_f64() / base.as_secs_f64().max(1e-9);
        println!("| {name} | {:.0} | {ratio:.2} | {memory} |", time.as_secs_f64() * 1e3);
    }
    Ok(())
}

/// Reads every document and drops it again.
fn read(file: &Path) -> usize {
    let source = std::fs::read(file).ok().and_then(|bytes| yaml::decode("objects.yaml", bytes).ok());
    source.map_or(0, |source| {
        yaml::split(&source.text).iter().map(|chunk| yaml::read_chunk(&source, chunk).documents.len()).sum()
    })
}

/// Builds the binary and returns where it is.
fn binary() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let build = Command::new(env!("CARGO"))
        .args(["build", "--release", "-q", "-p", "kubewright"])
        .current_dir(&root)
        .status();
    if !build.is_ok_and(|status| status.success()) {
        return Err("the binary could not be built".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/kubewright"))
}

/// Runs `apply` a few times and returns the median CPU time and the most memory in MB.
fn apply(binary: &Path, rules: &Path, objects: &Path) -> Result<(Duration, u64), String> {
    let mut times = Vec::new();
    let mut memory = 0;
    for _ in 0..ROUNDS {
        let before = children();
        let mut child = Command::new(binary)
            .args(["apply", "-q"])
            .arg(rules)
            .arg("-r")
            .arg(objects)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        loop {
            memory = memory.max(peak(child.id()));
            match child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(Some(status)) if status.code() == Some(0) => break,
                other => return Err(format!("apply ended with {other:?}")),
            }
        }
        times.push(children().saturating_sub(before));
    }
    times.sort_unstable();
    Ok((times.get(ROUNDS / 2).copied().unwrap_or_default(), memory))
}

/// Returns the CPU time of all children that have ended.
fn children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after_name.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Returns the most memory that a running process has held, in MB.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) / 1024
}
