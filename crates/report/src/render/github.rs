//! Workflow commands that GitHub turns into annotations.

use std::io::{self, Write as _};

use kubewright_value::Position;

use super::{Renderer, ReportWriter};
use crate::text::{plural, relative_file};
use crate::{Annotation, AnnotationLevel, ObjectRow, Report, visible};

/// How many annotations of one level GitHub shows for a step; further ones are lines of the log.
const MAX_ANNOTATIONS_PER_LEVEL: usize = 10;

/// Renders reports as workflow commands.
pub(super) struct GithubRenderer {
    out: ReportWriter,
    folder: &'static str,
    // By level, from the worst.
    counts: [usize; 3],
}

impl GithubRenderer {
    /// Returns commands that are written to `out`, with file names relative to `folder`.
    pub(super) fn new(out: ReportWriter, folder: &'static str) -> Self {
        Self { out, folder, counts: [0; 3] }
    }

    fn command(&mut self, annotation: &Annotation<'_>) -> io::Result<()> {
        let [errors, warnings, notices] = &mut self.counts;
        let (level, count) = match annotation.level {
            AnnotationLevel::Error => ("error", errors),
            AnnotationLevel::Warning => ("warning", warnings),
            AnnotationLevel::Notice => ("notice", notices),
        };
        *count += 1;
        let file = relative_file(&annotation.file, self.folder);
        let Position { line, column } = annotation.position;
        if *count > MAX_ANNOTATIONS_PER_LEVEL {
            let place = if line == 0 { file.to_owned() } else { format!("{file}:{line}:{column}") };
            let text = [place.as_str(), &annotation.title, &annotation.text].join(": ");
            // The level comes first, so that no text can start a command.
            return writeln!(self.out, "{level}: {}", visible(&text));
        }
        let (file, title) = (github_property(file), github_property(&annotation.title));
        let text = github_data(&annotation.text);
        // A resource of a cluster has no lines.
        let place = if line == 0 { String::new() } else { format!(",line={line},col={column}") };
        writeln!(self.out, "::{level} file={file}{place},title={title}::{text}")
    }

    /// Says how many annotations are in the log only.
    fn say_more(&mut self) -> io::Result<()> {
        let words = self.counts.iter().zip(["error", "warning", "notice"]);
        let more = words.filter(|(count, _)| **count > MAX_ANNOTATIONS_PER_LEVEL);
        let more: Vec<String> = more
            .map(|(count, word)| plural(count - MAX_ANNOTATIONS_PER_LEVEL, &format!("more {word}")))
            .collect();
        if more.is_empty() {
            return Ok(());
        }
        let [.., notices] = self.counts;
        let start = if notices < MAX_ANNOTATIONS_PER_LEVEL { "::notice title=kubewright::" } else { "" };
        writeln!(self.out, "{start}{} in the log", more.join(", "))
    }
}

impl Renderer for GithubRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        row.annotations().try_for_each(|annotation| self.command(&annotation))
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        report.annotations().iter().try_for_each(|annotation| self.command(annotation))?;
        self.say_more()?;
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
