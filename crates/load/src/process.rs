//! A server in a process of its own, which ends with its owner.

use std::io;
use std::process::{Child, Command, Stdio};

use crate::ProcessUsage;

/// A process that is killed when this is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
}

impl ServerProcess {
    /// Starts `command`, without an input.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.stdin(Stdio::null()).spawn()? })
    }

    /// Returns its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what it has used so far.
    #[must_use]
    pub fn usage(&self) -> ProcessUsage {
        ProcessUsage::of(self.child.id())
    }

    /// Kills it without a warning and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// When there is no shell to ask with.
    pub fn terminate(&self) -> io::Result<()> {
        // A program `kill` need not be there; the shell has one.
        let script = r#"kill -TERM "$1""#;
        Command::new("sh")
            .args(["-c", script, "terminate", &self.child.id().to_string()])
            .status()
            .map(|_| ())
    }

    /// Returns its exit code, if it has ended: `None` inside for a signal.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn ended(&mut self) -> io::Result<Option<Option<i32>>> {
        Ok(self.child.try_wait()?.map(|status| status.code()))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
