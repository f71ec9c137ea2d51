//! One process of the control plane.

use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::guard::Guard;
use crate::{ClusterError, ControlPlaneComponent};

/// How long a process may take to stop by itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How to start a component, the first time and again.
pub(crate) struct ProcessPlan {
    pub(crate) component: ControlPlaneComponent,
    pub(crate) program: PathBuf,
    pub(crate) flags: Vec<String>,
    pub(crate) log: PathBuf,
}

impl ProcessPlan {
    /// Starts it; what it writes is added to its log.
    pub(crate) fn start(&self, guard: &mut Guard) -> Result<Process, ClusterError> {
        let mut command = Command::new(&self.program);
        command.args(&self.flags).env_clear().envs(kept_environment());
        Process::start(self.component.program(), command, &self.log, guard)
    }
}

/// A component, or a program beside the control plane, that runs.
pub(crate) struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts `command` in a process group of its own; what it writes is added to `log`.
    pub(crate) fn start(
        name: &str,
        mut command: Command,
        log: &Path,
        guard: &mut Guard,
    ) -> Result<Self, ClusterError> {
        let wrong = || ClusterError::at("write", log);
        let output = OpenOptions::new().create(true).append(true).open(log).map_err(wrong())?;
        let program = PathBuf::from(command.get_program());
        let child = command
            .stdin(Stdio::null())
            .stderr(output.try_clone().map_err(wrong())?)
            .stdout(output)
            .process_group(0)
            .spawn()
            .map_err(ClusterError::at("run", &program))?;
        guard.add(child.id());
        Ok(Process { name: name.to_owned(), child })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Fails if it has ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), ClusterError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(ClusterError::failed(format!("{} ended: {status}", self.name))),
            Err(error) => Err(ClusterError::failed(format!("{}: {error}", self.name))),
        }
    }

    /// Asks it to end, and kills it if it does not.
    pub(crate) fn stop(mut self, guard: &mut Guard) {
        signal("TERM", self.child.id());
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.check().is_ok() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        self.kill(guard);
    }

    pub(crate) fn kill(mut self, guard: &mut Guard) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        guard.forget(self.child.id());
    }
}

/// What a program gets of our environment: flags of etcd, kubectl and helm can be variables, too, and are not meant.
pub(crate) fn kept_environment() -> impl Iterator<Item = (&'static str, OsString)> {
    ["PATH", "TMPDIR"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)))
}

/// Sends a signal by name. The shell has it built in; a program `kill` need not be there.
pub(crate) fn signal(name: &str, pid: u32) {
    let _ = Command::new("sh")
        .args(["-c", r#"kill "-$1" "$2""#, "signal", name, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// The memory that a process has in use, in bytes; `None` where the system does not say.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
