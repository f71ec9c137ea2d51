//! Running a credential plugin: what it writes is bounded, and so is its time.

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How much a plugin may write to standard output.
const MAX_EXEC_OUTPUT_BYTES: u64 = 1 << 20;

/// How much of the end of its standard error is shown.
const MAX_EXEC_ERROR_BYTES: usize = 1 << 10;

/// How long its standard error is waited for when it has ended; a process that it started may keep it open.
const EXEC_ERROR_GRACE: Duration = Duration::from_millis(200);

/// Why a plugin gave nothing.
pub(super) struct ProcessFailure {
    pub(super) text: String,
    /// Whether the program could not be started.
    pub(super) is_absent: bool,
}

/// Runs `command` and returns what it wrote to standard output. What it writes to standard error goes to the user where
/// `is_shown`, and into the failure.
pub(super) fn run_process(
    mut command: Command,
    timeout: Duration,
    is_shown: bool,
) -> Result<String, ProcessFailure> {
    let deadline = Instant::now() + timeout;
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| ProcessFailure { text: error.to_string(), is_absent: true })?;
    let output = child.stdout.take().map(read_output);
    let errors = child.stderr.take().map(|stderr| read_errors(stderr, is_shown));
    let failed = |text: String| {
        let said =
            errors.as_ref().and_then(|errors| errors.recv_timeout(EXEC_ERROR_GRACE).ok()).unwrap_or_default();
        let text = if said.is_empty() { text } else { format!("{text}: {said}") };
        ProcessFailure { text, is_absent: false }
    };
    match await_exit(&mut child, deadline) {
        Ok(Some(status)) if status.success() => {}
        Ok(Some(status)) => return Err(failed(format!("it ended with {status}"))),
        Ok(None) => return Err(failed(format!("it did not end within {} s", timeout.as_secs()))),
        Err(error) => return Err(failed(error.to_string())),
    }
    let left = deadline.saturating_duration_since(Instant::now());
    match output.and_then(|output| output.recv_timeout(left).ok()) {
        Some(Ok(text)) => Ok(text),
        Some(Err(error)) => Err(failed(format!("what it wrote cannot be read: {error}"))),
        None => Err(failed("its standard output stays open".to_owned())),
    }
}

/// Waits for the end of `child`; `None` if it was killed at the deadline.
fn await_exit(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            let _ = (child.kill(), child.wait());
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn read_output(stdout: impl Read + Send + 'static) -> Receiver<io::Result<String>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.take(MAX_EXEC_OUTPUT_BYTES).read_to_string(&mut text);
        let _ = sender.send(read.map(|_| text));
    });
    receiver
}

/// Reads standard error to its end and sends its last part as one line.
fn read_errors(mut stderr: impl Read + Send + 'static, is_shown: bool) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let (mut tail, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            let fresh = buffer.get(..count).unwrap_or_default();
            if is_shown {
                let _ = io::stderr().write_all(fresh);
            }
            tail.extend_from_slice(fresh);
            tail.drain(..tail.len().saturating_sub(MAX_EXEC_ERROR_BYTES));
        }
        let _ = sender.send(one_line(&String::from_utf8_lossy(&tail)));
    });
    receiver
}

/// Without line breaks, and without what a terminal would take for a command.
fn one_line(text: &str) -> String {
    let text: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
