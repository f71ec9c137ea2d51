//! The cost of other processes: CPU time over all cores, and peak memory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Builds the binary as it ships, with profile `dist`, and returns its path.
///
/// # Errors
/// When it cannot be built.
pub fn build_dist_binary() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let build = Command::new(env!("CARGO"))
        .args(["build", "--profile", "dist", "-q", "-p", "kubewright"])
        .current_dir(&root)
        .status();
    if !build.is_ok_and(|status| status.success()) {
        return Err("the binary could not be built".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("dist/kubewright"))
}

/// The cost of a process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessCost {
    /// The median of its CPU times.
    pub time: Duration,
    /// The peak memory in MB.
    pub memory: u64,
}

/// Runs `binary` with `arguments` `rounds` times. It may end with one of `codes`.
///
/// # Errors
/// When it cannot be run, or ends otherwise.
pub fn measure_process(
    binary: &Path,
    arguments: &[&str],
    rounds: usize,
    codes: &[i32],
) -> Result<ProcessCost, String> {
    let mut times = Vec::new();
    let mut memory = 0;
    for _ in 0..rounds {
        let before = children_cpu_time();
        let mut child = Command::new(binary)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        loop {
            memory = memory.max(peak(child.id()));
            match child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(Some(status)) if status.code().is_some_and(|code| codes.contains(&code)) => break,
                other => return Err(format!("`{}` ended with {other:?}", arguments.join(" "))),
            }
        }
        times.push(children_cpu_time().saturating_sub(before));
    }
    times.sort_unstable();
    Ok(ProcessCost { time: times.get(rounds / 2).copied().unwrap_or_default(), memory })
}

/// Returns the mean CPU time of `binary` with `arguments` over `rounds`. It may end with one of `codes`.
///
/// # Errors
/// When it cannot be run, or ends otherwise.
pub fn mean_cpu_time(
    binary: &Path,
    arguments: &[OsString],
    rounds: u32,
    codes: &[i32],
) -> Result<Duration, String> {
    let before = children_cpu_time();
    for _ in 0..rounds {
        let status = Command::new(binary)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        if !status.code().is_some_and(|code| codes.contains(&code)) {
            return Err(format!("`{}` ended with {status}", binary.display()));
        }
    }
    Ok(children_cpu_time().saturating_sub(before) / rounds.max(1))
}

/// Returns the CPU time of all children that have ended.
fn children_cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after_name.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Returns the peak memory of a running process in MB.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) / 1024
}
