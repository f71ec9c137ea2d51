//! Workflow commands that GitHub turns into annotations.

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, Severity, Status};
use kubewright_value::Position;

use super::{Ending, Show, Target, visible};
use crate::review::{ObjectReport, OutcomeRow};

/// Shows reports as workflow commands.
pub(crate) struct Github {
    out: Target,
}

impl Github {
    /// Returns commands that are written to `out`.
    pub(crate) fn new(out: Target) -> Self {
        Self { out }
    }

    fn row(&mut self, row: &OutcomeRow, report: &ObjectReport) -> io::Result<()> {
        let level = match row.status {
            Status::Fail | Status::Error => "error",
            Status::Warn => "warning",
            Status::Pass | Status::Skip => return Ok(()),
        };
        let text = format!("{}: {}", report.subject, row.text());
        let place = (report.location.file.as_str(), row.position);
        annotation(&mut self.out, level, place, &row.rule.to_string(), &text)
    }
}

impl Show for Github {
    fn object(&mut self, report: &ObjectReport) -> io::Result<()> {
        report.outcomes.iter().try_for_each(|row| self.row(row, report))
    }

    fn finish(&mut self, ending: &Ending<'_>) -> io::Result<()> {
        written(&mut self.out, ending.diagnostics)
    }
}

/// Writes diagnostics alone.
pub(crate) fn diagnostics(mut out: Target, diagnostics: &[Diagnostic]) -> io::Result<()> {
    written(&mut out, diagnostics)
}

/// Writes one command: its level, a file with a place in it, a title and a text.
pub(crate) fn annotation(
    out: &mut Target,
    level: &str,
    (file, position): (&str, Position),
    title: &str,
    text: &str,
) -> io::Result<()> {
    let Position { line, column } = position;
    let (file, title, text) = (property(file), property(title), data(text));
    writeln!(out, "::{level} file={file},line={line},col={column},title={title}::{text}")
}

/// Writes diagnostics after what else there is.
pub(crate) fn written(out: &mut Target, diagnostics: &[Diagnostic]) -> io::Result<()> {
    for diagnostic in diagnostics {
        let level = match diagnostic.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "notice",
        };
        let text = match diagnostic.help.as_str() {
            "" => diagnostic.message.clone(),
            help => format!("{}\nhelp: {help}", diagnostic.message),
        };
        let location = &diagnostic.location;
        let place = (location.source.name.as_str(), location.position);
        annotation(out, level, place, diagnostic.code.id, &text)?;
    }
    out.flush()
}

/// Returns `text` for the part after `::`, with what could steer a terminal spelt out.
fn data(text: &str) -> String {
    let lines: Vec<_> = text
        .split('\n')
        .map(|line| {
            let parts: Vec<_> = line.split('\r').map(|part| visible(part).replace('%', "%25")).collect();
            parts.join("%0D")
        })
        .collect();
    lines.join("%0A")
}

/// Returns `text` for a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_cannot_start_a_command_of_its_own() {
        assert_eq!(data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(property("a:b,c"), "a%3Ab%2Cc");
        assert_eq!(data("a\r\n\u{1b}[2J"), "a%0D%0A\\u{1b}[2J");
    }
}
