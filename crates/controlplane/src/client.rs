//! kubectl and helm, called as the administrator.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::output::run_command;
use crate::process::kept_environment;
use crate::{CommandOutput, binaries};

/// How long one call may take.
const KUBECTL_TIMEOUT: Duration = Duration::from_secs(300);

/// What a call needs; threads have one of their own.
#[derive(Debug, Clone)]
pub(crate) struct KubectlClient {
    pub(crate) kubectl: PathBuf,
    pub(crate) folder: PathBuf,
}

impl KubectlClient {
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    pub(crate) fn kubectl(&self, arguments: &[&str], stdin: &str) -> CommandOutput {
        run_command(self.command(&self.kubectl, arguments), stdin.as_bytes(), KUBECTL_TIMEOUT)
    }

    pub(crate) fn helm(&self, arguments: &[&str]) -> CommandOutput {
        match binaries::programs(&["helm"]) {
            Ok(folder) => run_command(self.command(&folder.join("helm"), arguments), &[], KUBECTL_TIMEOUT),
            Err(error) => CommandOutput::not_run(format!("helm {}", arguments.join(" ")), &error),
        }
    }

    /// A home of its own and nothing of the environment: neither caches nor settings of the user count.
    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(kept_environment());
        command.env("KUBECONFIG", self.kubeconfig()).env("HOME", self.folder.join("home"));
        command
    }
}
