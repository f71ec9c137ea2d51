//! What a text was made from that a program wrote, such as Helm from templates.
//!
//! Documents are read from the text, and everything that is reported about them is located in what the text was made
//! from: see [`Document::locate`](super::Document::locate).

use std::sync::Arc;

use super::{Location, Position, Source};

/// What the lines of a text were made from.
#[derive(Debug, Default)]
pub struct SourceOrigins {
    // INVARIANT: ascending by line; each is valid up to the next.
    spans: Vec<(u32, Option<LineOrigin>)>,
}

/// What a line was made from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LineOrigin {
    /// The file, with its text if that is known.
    pub source: Arc<Source>,
    /// The line; 0 if only the file is known.
    pub line: u32,
    /// The value that the line shows.
    pub value: Option<ValueOrigin>,
}

/// Where a value was written that a line shows.
#[derive(Debug, Clone)]
pub struct ValueOrigin {
    /// The file.
    pub file: String,
    /// The line; 0 if it is not known.
    pub line: u32,
    /// The path to the value.
    pub path: String,
}

impl SourceOrigins {
    /// Returns origins of which every line is part of `source` as a whole.
    #[must_use]
    pub fn whole(source: Arc<Source>) -> Self {
        Self { spans: vec![(0, Some(LineOrigin::new(source, 0)))] }
    }

    /// Adds what the lines from `first` on were made from. Lines are added in ascending order.
    pub fn add(&mut self, first: u32, origin: Option<LineOrigin>) {
        self.spans.push((first, origin));
    }

    /// Returns whether no origin is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|(_, origin)| origin.is_none())
    }

    pub(super) fn of_line(&self, line: u32) -> Option<&LineOrigin> {
        let behind = self.spans.partition_point(|(first, _)| *first <= line);
        self.spans.get(behind.checked_sub(1)?)?.1.as_ref()
    }
}

impl LineOrigin {
    /// Returns line `line` of `source`.
    #[must_use]
    pub fn new(source: Arc<Source>, line: u32) -> Self {
        Self { source, line, value: None }
    }

    /// Returns this line, which shows `value`.
    #[must_use]
    pub fn showing(self, value: ValueOrigin) -> Self {
        Self { value: Some(value), ..self }
    }

    /// Returns the text of the line without its indentation.
    pub(super) fn location(&self) -> Location {
        let line = self.source.line(self.line).unwrap_or_default();
        let count = |text: &str| u32::try_from(text.chars().count()).unwrap_or(1);
        let column = count(line) - count(line.trim_start()) + 1;
        let position = Position { line: self.line, column };
        Location { source: Arc::clone(&self.source), position, length: count(line.trim()).max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_located_in_what_they_were_made_from() {
        let template = Source::new("t.yaml", "a:\n  b: {{ .x }}\n");
        let mut origins = SourceOrigins::default();
        origins.add(2, Some(LineOrigin::new(Arc::clone(&template), 1)));
        origins.add(3, Some(LineOrigin::new(template, 2)));
        let source = Source::new("-", "# c\na:\n  b: 1\n").made_from(origins);
        let document = crate::yaml::read(&source).documents.remove(0);
        assert_eq!(document.locate(&["a".into(), "b".into()]).to_string(), "t.yaml:2:3");
        assert_eq!(document.origin(&["a".into(), "b".into()]).map(|(line, _)| line), Some(3));
        assert_eq!(document.locate(&[]).to_string(), "t.yaml:1:1");
    }
}
