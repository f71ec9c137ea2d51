//! YAML text to values and back, as the Kubernetes tools of Go read it.
//!
//! That is YAML 1.1 with its surprises (`yes` is a boolean, `0777` is octal, also as keys) followed by what
//! JSON makes of it (`1.0` is an integer, keys are text). Plain block style takes a fast path; whatever that
//! does not surely understand is read by the full parser, and the two always agree.

mod cause;
mod encoding;
mod fast;
mod mapping;
mod parser;
mod scalar;
mod scanner;
mod split;
mod token;
mod writer;

use std::sync::Arc;

use thiserror::Error;

pub use encoding::decode;
pub use split::{StreamChunk, split};
pub use writer::write;

use crate::{
    Document, Location, ParseProblem, ParseProblemKind, ParsedStream, Position, Positions, Source, Value,
};
use parser::{ParsedYaml, YamlParser};

/// The maximum number of duplicate keys in one document before it is refused.
const MAX_DUPLICATES: usize = 1000;

/// The maximum size that the aliases of one document may expand to.
const MAX_ALIASED_SIZE: usize = 10 << 20;

/// The maximum length of a document.
const MAX_DOCUMENT_BYTES: usize = 32 << 20;

/// The reason why a text is not YAML.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message} at {position}")]
#[non_exhaustive]
pub struct YamlError {
    /// The sort of problem.
    pub kind: ParseProblemKind,
    /// The value found and the one expected.
    pub message: String,
    /// The position.
    pub position: Position,
}

/// Boxed, so that results stay small.
type YamlFailure = Box<YamlError>;

/// Parses the first document of `text`; an empty text is null.
///
/// # Errors
/// When the document is not YAML or breaks a limit.
pub fn parse(text: &str) -> Result<Value, YamlError> {
    if let Some(value) = fast::read_fast_scalar(text) {
        return Ok(value);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    first_document(text, true).map_err(|failed| *failed)
}

/// Reads a text of letters, digits and a few other characters, none of which separates values. Nothing where `text` is another
/// one; [`parse`] reads that.
pub(crate) fn read_word(text: &str) -> Option<Value> {
    fast::read_fast_word(text)
}

/// Reads all documents of a stream with the position of every part. Empty and null documents are left out.
/// A broken document is a problem; reading goes on at the next line that starts with `---`.
#[must_use]
pub fn read(source: &Arc<Source>) -> ParsedStream {
    let mut reading = ParsedStream::default();
    for chunk in split(&source.text) {
        let mut more = read_chunk(source, &chunk);
        reading.documents.append(&mut more.documents);
        reading.problems.append(&mut more.problems);
    }
    reading
}

/// Reads one piece of a stream; positions are those in the whole text.
#[must_use]
pub fn read_chunk(source: &Arc<Source>, chunk: &StreamChunk) -> ParsedStream {
    read_with(source, chunk, true)
}

/// As [`read_chunk`], by the full parser only. There to hold the fast path against it.
#[doc(hidden)]
#[must_use]
pub fn read_chunk_fully(source: &Arc<Source>, chunk: &StreamChunk) -> ParsedStream {
    read_with(source, chunk, false)
}

/// As [`parse`], by the full parser only. There to hold the fast path against it.
///
/// # Errors
/// As [`parse`].
#[doc(hidden)]
pub fn parse_fully(text: &str) -> Result<Value, YamlError> {
    first_document(text.strip_prefix('\u{feff}').unwrap_or(text), false).map_err(|failed| *failed)
}

fn first_document(text: &str, may_be_fast: bool) -> Result<Value, YamlFailure> {
    check_size(text, 1)?;
    let survey = encoding::survey_encoding(text, 0)?;
    if may_be_fast
        && survey.has_plain_breaks
        && let Some(read) = fast::read_fast::<false>(text, 0, 1, survey.is_ascii)
    {
        return Ok(read.value.unwrap_or_default());
    }
    let document = YamlParser::new(text, 0, 0).document()?;
    Ok(document.map_or(Value::Null, |document| document.value))
}

fn read_with(source: &Arc<Source>, chunk: &StreamChunk, may_be_fast: bool) -> ParsedStream {
    let mut reading = ParsedStream::default();
    let Some(text) = source.text.get(..chunk.range.end) else {
        return reading;
    };
    let mut start = chunk.range.start;
    if start == 0 && text.starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8();
    }
    let piece = text.get(start..).unwrap_or_default();
    let line = chunk.line.saturating_sub(1);
    match check_size(piece, chunk.line).and_then(|()| encoding::survey_encoding(piece, line)) {
        Err(failed) => reading.problems.push(yaml_problem(source, *failed)),
        Ok(survey) => {
            let fast = may_be_fast && survey.has_plain_breaks;
            match fast.then(|| fast::read_fast::<true>(text, start, chunk.line, survey.is_ascii)).flatten() {
                Some(fast::FastDocument { value, positions }) => {
                    let value = value.unwrap_or_default();
                    add_document(
                        source,
                        ParsedYaml { value, positions, duplicates: Vec::new() },
                        &mut reading,
                    );
                }
                None => read_fully(source, text, (start, line), &mut reading),
            }
        }
    }
    reading
}

/// Reads `text` from `start` on, where `line` starts, counted from 0, with the full parser.
fn read_fully(source: &Arc<Source>, text: &str, (start, line): (usize, u32), reading: &mut ParsedStream) {
    let (mut start, mut line) = (start, line);
    loop {
        let mut parser = YamlParser::new(text, start, line);
        let failed = loop {
            match parser.document() {
                Ok(Some(parsed)) => add_document(source, parsed, reading),
                Ok(None) => return,
                Err(failed) => break failed,
            }
        };
        reading.problems.push(yaml_problem(source, *failed));
        let Some(next) = next_document(text.as_bytes(), parser.offset().max(start + 1)) else {
            return;
        };
        let skipped = text.as_bytes().get(start..next).unwrap_or_default();
        let lines = skipped.iter().filter(|byte| **byte == b'\n').count();
        line = line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        start = next;
    }
}

fn check_size(text: &str, line: u32) -> Result<(), YamlFailure> {
    if text.len() <= MAX_DOCUMENT_BYTES {
        return Ok(());
    }
    Err(Box::new(YamlError {
        kind: ParseProblemKind::Size,
        message: format!("the document has more than {} MiB", MAX_DOCUMENT_BYTES >> 20),
        position: Position { line, column: 1 },
    }))
}

fn add_document(source: &Arc<Source>, parsed: ParsedYaml, reading: &mut ParsedStream) {
    for duplicate in parsed.duplicates {
        reading.problems.push(ParseProblem::duplicate_key(
            source,
            &duplicate.key,
            duplicate.first,
            duplicate.second,
        ));
    }
    if !parsed.value.is_null() {
        reading.documents.push(Document {
            value: parsed.value,
            source: Arc::clone(source),
            positions: Positions::new(parsed.positions),
        });
    }
}

fn yaml_problem(source: &Arc<Source>, error: YamlError) -> ParseProblem {
    let error = cause::likely_cause(error, source);
    let location = Location { source: Arc::clone(source), position: error.position, length: 1 };
    ParseProblem { kind: error.kind, message: error.message, location }
}

/// Returns where the next line that starts a document begins, at `from` or after it.
fn next_document(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from.saturating_sub(1);
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'\n')? + 1;
        if split::starts_document(bytes, at) {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests;
