//! Splitting a stream into pieces that can be read on their own.

use std::ops::Range;

use crate::eight_bytes::EightBytes;

/// A piece of a stream: mostly one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamChunk {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// The number of its first line, counted from 1.
    pub line: u32,
}

/// Cuts `text` before each line that starts with `---`, which always starts a document.
///
/// A piece with a directive goes on to the document that the directive is about.
#[must_use]
pub fn split(text: &str) -> Vec<StreamChunk> {
    let bytes = text.as_bytes();
    let mut cutter =
        StreamCutter { bytes, chunks: Vec::new(), start: 0, start_line: 1, line: 1, has_directive: false };
    cutter.start_line_at(0);
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        // Eight bytes are compared at once, because lines are long.
        for at in EightBytes::new(*word).places_of(b'\n') {
            cutter.end_line_at(number * 8 + at);
        }
    }
    let from = bytes.len() - rest.len();
    for (at, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        cutter.end_line_at(from + at);
    }
    if cutter.start < bytes.len() {
        cutter.chunks.push(StreamChunk { range: cutter.start..bytes.len(), line: cutter.start_line });
    }
    cutter.chunks
}

/// A text that is cut from its start to its end.
struct StreamCutter<'t> {
    bytes: &'t [u8],
    chunks: Vec<StreamChunk>,
    /// Where the present piece starts.
    start: usize,
    start_line: u32,
    /// The number of the line that was reached.
    line: u32,
    has_directive: bool,
}

impl StreamCutter<'_> {
    fn end_line_at(&mut self, at: usize) {
        self.line = self.line.saturating_add(1);
        self.start_line_at(at + 1);
    }

    fn start_line_at(&mut self, at: usize) {
        match self.bytes.get(at) {
            Some(b'-') if at > self.start && starts_document(self.bytes, at) => {
                if self.has_directive {
                    self.has_directive = false;
                } else {
                    self.chunks.push(StreamChunk { range: self.start..at, line: self.start_line });
                    (self.start, self.start_line) = (at, self.line);
                }
            }
            Some(b'%') => self.has_directive = true,
            _ => {}
        }
    }
}

/// Returns whether `---` and a blank or the end of the line are at `at`, where a line starts.
pub(super) fn starts_document(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 3) == Some(b"---")
        && matches!(bytes.get(at + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
}
