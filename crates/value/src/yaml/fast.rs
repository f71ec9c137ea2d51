//! The fast path: block style as people and tools write it, in one pass over the bytes.
//!
//! It understands block mappings and lists, comments, scalars on one line, `|` and `>` blocks, and flow
//! collections on one line. Everything else (anchors, tags, complex keys, equal keys, merges, tabs, texts over
//! several lines, every error) makes it give up, and the full parser reads the document from its start. So it
//! never reports anything, and what it returns is exactly what the full parser would return.

mod flow;
mod text;

use super::scalar::{Scalar, resolve};
use super::split::starts_document;
use crate::json::MAX_DEPTH;
use crate::{Map, Position, Text, Value};

/// How long a key may be here; the full parser knows the real limit.
const LONGEST_KEY: usize = 1000;

/// What the fast path made of a document.
pub(super) struct Read {
    /// Nothing when the document is empty.
    pub(super) value: Option<Value>,
    pub(super) positions: Vec<Position>,
}

/// Reads the document in `text` from `start` on, which is the start of line `line`, counted from 1.
///
/// The text has no control characters and no line breaks but `\n`. With `PLACES`, positions are kept.
pub(super) fn read<const PLACES: bool>(text: &str, start: usize, line: u32, is_ascii: bool) -> Option<Read> {
    let mut reader = Reader::<PLACES> {
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
    Some(Read { value, positions: reader.positions })
}

/// Reads a text that is one simple scalar: a word, a number, a text of harmless characters.
pub(super) fn scalar(text: &str) -> Option<Value> {
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
        let is_word =
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+' | b'=' | b',');
        // A colon ends a key only when a blank follows it.
        if !(is_word || (*byte == b' ' && before != b':') || (*byte == b':' && before != b':')) {
            return None;
        }
        before = *byte;
    }
    let text = if before == b' ' { text.trim_end_matches(' ') } else { text };
    if before == b':' || text.ends_with(':') { None } else { resolve(text).value(text) }
}

/// INVARIANT: every method that returns nothing gives up for good.
struct Reader<'a, const PLACES: bool> {
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
struct Key {
    text: Text,
    start: usize,
}

impl<'a, const PLACES: bool> Reader<'a, PLACES> {
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
        let value = self.block(self.indent)?;
        (!self.has_line).then_some(Some(value))
    }

    /// Reads the mapping or list that starts at `column`.
    fn block(&mut self, column: usize) -> Option<Value> {
        if self.is_dash() {
            return self.sequence(column, false);
        }
        let key = self.key()?;
        self.mapping(column, key)
    }

    /// Reads a list whose first `-` is next. An `indentless` one ends where a key stands under its dashes.
    fn sequence(&mut self, column: usize, indentless: bool) -> Option<Value> {
        self.enter()?;
        self.note(self.at);
        let mut items = Vec::new();
        loop {
            self.at += 1;
            items.push(self.item(column)?);
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
        Some(Value::array(items))
    }

    /// Reads what follows the `-` at `column`.
    fn item(&mut self, column: usize) -> Option<Value> {
        let dash_end = self.at;
        self.skip_spaces();
        match self.byte() {
            b'\n' | b'#' | 0 => self.value_below(dash_end, column, false),
            b'-' if self.is_dash() => self.sequence(self.at - self.line_start, false),
            quote @ (b'"' | b'\'') => {
                let start = self.at;
                let text = self.quoted(quote)?;
                if self.byte() == b':' {
                    let text = self.key_end(start, text)?;
                    return self.mapping(start - self.line_start, Key { text, start });
                }
                self.note(start);
                self.scalar_end(Value::String(text))
            }
            b'[' | b'{' => self.flow_value(),
            b'|' | b'>' => self.block_scalar(column),
            _ => {
                let start = self.at;
                let (text, has_colon) = self.plain()?;
                if has_colon {
                    let key = plain_key(text)?;
                    self.at += 1;
                    return self.mapping(start - self.line_start, Key { text: key, start });
                }
                self.note(start);
                let value = resolve(text).value(text)?;
                self.scalar_end(value)
            }
        }
    }

    /// Reads the mapping at `column` whose first key was read.
    fn mapping(&mut self, column: usize, key: Key) -> Option<Value> {
        self.enter()?;
        self.note(key.start);
        let mut map = Map::new();
        let mut key = key;
        loop {
            self.note(key.start);
            let value = self.value(column)?;
            if map.insert(key.text, value).is_some() {
                return None;
            }
            if !self.has_line || self.indent < column {
                break;
            }
            if self.indent > column || self.is_dash() {
                return None;
            }
            key = self.key()?;
        }
        self.depth -= 1;
        Some(Value::object(map))
    }

    /// Reads a key and its `:`.
    fn key(&mut self) -> Option<Key> {
        let start = self.at;
        let text = match self.byte() {
            quote @ (b'"' | b'\'') => {
                let text = self.quoted(quote)?;
                return Some(Key { text: self.key_end(start, text)?, start });
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
        Some(Key { text, start })
    }

    /// Takes the `:` after a quoted key.
    fn key_end(&mut self, start: usize, text: Text) -> Option<Text> {
        if self.at - start > LONGEST_KEY || self.byte() != b':' {
            return None;
        }
        self.at += 1;
        matches!(self.byte(), b' ' | b'\n' | 0).then_some(text)
    }

    /// Reads what follows the `:` of a key at `column`.
    fn value(&mut self, column: usize) -> Option<Value> {
        let colon_end = self.at;
        self.skip_spaces();
        match self.byte() {
            b'\n' | b'#' | 0 => self.value_below(colon_end, column, true),
            quote @ (b'"' | b'\'') => {
                let start = self.at;
                let text = self.quoted(quote)?;
                self.note(start);
                self.scalar_end(Value::String(text))
            }
            b'[' | b'{' => self.flow_value(),
            b'|' | b'>' => self.block_scalar(column),
            b'-' if self.is_dash() => None,
            _ => {
                let start = self.at;
                let (text, has_colon) = self.plain()?;
                if has_colon {
                    return None;
                }
                self.note(start);
                let value = resolve(text).value(text)?;
                self.scalar_end(value)
            }
        }
    }

    /// Reads a value on the lines below the `-` or `:` that ends at `end`, or null if there is none.
    fn value_below(&mut self, end: usize, column: usize, is_mapping: bool) -> Option<Value> {
        let place = self.place(end);
        self.end_of_value()?;
        self.advance()?;
        if self.has_line && self.indent > column {
            return self.block(self.indent);
        }
        if is_mapping && self.has_line && self.indent == column && self.is_dash() {
            return self.sequence(column, true);
        }
        if PLACES {
            self.positions.push(place);
        }
        Some(Value::Null)
    }

    fn flow_value(&mut self) -> Option<Value> {
        let value = self.flow()?;
        self.scalar_end(value)
    }

    /// Goes on to the next line after a value that ended on this one.
    fn scalar_end(&mut self, value: Value) -> Option<Value> {
        self.end_of_value()?;
        self.advance()?;
        Some(value)
    }

    /// Steps over blanks and a comment to the end of the line.
    fn end_of_value(&mut self) -> Option<()> {
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

    /// Goes to the first character of the next line that has content; `at` is at the end of a line.
    fn advance(&mut self) -> Option<()> {
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

    fn first_line(&mut self) -> Option<()> {
        if self.is_content()? { Some(()) } else { self.advance() }
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

    fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= MAX_DEPTH).then_some(())
    }

    /// Notes a node or key that starts at `offset` of this line.
    #[inline]
    fn note(&mut self, offset: usize) {
        if PLACES {
            let place = self.place(offset);
            self.positions.push(place);
        }
    }

    /// Returns the position of `offset`, which is on this line.
    #[inline]
    fn place(&mut self, offset: usize) -> Position {
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
    fn is_dash(&self) -> bool {
        self.byte() == b'-' && matches!(self.byte_at(self.at + 1), b' ' | b'\n' | 0)
    }

    #[inline]
    fn byte(&self) -> u8 {
        self.byte_at(self.at)
    }

    #[inline]
    fn byte_at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn skip_spaces(&mut self) {
        while self.byte() == b' ' {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        while !matches!(self.byte(), b'\n' | 0) {
            self.at += 1;
        }
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// Returns the key that the plain scalar `text` makes.
#[inline]
fn plain_key(text: &str) -> Option<Text> {
    if text.len() > LONGEST_KEY || text == "<<" {
        return None;
    }
    match resolve(text) {
        Scalar::Text => Some(Text::new(text)),
        other => other.key(text).ok(),
    }
}
