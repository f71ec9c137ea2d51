//! The text format of Prometheus.

use std::fmt::{Display, Write as _};

use super::table::MetricRow;
use crate::shorten::shorten_text;

/// The text of an exposition, while it is written.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

impl Exposition {
    /// Writes the help and the type of a metric; its samples follow.
    pub(super) fn family(&mut self, row: &MetricRow) {
        let MetricRow { name, kind, help, .. } = row;
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample; `labels` are as they are written between the braces.
    pub(super) fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// How long the value of a label may be; a longer one is shortened.
pub(super) const MAX_LABEL_BYTES: usize = 253;

/// Returns `value` as it is written between the quotes of a label.
pub(super) fn escape_label(value: &str) -> String {
    shorten_text(value, MAX_LABEL_BYTES).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
