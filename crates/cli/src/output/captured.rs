//! What a command prints, for a caller that is not a terminal: the page runs the commands themselves, so that both say the same.
//!
//! A command prints from the thread that runs it, so what is captured belongs to a thread.

use std::cell::RefCell;
use std::io::{self, Write};

use kubewright_engine::Diagnostic;

/// The maximum size of what is captured.
const MAX_CAPTURED_BYTES: usize = 32 << 20;

/// What a command printed.
#[derive(Debug, Default)]
pub(crate) struct CapturedOutput {
    /// What went to standard output.
    bytes: Vec<u8>,
    /// What went to standard error, without diagnostics.
    pub(crate) errors: String,
    /// The diagnostics that went to standard error.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl CapturedOutput {
    /// Returns what went to standard output.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

thread_local! {
    static CAPTURED: RefCell<Option<CapturedOutput>> = const { RefCell::new(None) };
}

/// Does `work`, and returns what it printed besides its result.
pub(crate) fn capture_output<T>(work: impl FnOnce() -> T) -> (T, CapturedOutput) {
    /// Puts back what was there, also when the work panics.
    struct Restored(Option<CapturedOutput>);
    impl Drop for Restored {
        fn drop(&mut self) {
            CAPTURED.set(self.0.take());
        }
    }
    let _restored = Restored(CAPTURED.replace(Some(CapturedOutput::default())));
    let done = work();
    (done, CAPTURED.take().unwrap_or_default())
}

/// Returns whether what this thread prints is captured.
pub(crate) fn is_captured() -> bool {
    CAPTURED.with_borrow(Option::is_some)
}

/// Takes a line for standard error; returns whether it is captured.
pub(super) fn capture_error(line: &str) -> bool {
    with_captured(|captured| {
        if captured.errors.len() + line.len() < MAX_CAPTURED_BYTES {
            captured.errors.push_str(line);
            captured.errors.push('\n');
        }
    })
}

/// Takes diagnostics for standard error; returns whether they are captured.
pub(crate) fn capture_diagnostics(diagnostics: &[Diagnostic]) -> bool {
    with_captured(|captured| captured.diagnostics.extend_from_slice(diagnostics))
}

fn with_captured(take: impl FnOnce(&mut CapturedOutput)) -> bool {
    CAPTURED.with_borrow_mut(|captured| captured.as_mut().map(take)).is_some()
}

/// Writes to what is captured.
pub(super) struct CaptureWriter;

impl Write for CaptureWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut is_full = false;
        with_captured(|captured| {
            is_full = captured.bytes.len() + bytes.len() > MAX_CAPTURED_BYTES;
            if !is_full {
                captured.bytes.extend_from_slice(bytes);
            }
        });
        match is_full {
            true => Err(io::Error::other("the output is too large for an answer")),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{capture_output, is_captured};
    use crate::output::{print_stderr, standard_output};

    #[test]
    fn output_of_a_command_is_captured_on_its_thread() {
        let (done, captured) = capture_output(|| {
            let mut out = standard_output();
            writeln!(out, "hello").and_then(|()| out.flush()).expect("written");
            print_stderr("a note");
            std::thread::spawn(is_captured).join().expect("a thread")
        });
        assert_eq!(
            (done, captured.text().as_str(), captured.errors.as_str()),
            (false, "hello\n", "a note\n")
        );
        assert!(!is_captured());
    }
}
