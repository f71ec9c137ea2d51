//! The text format of Prometheus.

use std::fmt::{Display, Write as _};

use super::table::{MetricRow, MetricType};
use crate::shorten::shorten_text;

/// The text of an exposition, while it is written.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// Writes the help and the type of a metric; its samples follow.
    pub(super) fn family(&mut self, row: &MetricRow) {
        self.header(row.name, row.kind, row.help);
    }

    /// Writes the help and the type of the metric called `name`; its samples follow.
    pub fn header(&mut self, name: &str, kind: MetricType, help: &str) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample; `labels` are as they are written between the braces.
    pub fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    /// Returns the text.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }
}

/// How long the value of a label may be; a longer one is shortened.
pub(super) const MAX_LABEL_BYTES: usize = 253;

/// Returns `value` as it is written between the quotes of a label.
#[must_use]
pub fn escape_label(value: &str) -> String {
    shorten_text(value, MAX_LABEL_BYTES).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
