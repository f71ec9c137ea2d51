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

/// Cuts `text` before each line that starts with `---`, which always starts a document.
///
/// A piece with a directive goes on to the document that the directive is about.
#[must_use]
pub fn split(text: &str) -> Vec<StreamChunk> {
    let bytes = text.as_bytes();
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut start_line = 1;
    let mut line = 1_u32;
    let mut has_directive = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes.get(at) {
            Some(b'-') if at > start && starts_document(bytes, at) => {
                if has_directive {
                    has_directive = false;
                } else {
                    chunks.push(StreamChunk { range: start..at, line: start_line });
                    (start, start_line) = (at, line);
                }
            }
            Some(b'%') => has_directive = true,
            _ => {}
        }
        let Some(end) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n')) else {
            break;
        };
        at += end + 1;
        line = line.saturating_add(1);
    }
    if start < bytes.len() {
        chunks.push(StreamChunk { range: start..bytes.len(), line: start_line });
    }
    chunks
}

/// Returns whether `---` and a blank or the end of the line are at `at`, where a line starts.
pub(super) fn starts_document(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..at + 3) == Some(b"---")
        && matches!(bytes.get(at + 3), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
}
