//! The user's choice of colours, and lines on standard error.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};

use clap::ValueEnum;
use kubewright_report::Paint;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// Returns the paint for standard output.
    pub(crate) fn paint_output(self) -> Paint {
        self.paint(std::io::stdout().is_terminal())
    }

    /// Returns the paint for standard error.
    pub(crate) fn paint_errors(self) -> Paint {
        self.paint(std::io::stderr().is_terminal())
    }

    fn paint(self, is_terminal: bool) -> Paint {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Paint::new(match self {
            Self::Auto => is_terminal && !is_refused,
            Self::Always => true,
            Self::Never => false,
        })
    }
}

/// Writes a line to standard error. A closed standard error is not a reason to fail.
pub(crate) fn print_stderr(line: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
