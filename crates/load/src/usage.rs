//! What a process has used so far, as the system counts it.

use std::fs;
use std::time::Duration;

/// What a process has used so far. Zero where the system does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    /// The CPU time of all its threads, in user mode and in the kernel. The system counts it in ticks of 10 ms.
    pub cpu: Duration,
    /// The memory that it has now, in bytes.
    pub memory: u64,
    /// The most memory that it had, in bytes.
    pub peak: u64,
}

impl ProcessUsage {
    /// Asks the system about `process`.
    #[must_use]
    pub fn of(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        Self {
            cpu: cpu_time(&stat),
            memory: proc_bytes(&status, "VmRSS:"),
            peak: proc_bytes(&status, "VmHWM:"),
        }
    }
}

/// The name of the program, which may contain spaces, is in parentheses before the fields that count.
fn cpu_time(stat: &str) -> Duration {
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

fn proc_bytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or_default() * 1024
}

#[cfg(test)]
mod tests;
