//! The user's choice of colours, and lines on standard error.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};

use clap::ValueEnum;
use kubewright_report::Paint;

use super::captured::capture_error;

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
        Paint::new(match self {
            Self::Auto => is_colored(is_terminal, |name| std::env::var(name).ok()),
            Self::Always => true,
            Self::Never => false,
        })
    }
}

/// Returns whether there are colours, as the environment says: NO_COLOR wins, then FORCE_COLOR and CLICOLOR_FORCE, then
/// a terminal that is not dumb.
fn is_colored(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let is_on =
        |name: &str| variable(name).is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    if is_set("NO_COLOR") {
        return false;
    }
    let is_dumb = variable("TERM").as_deref() == Some("dumb") || variable("CLICOLOR").as_deref() == Some("0");
    is_on("FORCE_COLOR") || is_on("CLICOLOR_FORCE") || (is_terminal && !is_dumb)
}

/// Writes a line to standard error. A closed standard error is not a reason to fail.
pub(crate) fn print_stderr(line: impl fmt::Display) {
    let line = line.to_string();
    if !capture_error(&line) {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::is_colored;

    #[track_caller]
    fn check(is_terminal: bool, variables: &[(&str, &str)], want: bool) {
        let variable =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(is_colored(is_terminal, variable), want, "{variables:?}");
    }

    #[test]
    fn environment_decides_about_colours() {
        check(true, &[], true);
        check(false, &[], false);
        check(true, &[("TERM", "dumb")], false);
        check(true, &[("NO_COLOR", "1"), ("FORCE_COLOR", "1")], false);
        check(true, &[("NO_COLOR", "")], true);
        check(false, &[("FORCE_COLOR", "1")], true);
        check(false, &[("FORCE_COLOR", "0")], false);
        check(false, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], true);
        check(true, &[("CLICOLOR", "0")], false);
    }
}
