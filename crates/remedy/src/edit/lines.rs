//! The lines of a text: where they start, how deep they are, and where blocks end.

use kubewright_value::Position;

/// A text and its lines, counted from 1.
pub(super) struct TextLines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> TextLines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Returns where line `number` starts; the end of the text behind the last line.
    pub(super) fn start(&self, number: u32) -> usize {
        let place = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        self.starts.get(place).copied().unwrap_or(self.text.len())
    }

    /// Returns line `number` without its end.
    pub(super) fn line(&self, number: u32) -> Option<&'t str> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = *self.starts.get(place)?;
        let end = self.starts.get(place + 1).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..end)?;
        let is_last = end == self.text.len();
        (!is_last || !line.is_empty()).then(|| line.trim_end_matches(['\n', '\r']))
    }

    /// Returns where a position is.
    pub(super) fn offset(&self, position: Position) -> Option<usize> {
        let line = self.line(position.line)?;
        let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
        let before: usize = line.chars().take(column).map(char::len_utf8).sum();
        Some(self.start(position.line) + before)
    }

    /// Returns the text from `at` on.
    pub(super) fn rest(&self, at: usize) -> &'t str {
        self.text.get(at..).unwrap_or_default()
    }

    /// Returns the text with `range` replaced.
    pub(super) fn spliced(&self, range: std::ops::Range<usize>, new: &str) -> Option<String> {
        Some(format!("{}{new}{}", self.text.get(..range.start)?, self.text.get(range.end..)?))
    }

    /// Returns the text with whole lines `block` put before line `number`.
    pub(super) fn with_lines(&self, number: u32, block: &str) -> Option<String> {
        let at = self.start(number);
        let is_open = at == self.text.len() && !self.text.is_empty() && !self.text.ends_with('\n');
        let ending = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let block = block.replace('\n', ending);
        let block = if is_open { format!("{ending}{block}") } else { block };
        self.spliced(at..at, &block)
    }

    /// Returns the last line of the block that begins at `first` and whose key or dash is `indent` deep.
    pub(super) fn block_end(&self, first: u32, indent: usize, is_item: bool) -> u32 {
        let (mut end, mut number) = (first, first + 1);
        while let Some(line) = self.line(number) {
            let content = line.trim_start();
            if !content.is_empty() && !content.starts_with('#') {
                let depth = line.len() - content.len();
                let is_item_below =
                    !is_item && depth == indent && (content.starts_with("- ") || content == "-");
                if depth <= indent && !is_item_below {
                    break;
                }
                end = number;
            }
            number += 1;
        }
        end
    }
}
