//! Scalars on one line, and blocks.

use std::borrow::Cow;

use super::FastReader;
use crate::eight_bytes::EightBytes;
use crate::{Text, Value};

impl<'a, const PLACES: bool> FastReader<'a, PLACES> {
    /// Reads a plain scalar on this line; says whether the `:` of a key follows it, which then is next.
    #[inline]
    pub(super) fn plain(&mut self) -> Option<(&'a str, bool)> {
        let start = self.at;
        match self.byte() {
            b'-' if !matches!(self.byte_at(start + 1), b' ' | b'\n' | b'\t' | 0) => {}
            b'-' | b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|'
            | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' | b'\t' => return None,
            _ => {}
        }
        loop {
            self.skip_harmless();
            match self.byte() {
                b'\n' | 0 => return Some((self.trimmed(start), false)),
                b':' => match self.byte_at(self.at + 1) {
                    b' ' | b'\n' | 0 => return Some((self.trimmed(start), true)),
                    b'\t' => return None,
                    _ => {}
                },
                b'#' if self.byte_at(self.at - 1) == b' ' => return Some((self.trimmed(start), false)),
                b'#' => {}
                _ => return None,
            }
            self.at += 1;
        }
    }

    /// Steps over bytes that are ordinary in a plain scalar, eight at a time.
    #[inline]
    fn skip_harmless(&mut self) {
        while let Some(eight) = EightBytes::at(self.bytes, self.at) {
            let special = eight.equal(b'\n') | eight.equal(b':') | eight.equal(b'#') | eight.equal(b'\t');
            if let Some(special) = special.first() {
                self.at += special;
                return;
            }
            self.at += 8;
        }
        while !matches!(self.byte(), b'\n' | b':' | b'#' | b'\t' | 0) {
            self.at += 1;
        }
    }

    #[inline]
    fn trimmed(&self, start: usize) -> &'a str {
        let mut end = self.at;
        while end > start && self.byte_at(end - 1) == b' ' {
            end -= 1;
        }
        self.slice(start, end)
    }

    /// Reads a scalar in quotes that ends on this line.
    pub(super) fn quoted(&mut self, quote: u8) -> Option<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.byte() {
                byte if byte == quote => break,
                b'\n' | 0 => return None,
                b'\\' if quote == b'"' => return self.escaped(start).map(Cow::Owned),
                _ => self.at += 1,
            }
        }
        if quote == b'\'' && self.byte_at(self.at + 1) == b'\'' {
            return self.doubled(start).map(Cow::Owned);
        }
        let text = self.slice(start, self.at);
        self.at += 1;
        Some(Cow::Borrowed(text))
    }

    /// Goes on with a text in double quotes that has an escape.
    fn escaped(&mut self, start: usize) -> Option<String> {
        let mut out = String::from(self.slice(start, self.at));
        loop {
            let run = self.at;
            while !matches!(self.byte(), b'"' | b'\\' | b'\n' | 0) {
                self.at += 1;
            }
            out.push_str(self.slice(run, self.at));
            match (self.byte(), self.byte_at(self.at + 1)) {
                (b'"', _) => break,
                (b'\\', b'"') => out.push('"'),
                (b'\\', b'\\') => out.push('\\'),
                (b'\\', b'n') => out.push('\n'),
                (b'\\', b't') => out.push('\t'),
                _ => return None,
            }
            self.at += 2;
        }
        self.at += 1;
        Some(out)
    }

    /// Goes on with a text in single quotes that has two of them in it.
    fn doubled(&mut self, start: usize) -> Option<String> {
        let mut out = String::from(self.slice(start, self.at));
        loop {
            let run = self.at;
            while !matches!(self.byte(), b'\'' | b'\n' | 0) {
                self.at += 1;
            }
            out.push_str(self.slice(run, self.at));
            match (self.byte(), self.byte_at(self.at + 1)) {
                (b'\'', b'\'') => out.push('\''),
                (b'\'', _) => break,
                _ => return None,
            }
            self.at += 2;
        }
        self.at += 1;
        Some(out)
    }

    /// Reads `|` or `>` and its lines, which are deeper than `parent`.
    pub(super) fn block_scalar(&mut self, parent: usize, slot: &mut Value) -> Option<()> {
        self.note(self.at);
        let is_literal = self.byte() == b'|';
        self.at += 1;
        let chomping = self.byte();
        if matches!(chomping, b'-' | b'+') {
            self.at += 1;
        }
        self.skip_spaces();
        if self.byte() != b'\n' {
            return None;
        }
        let indent = self.block_indent()?;
        if indent <= parent {
            return None;
        }
        let mut out = String::new();
        // The breaks since the last line with text, and whether that line started with a blank.
        let mut breaks = 0;
        let mut was_blank = true;
        while let Some(is_empty) = self.block_line(indent)? {
            if is_empty {
                breaks += 1;
                continue;
            }
            let is_blank = matches!(self.byte(), b' ' | b'\t');
            if !is_literal && !is_blank && !was_blank && breaks > 0 {
                match breaks {
                    1 => out.push(' '),
                    more => push_breaks(&mut out, more - 1),
                }
            } else {
                push_breaks(&mut out, breaks);
            }
            was_blank = is_blank;
            let start = self.at;
            self.skip_line();
            out.push_str(self.slice(start, self.at));
            breaks = usize::from(self.byte() == b'\n');
        }
        match chomping {
            b'-' => {}
            b'+' => push_breaks(&mut out, breaks),
            _ => push_breaks(&mut out, breaks.min(1)),
        }
        *slot = Value::String(Text::from(out));
        Some(())
    }

    /// Returns the column of the first line with text below; `at` is at the end of the header.
    fn block_indent(&self) -> Option<usize> {
        let mut at = self.at + 1;
        let mut widest = 0;
        loop {
            let start = at;
            while self.byte_at(at) == b' ' {
                at += 1;
            }
            match self.byte_at(at) {
                b'\n' => widest = widest.max(at - start),
                0 | b'\t' => return None,
                // An empty line wider than the text would count as its indentation.
                _ => return (widest <= at - start).then_some(at - start),
            }
            at += 1;
        }
    }

    /// Goes from the end of a line to column `indent` of the next. Returns whether that line is empty, and
    /// nothing inside if it does not belong to the block; then it has gone to the next line with content.
    fn block_line(&mut self, indent: usize) -> Option<Option<bool>> {
        let end = self.at;
        if end >= self.bytes.len() {
            self.has_line = false;
            return Some(None);
        }
        let start = end + 1;
        let mut at = start;
        while at - start < indent && self.byte_at(at) == b' ' {
            at += 1;
        }
        let byte = self.byte_at(at);
        if byte == b'\n' {
            (self.at, self.line, self.line_start) = (at, self.line + 1, start);
            return Some(Some(true));
        }
        if at - start < indent || byte == 0 {
            if byte == b'\t' {
                return None;
            }
            self.advance()?;
            return Some(None);
        }
        (self.at, self.line, self.line_start) = (at, self.line + 1, start);
        Some(Some(false))
    }
}

fn push_breaks(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n('\n', count));
}
