//! Programs that run beside the control plane and end with it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::port::LoopbackPort;
use crate::process::{Process, kept_environment, resident, signal};
use crate::{ClusterError, TestCluster};

/// A program beside the control plane. It is killed when this is dropped, or when the test process ends.
pub struct ClusterProgram<'c> {
    cluster: &'c TestCluster,
    process: Option<Process>,
    log: PathBuf,
    /// The port that it listens on.
    pub(crate) port: Option<LoopbackPort>,
}

impl TestCluster {
    /// Starts `command` with `KUBECONFIG` of the administrator and otherwise only the environment that it has itself.
    /// What it writes goes to the log `name`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run_beside(&self, name: &str, mut command: Command) -> Result<ClusterProgram<'_>, ClusterError> {
        command.envs(kept_environment()).env("KUBECONFIG", self.kubeconfig());
        command.env("HOME", self.folder().join("home"));
        let log = self.folder().join("logs").join(format!("{name}.log"));
        let process = Process::start(name, command, &log, &mut self.lock().guard)?;
        Ok(ClusterProgram { cluster: self, process: Some(process), log, port: None })
    }
}

impl ClusterProgram<'_> {
    /// Returns its process; `None` after it was stopped.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// What it has written so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The memory that it uses, in bytes; `None` if it does not run or the system does not say.
    #[must_use]
    pub fn memory(&self) -> Option<u64> {
        self.id().and_then(resident)
    }

    /// Fails if it has ended by itself.
    ///
    /// # Errors
    /// With its exit status.
    pub fn check(&mut self) -> Result<(), ClusterError> {
        self.process.as_mut().map_or(Ok(()), Process::check)
    }

    /// Sends it a signal by name, such as `STOP` or `CONT`.
    pub fn signal(&self, name: &str) {
        if let Some(id) = self.id() {
            signal(name, id);
        }
    }

    /// Asks it to end, waits for that, and kills it after 20 s.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(&mut self.cluster.lock().guard);
        }
    }

    /// Kills it without warning.
    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill(&mut self.cluster.lock().guard);
        }
    }
}

impl Drop for ClusterProgram<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}
