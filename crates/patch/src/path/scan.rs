//! The text of a path, in which what was put in is never syntax.

use std::borrow::Cow;
use std::ops::Range;

/// A part of a path's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPiece<'t> {
    /// As the author of the rule wrote it.
    Literal(&'t str),
    /// Put in by an expression.
    Text(&'t str),
    /// The expression itself, whose text is not known yet; it is taken for any text that fits.
    Expression(&'t str),
}

/// A place in the text, and what is known of the text around it.
pub(super) struct PatchPathScanner {
    pub(super) text: String,
    /// The ranges that were put in, ascending, empty ones included.
    data: Vec<Range<usize>>,
    /// Those of them whose text is not known yet.
    expressions: Vec<Range<usize>>,
    pub(super) at: usize,
}

impl PatchPathScanner {
    pub(super) fn new(pieces: &[PathPiece<'_>]) -> Self {
        let length = |piece: &PathPiece<'_>| match piece {
            PathPiece::Literal(part) | PathPiece::Text(part) | PathPiece::Expression(part) => part.len(),
        };
        let mut text = String::with_capacity(pieces.iter().map(length).sum());
        let (mut data, mut expressions) = (Vec::new(), Vec::new());
        let last = pieces.len().saturating_sub(1);
        for (number, piece) in pieces.iter().enumerate() {
            let part = match *piece {
                // The line break at the end of a block of YAML is not part of a key.
                PathPiece::Literal(part) if number == last => part.trim_end(),
                PathPiece::Literal(part) | PathPiece::Text(part) | PathPiece::Expression(part) => part,
            };
            let range = text.len()..text.len() + part.len();
            text.push_str(part);
            if let PathPiece::Expression(_) = piece {
                expressions.push(range.clone());
            }
            if !matches!(piece, PathPiece::Literal(_)) {
                data.push(range);
            }
        }
        Self { text, data, expressions, at: 0 }
    }

    /// Returns the character here.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest(self.at).chars().next()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Goes past the character here.
    pub(super) fn skip(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// Returns whether the byte at `offset` was put in.
    pub(super) fn is_data(&self, offset: usize) -> bool {
        !self.data.is_empty() && {
            let next = self.data.partition_point(|range| range.end <= offset);
            self.data.get(next).is_some_and(|range| range.start <= offset)
        }
    }

    /// Returns whether empty text was put in at `offset`.
    pub(super) fn is_empty_data(&self, offset: usize) -> bool {
        let next = self.data.partition_point(|range| range.end < offset);
        self.data.get(next).is_some_and(|range| range.is_empty() && range.start == offset)
    }

    /// Returns whether there is text between `start` and `end` that is not known yet.
    pub(super) fn is_expression(&self, start: usize, end: usize) -> bool {
        self.expressions.iter().any(|range| range.start >= start && range.end <= end)
    }

    /// Returns the text from `offset` on.
    pub(super) fn rest(&self, offset: usize) -> &str {
        self.text.get(offset..).unwrap_or_default()
    }

    /// Returns whether the author wrote `word` at `offset`, with nothing put in between.
    pub(super) fn is_word(&self, offset: usize, word: &str) -> bool {
        let is_here =
            self.text.as_bytes().get(offset..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        is_here
            && (self.data.is_empty() || {
                let end = offset + word.len();
                let next = self.data.partition_point(|range| range.end <= offset);
                self.data.get(next).is_none_or(|range| range.start >= end)
            })
    }

    /// Returns whether nothing was put in between `start` and `end`, nor beside them.
    pub(super) fn is_untouched(&self, start: usize, end: usize) -> bool {
        let next = self.data.partition_point(|range| range.end < start);
        self.data.get(next).is_none_or(|range| range.start > end)
    }

    /// Goes past `word` if the author wrote it here.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let is_here = self.is_word(self.at, word);
        self.at += if is_here { word.len() } else { 0 };
        is_here
    }

    pub(super) fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) && !self.is_data(self.at) {
            self.skip();
        }
    }

    /// Returns where the author wrote one of `ends` first, from here on; if nowhere, where the text ends.
    pub(super) fn find(&self, ends: &[char]) -> usize {
        let rest = self.rest(self.at);
        let found = rest.char_indices().map(|(offset, character)| (self.at + offset, character));
        let mut found = found.filter(|(at, character)| ends.contains(character) && !self.is_data(*at));
        found.next().map_or(self.text.len(), |(at, _)| at)
    }

    /// Returns the text from `start` to `end` with `~1` as `/` and `~0` as `~` where the author wrote them.
    pub(super) fn decode(&self, start: usize, end: usize) -> Cow<'_, str> {
        let written = self.text.get(start..end).unwrap_or_default();
        if !written.contains('~') {
            return Cow::Borrowed(written);
        }
        let mut decoded = String::with_capacity(end.saturating_sub(start));
        let mut at = start;
        while let Some(character) = self.text.get(at..end).and_then(|rest| rest.chars().next()) {
            let escaped = match character {
                '~' if at + 1 < end && self.is_word(at, "~1") => Some('/'),
                '~' if at + 1 < end && self.is_word(at, "~0") => Some('~'),
                _ => None,
            };
            decoded.push(escaped.unwrap_or(character));
            at += if escaped.is_some() { 2 } else { character.len_utf8() };
        }
        Cow::Owned(decoded)
    }
}
