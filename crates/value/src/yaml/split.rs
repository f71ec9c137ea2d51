//! Splitting a stream into pieces that can be read on their own.

use std::ops::Range;

/// A piece of a stream: mostly one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamChunk {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// The number of its first line, counted from 1.
    pub line: u32,
}

/// The number of bytes that are looked at together.
const BLOCK_BYTES: usize = 64;

/// Cuts `text` before each line that starts with `---`, which always starts a document.
///
/// A piece with a directive goes on to the document that the directive is about.
#[must_use]
pub fn split(text: &str) -> Vec<StreamChunk> {
    let bytes = text.as_bytes();
    let mut cutter =
        StreamCutter { bytes, chunks: Vec::new(), start: 0, start_line: 1, line: 1, has_directive: false };
    cutter.start_line_at(0);
    let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
    let (following, _) = bytes.get(1..).unwrap_or_default().as_chunks::<BLOCK_BYTES>();
    for (number, block) in blocks.iter().enumerate() {
        match following.get(number) {
            Some(following) if !has_marked_line(block, following) => {
                cutter.line = cutter.line.saturating_add(count_breaks(block));
            }
            _ => cutter.take(number * BLOCK_BYTES, block),
        }
    }
    cutter.take(bytes.len() - rest.len(), rest);
    if cutter.start < bytes.len() {
        cutter.chunks.push(StreamChunk { range: cutter.start..bytes.len(), line: cutter.start_line });
    }
    cutter.chunks
}

/// Returns whether a line may start with `---` or a directive behind a line break in `block`; `following` are the bytes behind
/// each of its bytes. Without branches, so that many bytes are compared at once.
fn has_marked_line(block: &[u8; BLOCK_BYTES], following: &[u8; BLOCK_BYTES]) -> bool {
    let is_marked = |(end, first): (&u8, &u8)| (*end == b'\n') & ((*first == b'-') | (*first == b'%'));
    block.iter().zip(following).fold(0, |found, pair| found | u8::from(is_marked(pair))) != 0
}

fn count_breaks(block: &[u8; BLOCK_BYTES]) -> u32 {
    u32::from(block.iter().fold(0_u8, |count, byte| count + u8::from(*byte == b'\n')))
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
    /// Goes through `part`, which begins at `from`, line by line.
    fn take(&mut self, from: usize, part: &[u8]) {
        for (at, _) in part.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.line = self.line.saturating_add(1);
            self.start_line_at(from + at + 1);
        }
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
