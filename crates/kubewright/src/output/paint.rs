//! Colours for a terminal, and text that cannot harm one.

use std::borrow::Cow;
use std::fmt;
use std::io::{IsTerminal as _, Write as _};

use clap::ValueEnum;
use kubewright_value::display::is_hidden;

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
        Paint(match self {
            Self::Auto => is_terminal && !is_refused,
            Self::Always => true,
            Self::Never => false,
        })
    }
}

/// Puts colour on text, or leaves it plain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(bool);

impl Paint {
    /// Never puts colour on anything.
    pub(crate) const OFF: Self = Self(false);

    /// For what is wrong.
    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    /// For what is right, and for added lines.
    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    /// For what may be wrong, and for changes.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    /// For places.
    pub(crate) fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }

    /// For what matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// For headings.
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Writes a line to standard error. That nobody reads it is no reason to fail.
pub(crate) fn tell(line: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns `text` on one line with its hidden characters spelt out, so that an object cannot steer a terminal.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let spelt = text.chars().map(|c| match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        c if is_hidden(c) => format!("\\u{{{:x}}}", u32::from(c)),
        c => c.to_string(),
    });
    Cow::Owned(spelt.collect())
}

/// Returns `text` made visible, cut after `most` characters.
pub(crate) fn short(text: &str, most: usize) -> String {
    let text = visible(text);
    match text.char_indices().nth(most) {
        None => text.into_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(short("äöü", 2), "äö…");
    }

    #[test]
    fn control_characters_are_spelt_out() {
        assert_eq!(visible("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(visible("✓ plain"), "✓ plain");
    }
}
