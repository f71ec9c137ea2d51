//! The terminal that standard output is, if it is one.

use std::env;
use std::fs::File;
use std::io::{IsTerminal as _, stdout};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Below this many columns, text is not wrapped: there would be a word on each line.
const MIN_COLUMNS: usize = 30;

/// Returns how many columns the terminal of standard output has; nothing where it is not a terminal or does not say.
/// `COLUMNS` wins.
pub(crate) fn terminal_width() -> Option<usize> {
    static WIDTH: OnceLock<Option<usize>> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        if !stdout().is_terminal() {
            return None;
        }
        let columns = env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
        columns.or_else(asked_width).filter(|columns| *columns >= MIN_COLUMNS)
    })
}

/// Asks `stty`, because only the operating system knows the size, and its call is not a safe one.
fn asked_width() -> Option<usize> {
    let terminal = File::open("/dev/tty").ok()?;
    let asked = Command::new("stty").arg("size").stdin(terminal).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(asked.stdout).ok()?.split_whitespace().nth(1)?.parse().ok()
}
