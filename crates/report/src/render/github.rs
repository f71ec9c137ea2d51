//! Workflow commands that GitHub turns into annotations.

use std::io::{self, Write as _};

use kubewright_value::Position;

use super::{Renderer, ReportWriter};
use crate::{Annotation, AnnotationLevel, ObjectRow, Report, visible};

/// Renders reports as workflow commands.
pub(super) struct GithubRenderer {
    out: ReportWriter,
}

impl GithubRenderer {
    /// Returns commands that are written to `out`.
    pub(super) fn new(out: ReportWriter) -> Self {
        Self { out }
    }

    fn command(&mut self, annotation: &Annotation<'_>) -> io::Result<()> {
        let level = match annotation.level {
            AnnotationLevel::Error => "error",
            AnnotationLevel::Warning => "warning",
            AnnotationLevel::Notice => "notice",
        };
        let Position { line, column } = annotation.position;
        let (file, title) = (github_property(&annotation.file), github_property(&annotation.title));
        let text = github_data(&annotation.text);
        // A resource of a cluster has no lines.
        let place = if line == 0 { String::new() } else { format!(",line={line},col={column}") };
        writeln!(self.out, "::{level} file={file}{place},title={title}::{text}")
    }
}

impl Renderer for GithubRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        row.annotations().try_for_each(|annotation| self.command(&annotation))
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        report.annotations().iter().try_for_each(|annotation| self.command(annotation))?;
        self.out.flush()
    }
}

/// Returns `text` for the part after `::`, with control characters written as escapes.
fn github_data(text: &str) -> String {
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
fn github_property(text: &str) -> String {
    github_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_property_cannot_start_a_command() {
        assert_eq!(github_data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(github_property("a:b,c"), "a%3Ab%2Cc");
        assert_eq!(github_data("a\r\n\u{1b}[2J"), "a%0D%0A\\u{1b}[2J");
    }
}
