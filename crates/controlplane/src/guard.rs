//! What ends a cluster, even if the test process is killed.
//!
//! A test that panics drops its cluster. A test process that is interrupted or killed drops nothing, and neither
//! does a `static`. So a shell holds the other end of a pipe from this process: when the pipe closes, for whatever
//! reason, it kills what is left and removes the folder.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, Once, PoisonError};

use crate::ClusterError;
use crate::folder::kept_logs;

const GUARD_SCRIPT: &str = include_str!("guard.sh");

/// Folders of clusters that no test owns: a panic anywhere is a reason to keep their logs.
static SHARED_GUARD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

pub(crate) struct Guard {
    shell: Child,
    folder: PathBuf,
}

impl Guard {
    pub(crate) fn over(folder: &Path) -> Result<Self, ClusterError> {
        let shell = Command::new("sh")
            .args(["-c", GUARD_SCRIPT, "guard"])
            .arg(folder)
            .arg(kept_logs(folder))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| ClusterError::failed(format!("cannot run `sh`: {error}")))?;
        Ok(Guard { shell, folder: folder.to_owned() })
    }

    pub(crate) fn add(&mut self, pid: u32) {
        self.tell(&format!("add {pid}\n"));
    }

    /// To be called as soon as the process is waited for: its id may be another's soon.
    pub(crate) fn forget(&mut self, pid: u32) {
        self.tell(&format!("del {pid}\n"));
    }

    /// Keeps the logs of this cluster, and prints their ends when it is over.
    pub(crate) fn keep_logs(&self) {
        mark_failed(&self.folder);
    }

    /// From now on any panic of this process keeps the logs of this cluster.
    pub(crate) fn keep_logs_after_any_panic(&self) {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                SHARED_GUARD
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .iter()
                    .for_each(|f| mark_failed(f));
                before(panic);
            }));
        });
        SHARED_GUARD.lock().unwrap_or_else(PoisonError::into_inner).push(self.folder.clone());
    }

    fn tell(&mut self, line: &str) {
        if let Some(pipe) = &mut self.shell.stdin {
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

fn mark_failed(folder: &Path) {
    let _ = fs::write(folder.join("failed"), "");
}
