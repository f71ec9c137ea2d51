//! The text that Prometheus reads.

use std::fmt::{Display, Write as _};

use crate::shorten::shorten_text;

/// A text that is being made.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

impl Exposition {
    /// Begins the samples of `name`.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample; `labels` are as they are written between the braces.
    pub(super) fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    /// Adds a family of one sample.
    pub(super) fn single(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, "", value);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// How long the value of a label may be; of a longer one the beginning is shown.
pub(super) const MAX_LABEL_BYTES: usize = 253;

/// Returns `value` as it is written between the quotes of a label.
pub(super) fn escape_label(value: &str) -> String {
    shorten_text(value, MAX_LABEL_BYTES).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
