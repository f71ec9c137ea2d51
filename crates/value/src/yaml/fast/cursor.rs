//! The cursor of the fast path: lines, columns, bytes.

use super::super::split::starts_document;
use super::FastReader;
use crate::Position;

impl<'a, const PLACES: bool> FastReader<'a, PLACES> {
    /// Goes on to the next line after a value that ended on this one.
    #[inline]
    pub(super) fn next_line(&mut self) -> Option<()> {
        self.end_of_value()?;
        self.advance()
    }

    /// Steps over blanks and a comment to the end of the line.
    pub(super) fn end_of_value(&mut self) -> Option<()> {
        let before = self.at;
        self.skip_spaces();
        match self.byte() {
            b'\n' | 0 => Some(()),
            b'#' if self.at > before || self.byte_at(before.checked_sub(1)?) == b' ' => {
                self.skip_line();
                Some(())
            }
            _ => None,
        }
    }

    pub(super) fn first_line(&mut self) -> Option<()> {
        if self.is_content()? { Some(()) } else { self.advance() }
    }

    /// Goes to the first character of the next line that has content; `at` is at the end of a line.
    pub(super) fn advance(&mut self) -> Option<()> {
        loop {
            if self.at >= self.bytes.len() {
                self.has_line = false;
                return Some(());
            }
            self.at += 1;
            self.line += 1;
            self.line_start = self.at;
            self.counted = (self.at, 0);
            if self.is_content()? {
                return Some(());
            }
        }
    }

    /// Returns whether the line that starts here has content, and goes to it or to the end of the line.
    fn is_content(&mut self) -> Option<bool> {
        self.skip_spaces();
        match self.byte() {
            b'\n' | 0 => return Some(false),
            b'#' => {
                self.skip_line();
                return Some(false);
            }
            b'\t' => return None,
            _ => {}
        }
        self.has_line = true;
        self.indent = self.at - self.line_start;
        if self.indent == 0 {
            let is_end = || self.bytes.get(self.at..self.at + 3) == Some(b"...");
            match self.byte() {
                b'-' if starts_document(self.bytes, self.at) => return None,
                b'.' if is_end() => return None,
                b'%' => return None,
                _ => {}
            }
        }
        Some(true)
    }

    /// Notes a node or key that starts at `offset` of this line.
    #[inline]
    pub(super) fn note(&mut self, offset: usize) {
        if PLACES {
            let place = self.place(offset);
            self.positions.push(place);
        }
    }

    /// Returns the position of `offset`, which is on this line.
    #[inline]
    pub(super) fn place(&mut self, offset: usize) -> Position {
        let column = if self.is_ascii { offset - self.line_start } else { self.count(offset) };
        Position { line: self.line, column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1) }
    }

    /// Counts the characters of this line before `offset`.
    fn count(&mut self, offset: usize) -> usize {
        let (from, known) = if self.counted.0 <= offset { self.counted } else { (self.line_start, 0) };
        let bytes = self.bytes.get(from..offset).unwrap_or_default();
        let more = bytes.iter().filter(|byte| !(0x80..0xc0).contains(*byte)).count();
        let count = known.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self.counted = (offset, count);
        count as usize
    }

    /// Returns whether a `-` that starts a list item is next.
    #[inline]
    pub(super) fn is_dash(&self) -> bool {
        self.byte() == b'-' && matches!(self.byte_at(self.at + 1), b' ' | b'\n' | 0)
    }

    #[inline]
    pub(super) fn skip_spaces(&mut self) {
        while self.byte() == b' ' {
            self.at += 1;
        }
    }

    pub(super) fn skip_line(&mut self) {
        while !matches!(self.byte(), b'\n' | 0) {
            self.at += 1;
        }
    }

    #[inline]
    pub(super) fn byte(&self) -> u8 {
        self.byte_at(self.at)
    }

    #[inline]
    pub(super) fn byte_at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}
