//! A program run to its end, with a limit on its time.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What a program wrote and how it ended.
#[derive(Debug, Clone)]
pub struct CommandOutput {
    /// The command, for messages.
    pub command: String,
    /// The exit code; `None` if it did not start, or was killed because it took too long.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error, or why it did not run.
    pub stderr: String,
}

impl CommandOutput {
    /// Whether it ended with 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns the standard output of a command that succeeded.
    ///
    /// # Panics
    /// If it did not succeed; the message has all it wrote.
    #[track_caller]
    #[must_use = "call `is_success` if only that is of interest"]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn success(self) -> String {
        if self.is_success() {
            return self.stdout;
        }
        panic!("{self}");
    }

    /// Like [`CommandOutput::success`], where the output does not matter.
    ///
    /// # Panics
    /// If it did not succeed.
    #[track_caller]
    pub fn expect_success(self) {
        let _ = self.success();
    }

    /// Returns the standard error of a command that failed, as it should.
    ///
    /// # Panics
    /// If it succeeded, or did not run to its end.
    #[track_caller]
    #[must_use = "what it failed with is what the test is about"]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn failure(self) -> String {
        match self.code {
            Some(code) if code != 0 => self.stderr,
            _ => panic!("{self}\nand should have failed"),
        }
    }

    pub(crate) fn not_run(command: String, reason: &dyn std::error::Error) -> Self {
        CommandOutput {
            command,
            code: None,
            stdout: String::new(),
            stderr: format!("cannot run it: {reason}"),
        }
    }
}

impl std::fmt::Display for CommandOutput {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ended = self.code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
        write!(formatter, "`{}`: {ended}\n{}{}", self.command, self.stdout, self.stderr)
    }
}

/// Runs `command` with `stdin`, and kills it when `limit` has passed.
pub(crate) fn run_command(mut command: Command, stdin: &[u8], limit: Duration) -> CommandOutput {
    let words = command_line(&command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return CommandOutput::not_run(words, &error),
    };
    feed_stdin(&mut child, stdin.to_vec());
    let stdout = collect_pipe(child.stdout.take());
    let stderr = collect_pipe(child.stderr.take());

    // Both pipes close when the program ends, so there is nothing to poll.
    let deadline = Instant::now() + limit;
    let left = || deadline.saturating_duration_since(Instant::now());
    let (out, err) = (stdout.recv_timeout(left()), stderr.recv_timeout(left()));
    if let (Ok(out), Ok(err)) = (&out, &err) {
        let code = child.wait().ok().and_then(|status| status.code());
        return CommandOutput { command: words, code, stdout: lossy_text(out), stderr: lossy_text(err) };
    }
    let _ = child.kill();
    let _ = child.wait();
    let out = out.or_else(|_| stdout.recv()).unwrap_or_default();
    let err = err.or_else(|_| stderr.recv()).unwrap_or_default();
    let stderr = format!("{}killed after {} s\n", lossy_text(&err), limit.as_secs());
    CommandOutput { command: words, code: None, stdout: lossy_text(&out), stderr }
}

fn feed_stdin(child: &mut Child, bytes: Vec<u8>) {
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends without reading closes the pipe; what it thought of that is in its exit code.
        thread::spawn(move || {
            let _ = pipe.write_all(&bytes);
        });
    }
}

fn collect_pipe(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

fn command_line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
