//! The fast path: block style as people and tools write it, in one pass over the bytes.
//!
//! It understands block mappings and lists, comments, scalars on one line, `|` and `>` blocks, and flow
//! collections on one line. Everything else (anchors, tags, complex keys, equal keys, merges, tabs, texts over
//! several lines, every error) makes it give up, and the full parser reads the document from its start. So it
//! never reports anything, and what it returns is exactly what the full parser would return.

mod cursor;
mod flow;
mod text;

use std::borrow::Cow;

use super::scalar::{ResolvedScalar, resolve_scalar};
use super::split::starts_document;
use crate::json::MAX_DEPTH;
use crate::{Map, Position, Text, Value};

/// The maximum length of a key here; the full parser knows the real limit.
const MAX_FAST_KEY_BYTES: usize = 1000;

/// The maximum length of a text to be tried as one scalar before anything else.
const MAX_FAST_SCALAR_BYTES: usize = 4096;

/// A document read by the fast path.
pub(super) struct FastDocument {
    /// Nothing when the document is empty.
    pub(super) value: Option<Value>,
    pub(super) positions: Vec<Position>,
}

/// Reads the document in `text` from `start` on, which is the start of line `line`, counted from 1.
///
/// The text has no control characters and no line breaks but `\n`. With `PLACES`, positions are kept.
pub(super) fn read_fast<const PLACES: bool>(
    text: &str,
    start: usize,
    line: u32,
    is_ascii: bool,
) -> Option<FastDocument> {
    let mut reader = FastReader::<PLACES> {
        text,
        bytes: text.as_bytes(),
        at: start,
        line,
        line_start: start,
        indent: 0,
        has_line: false,
        depth: 0,
        is_ascii,
        counted: (start, 0),
        positions: Vec::new(),
    };
    if PLACES {
        reader.positions.reserve((text.len() - start) / 12);
    }
    let value = reader.document()?;
    Some(FastDocument { value, positions: reader.positions })
}

/// Reads a text that is one simple scalar: a word, a number, a text of harmless characters.
pub(super) fn read_fast_scalar(text: &str) -> Option<Value> {
    if text.len() > MAX_FAST_SCALAR_BYTES {
        return None;
    }
    let text = text.strip_suffix('\n').unwrap_or(text);
    let bytes = text.as_bytes();
    match bytes {
        [b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'_', ..] | [b'-', b'0'..=b'9', ..] => {}
        [b'"', inner @ .., b'"'] => {
            let is_harmless = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
            let inner = inner.iter().all(is_harmless).then(|| text.get(1..bytes.len() - 1)).flatten()?;
            return Some(Value::String(Text::new(inner)));
        }
        _ => return None,
    }
    let mut before = 0;
    for byte in bytes {
        // A colon ends a key only when a blank follows it.
        let is_plain = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'+'..=b'9' | b'_' | b'=' => true,
            b' ' | b':' => before != b':',
            _ => false,
        };
        if !is_plain {
            return None;
        }
        before = *byte;
    }
    let text = if before == b' ' { text.trim_end_matches(' ') } else { text };
    if before == b':' || text.ends_with(':') { None } else { resolve_scalar(text).value(text) }
}

/// Reads `text` as [`read_fast_scalar`] does, if nothing in it ends or separates values.
pub(super) fn read_fast_word(text: &str) -> Option<Value> {
    let is_word = |byte: &u8| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'-'..=b'9' | b'_');
    let begins_value =
        |bytes: &[u8]| matches!(bytes, [first, ..] if first.is_ascii_alphanumeric() || *first == b'/');
    let is_read = text.len() <= MAX_FAST_SCALAR_BYTES
        && begins_value(text.as_bytes())
        && text.as_bytes().iter().all(is_word);
    if is_read { resolve_scalar(text).value(text) } else { None }
}

/// INVARIANT: every method that returns nothing gives up for good.
struct FastReader<'a, const PLACES: bool> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    line_start: usize,
    // The column of the line that `at` is on, if there is one left.
    indent: usize,
    has_line: bool,
    depth: usize,
    is_ascii: bool,
    // Up to which byte of this line characters were counted, and how many there were.
    counted: (usize, u32),
    positions: Vec<Position>,
}

/// A key and where it starts.
struct FastKey<'a> {
    text: Cow<'a, str>,
    start: usize,
}

impl<'a, const PLACES: bool> FastReader<'a, PLACES> {
    fn document(&mut self) -> Option<Option<Value>> {
        if starts_document(self.bytes, self.at) {
            self.at += 3;
            self.end_of_value()?;
            self.advance()?;
        } else {
            self.first_line()?;
        }
        if !self.has_line {
            return Some(None);
        }
        let mut value = Value::Null;
        self.block(self.indent, &mut value)?;
        (!self.has_line).then_some(Some(value))
    }

    /// Reads the mapping or list that starts at `column` into `slot`, as all methods with a slot do.
    fn block(&mut self, column: usize, slot: &mut Value) -> Option<()> {
        if self.is_dash() {
            return self.sequence(column, false, slot);
        }
        let key = self.key()?;
        self.mapping(column, key, slot)
    }

    /// Reads a list whose first `-` is next. An `indentless` one ends at a key in the column of its dashes.
    fn sequence(&mut self, column: usize, indentless: bool, slot: &mut Value) -> Option<()> {
        self.enter()?;
        self.note(self.at);
        let mut items = Vec::new();
        loop {
            self.at += 1;
            items.push(Value::Null);
            self.item(column, items.last_mut()?)?;
            if !self.has_line || self.indent < column {
                break;
            }
            if self.indent > column {
                return None;
            }
            if !self.is_dash() {
                if indentless {
                    break;
                }
                return None;
            }
        }
        self.depth -= 1;
        *slot = Value::array(items);
        Some(())
    }

    /// Reads what follows the `-` at `column`.
    fn item(&mut self, column: usize, slot: &mut Value) -> Option<()> {
        let dash_end = self.at;
        self.skip_spaces();
        let start = self.at;
        match self.byte() {
            b'\n' | b'#' | 0 => self.value_below(dash_end, column, false, slot),
            b'-' if self.is_dash() => self.sequence(start - self.line_start, false, slot),
            quote @ (b'"' | b'\'') => {
                let text = self.quoted(quote)?;
                if self.byte() == b':' {
                    self.key_end(start)?;
                    return self.mapping(start - self.line_start, FastKey { text, start }, slot);
                }
                self.note(start);
                *slot = Value::String(Text::new(text));
                self.next_line()
            }
            b'[' | b'{' => self.flow_value(slot),
            b'|' | b'>' => self.block_scalar(column, slot),
            _ => {
                let (text, has_colon) = self.plain()?;
                if has_colon {
                    let text = plain_key(text)?;
                    self.at += 1;
                    return self.mapping(start - self.line_start, FastKey { text, start }, slot);
                }
                self.note(start);
                set_plain_scalar(slot, text)?;
                self.next_line()
            }
        }
    }

    /// Reads the mapping at `column` whose first key was read.
    fn mapping(&mut self, column: usize, key: FastKey<'a>, slot: &mut Value) -> Option<()> {
        self.enter()?;
        self.note(key.start);
        let mut map = Map::new();
        let mut key = key;
        loop {
            self.note(key.start);
            self.value(column, map.slot(&key.text).ok()?)?;
            if !self.has_line || self.indent < column {
                break;
            }
            if self.indent > column || self.is_dash() {
                return None;
            }
            key = self.key()?;
        }
        self.depth -= 1;
        *slot = Value::object(map);
        Some(())
    }

    /// Reads a key and its `:`.
    #[inline]
    fn key(&mut self) -> Option<FastKey<'a>> {
        let start = self.at;
        let text = match self.byte() {
            quote @ (b'"' | b'\'') => {
                let text = self.quoted(quote)?;
                self.key_end(start)?;
                return Some(FastKey { text, start });
            }
            b'-' => return None,
            _ => {
                let (text, has_colon) = self.plain()?;
                if !has_colon {
                    return None;
                }
                plain_key(text)?
            }
        };
        self.at += 1;
        Some(FastKey { text, start })
    }

    /// Takes the `:` after a quoted key.
    fn key_end(&mut self, start: usize) -> Option<()> {
        if self.at - start > MAX_FAST_KEY_BYTES || self.byte() != b':' {
            return None;
        }
        self.at += 1;
        matches!(self.byte(), b' ' | b'\n' | 0).then_some(())
    }

    /// Reads what follows the `:` of a key at `column`.
    #[inline]
    fn value(&mut self, column: usize, slot: &mut Value) -> Option<()> {
        let colon_end = self.at;
        self.skip_spaces();
        let start = self.at;
        match self.byte() {
            b'\n' | b'#' | 0 => self.value_below(colon_end, column, true, slot),
            quote @ (b'"' | b'\'') => {
                let text = self.quoted(quote)?;
                self.note(start);
                *slot = Value::String(Text::new(text));
                self.next_line()
            }
            b'[' | b'{' => self.flow_value(slot),
            b'|' | b'>' => self.block_scalar(column, slot),
            b'-' if self.is_dash() => None,
            _ => {
                let (text, has_colon) = self.plain()?;
                if has_colon {
                    return None;
                }
                self.note(start);
                set_plain_scalar(slot, text)?;
                self.next_line()
            }
        }
    }

    /// Reads a value on the lines below the `-` or `:` that ends at `end`, or null if it is missing.
    fn value_below(&mut self, end: usize, column: usize, is_mapping: bool, slot: &mut Value) -> Option<()> {
        let place = self.place(end);
        self.next_line()?;
        if self.has_line && self.indent > column {
            return self.block(self.indent, slot);
        }
        if is_mapping && self.has_line && self.indent == column && self.is_dash() {
            return self.sequence(column, true, slot);
        }
        if PLACES {
            self.positions.push(place);
        }
        Some(())
    }

    fn flow_value(&mut self, slot: &mut Value) -> Option<()> {
        self.flow(slot)?;
        self.next_line()
    }

    fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())
    }
}

/// Returns the key that the plain scalar `text` makes.
#[inline]
fn plain_key(text: &str) -> Option<Cow<'_, str>> {
    if text.len() > MAX_FAST_KEY_BYTES || text == "<<" {
        return None;
    }
    match resolve_scalar(text) {
        ResolvedScalar::Text => Some(Cow::Borrowed(text)),
        other => other.key(text).ok().map(|key| Cow::Owned(key.to_string())),
    }
}

/// Writes what the plain scalar `text` means.
#[inline]
fn set_plain_scalar(slot: &mut Value, text: &str) -> Option<()> {
    match resolve_scalar(text) {
        ResolvedScalar::Text => *slot = Value::String(Text::new(text)),
        other => *slot = other.value(text)?,
    }
    Some(())
}
