//! Reports skipped tests on standard error and in a summary file.

use std::env;
use std::fs::OpenOptions;
use std::io::{Write, stderr};
use std::thread;

/// A file to which every skipped test adds a line; `make` shows it at its end.
const SKIP_SUMMARY_VARIABLE: &str = "KUBEWRIGHT_CLUSTER_SKIPPED";

/// `required`: a machine without a cluster fails. `off`: no cluster is wanted.
const CLUSTER_MODE_VARIABLE: &str = "KUBEWRIGHT_CLUSTER";

pub(crate) fn is_required() -> bool {
    env::var(CLUSTER_MODE_VARIABLE).is_ok_and(|mode| mode == "required")
}

pub(crate) fn is_off() -> bool {
    env::var(CLUSTER_MODE_VARIABLE).is_ok_and(|mode| mode == "off")
}

/// Says that the test of this thread is skipped, and why.
pub fn announce_skip(reason: &str) {
    let line = format!("SKIPPED {}: {reason}\n", thread::current().name().unwrap_or("a cluster test"));
    write_stderr(&line);
    if let Some(path) = env::var_os(SKIP_SUMMARY_VARIABLE)
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path)
    {
        let _ = file.write_all(line.as_bytes());
    }
}

/// Writes to standard error itself: what `eprintln!` writes is not shown for a test that passes.
pub(crate) fn write_stderr(line: &str) {
    let _ = stderr().lock().write_all(line.as_bytes());
}
