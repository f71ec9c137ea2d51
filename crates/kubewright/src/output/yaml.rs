//! The resulting objects as a YAML stream.

use std::io::{self, Write as _};

use kubewright_value::Value;

use super::{Ending, Show, Target};
use crate::review::ObjectReport;

/// Shows the objects after all changes.
pub(crate) struct Yaml {
    out: Target,
    is_first: bool,
}

impl Yaml {
    /// Returns a stream that is written to `out`.
    pub(crate) fn new(out: Target) -> Self {
        Self { out, is_first: true }
    }
}

impl Show for Yaml {
    fn object(&mut self, report: &ObjectReport) -> io::Result<()> {
        let Some((_, after)) = &report.objects else { return Ok(()) };
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out, "---")?;
        }
        self.out.write_all(text(after).as_bytes())
    }

    fn finish(&mut self, _ending: &Ending<'_>) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns a value as YAML in block style; ends with a line break.
pub(crate) fn text(value: &Value) -> String {
    kubewright_value::yaml::write(value)
}
