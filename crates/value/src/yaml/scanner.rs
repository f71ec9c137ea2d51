//! YAML text to tokens.
//!
//! Follows the rules of the C library that Go's YAML reader descends from, because what counts as an error
//! must count as one here: simple keys of at most 1024 characters on one line, tabs only where no key may
//! start, `#` a comment wherever a token could start, five sorts of line breaks.
//!
//! The text holds no NUL (checked before), so 0 means the end.

mod property;
mod text;

use std::collections::VecDeque;

use super::token::{YamlMark, YamlToken, YamlTokenKind};
use super::{YamlError, YamlFailure};
use crate::ParseProblemKind;

/// The maximum number of characters of a key without `?`.
const MAX_KEY_CHARS: u32 = 1024;

/// Hands out tokens one by one, reading no further than it must.
pub(super) struct YamlScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    mark: YamlMark,
    ready: VecDeque<YamlToken<'a>>,
    // How many tokens were handed out; `ready` starts with this number.
    taken: usize,
    // INVARIANT: one for the block level and one for each open flow collection.
    keys: Vec<KeyCandidate>,
    key_allowed: bool,
    // The column of the innermost block collection, -1 outside.
    indent: i64,
    indents: Vec<i64>,
    ended: bool,
}

/// A token that turns out to be a key if `:` follows.
#[derive(Clone, Copy, Default)]
struct KeyCandidate {
    possible: bool,
    required: bool,
    // Whether its token waits to see if it is a key. A quirk of the original: it does not after an empty
    // flow collection, so that `[]: a` is an empty list with something behind it.
    waits: bool,
    token: usize,
    mark: YamlMark,
}

impl<'a> YamlScanner<'a> {
    /// Returns a scanner of `text` from `at` on, which is the start of line `line`, counted from 0.
    pub(super) fn new(text: &'a str, at: usize, line: u32) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at,
            mark: YamlMark { line, column: 0 },
            ready: VecDeque::new(),
            taken: 0,
            keys: vec![KeyCandidate::default()],
            key_allowed: true,
            indent: -1,
            indents: Vec::new(),
            ended: false,
        }
    }

    /// Returns how far the text was looked at.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the next token without taking it.
    pub(super) fn peek(&mut self) -> Result<&YamlToken<'a>, YamlFailure> {
        self.fill()?;
        match self.ready.front() {
            Some(token) => Ok(token),
            None => Err(Box::new(YamlError {
                kind: ParseProblemKind::Syntax,
                message: "found the end, expected more".to_owned(),
                position: self.mark.position(),
            })),
        }
    }

    /// Takes the next token.
    pub(super) fn next(&mut self) -> Result<YamlToken<'a>, YamlFailure> {
        self.fill()?;
        match self.ready.pop_front() {
            Some(token) => {
                self.taken += 1;
                Ok(token)
            }
            None => Err(self.wrong("found the end, expected more")),
        }
    }

    /// Scans until the first token is sure not to become a key.
    fn fill(&mut self) -> Result<(), YamlFailure> {
        while !self.ended {
            if !self.ready.is_empty() {
                let Some(at) = self.waiting() else {
                    return Ok(());
                };
                if !self.is_valid(at)? {
                    return Ok(());
                }
            }
            self.scan()?;
        }
        Ok(())
    }

    /// Returns which candidate the first token is, if it waits to see whether it is a key.
    fn waiting(&self) -> Option<usize> {
        // Levels were opened one after the other, so their tokens are in order.
        let first = self.keys.partition_point(|key| key.token < self.taken);
        let same = self.keys.get(first..)?.iter().take_while(|key| key.token == self.taken);
        let found = same.enumerate().find(|(_, key)| key.possible && key.waits);
        found.map(|(place, _)| first + place)
    }

    /// Scans one token, and the invisible ones before it.
    fn scan(&mut self) -> Result<(), YamlFailure> {
        self.skip_to_token();
        self.unroll(i64::from(self.mark.column));
        let byte = self.byte(0);
        if self.mark.column == 0 {
            match byte {
                b'%' => return self.directive(),
                b'-' if self.is_marker() => return self.document_marker(YamlTokenKind::DocumentStart),
                b'.' if self.is_marker() => return self.document_marker(YamlTokenKind::DocumentEnd),
                _ => {}
            }
        }
        let flow = self.in_flow();
        match byte {
            0 => self.stream_end(),
            b'[' => self.flow_start(YamlTokenKind::FlowSequenceStart),
            b'{' => self.flow_start(YamlTokenKind::FlowMappingStart),
            b']' => self.flow_end(YamlTokenKind::FlowSequenceEnd),
            b'}' => self.flow_end(YamlTokenKind::FlowMappingEnd),
            b',' => self.flow_entry(),
            b'-' if self.is_blank_or_end(1) => self.block_entry(),
            b'?' if flow || self.is_blank_or_end(1) => self.explicit_key(),
            b':' if flow || self.is_blank_or_end(1) => self.value(),
            b'*' | b'&' => self.anchor(),
            b'!' => self.tag(),
            b'|' | b'>' if !flow => self.block_scalar(byte == b'|'),
            b'\'' | b'"' => self.quoted(byte),
            b'-' | b'?' | b':' => self.plain(),
            b'\t' => Err(self.wrong("found a tab, and YAML allows only spaces for indentation")),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b' ' => {
                let character = char::from(byte);
                Err(self.wrong(&format!("found `{}`, which cannot start a value", character.escape_debug())))
            }
            _ => self.plain(),
        }
    }

    fn in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    fn skip_to_token(&mut self) {
        loop {
            loop {
                match self.byte(0) {
                    b' ' => self.skip(),
                    b'\t' if self.in_flow() || !self.key_allowed => self.skip(),
                    _ => break,
                }
            }
            if self.byte(0) == b'#' {
                self.skip_to_break();
            }
            if !self.skip_break() {
                return;
            }
            if !self.in_flow() {
                self.key_allowed = true;
            }
        }
    }

    fn push(&mut self, kind: YamlTokenKind<'a>, start: YamlMark) {
        self.ready.push_back(YamlToken { kind, start, end: self.mark });
    }

    /// Takes `width` one-byte characters as a token.
    fn take(&mut self, kind: YamlTokenKind<'a>, width: usize) {
        let start = self.mark;
        for _ in 0..width {
            self.skip();
        }
        self.push(kind, start);
    }

    fn stream_end(&mut self) -> Result<(), YamlFailure> {
        self.unroll(-1);
        self.forget_key()?;
        self.key_allowed = false;
        self.push(YamlTokenKind::StreamEnd, self.mark);
        self.ended = true;
        Ok(())
    }

    fn document_marker(&mut self, kind: YamlTokenKind<'a>) -> Result<(), YamlFailure> {
        self.unroll(-1);
        self.forget_key()?;
        self.key_allowed = false;
        self.take(kind, 3);
        Ok(())
    }

    fn flow_start(&mut self, kind: YamlTokenKind<'a>) -> Result<(), YamlFailure> {
        self.save_key()?;
        let token = self.taken + self.ready.len();
        self.keys.push(KeyCandidate { token, ..KeyCandidate::default() });
        self.key_allowed = true;
        self.take(kind, 1);
        Ok(())
    }

    fn flow_end(&mut self, kind: YamlTokenKind<'a>) -> Result<(), YamlFailure> {
        self.forget_key()?;
        if self.in_flow() {
            let token = self.keys.pop().map(|key| key.token);
            if let Some(outer) = self.keys.last_mut().filter(|outer| Some(outer.token) == token) {
                outer.waits = false;
            }
        }
        self.key_allowed = false;
        self.take(kind, 1);
        Ok(())
    }

    fn flow_entry(&mut self) -> Result<(), YamlFailure> {
        self.forget_key()?;
        self.key_allowed = true;
        self.take(YamlTokenKind::FlowEntry, 1);
        Ok(())
    }

    fn block_entry(&mut self) -> Result<(), YamlFailure> {
        if !self.in_flow() {
            if !self.key_allowed {
                return Err(self.wrong("a list item cannot start here"));
            }
            self.roll(self.mark, None, YamlTokenKind::BlockSequenceStart);
        }
        self.forget_key()?;
        self.key_allowed = true;
        self.take(YamlTokenKind::BlockEntry, 1);
        Ok(())
    }

    fn explicit_key(&mut self) -> Result<(), YamlFailure> {
        if !self.in_flow() {
            if !self.key_allowed {
                return Err(self.wrong("a key cannot start here"));
            }
            self.roll(self.mark, None, YamlTokenKind::BlockMappingStart);
        }
        self.forget_key()?;
        self.key_allowed = !self.in_flow();
        self.take(YamlTokenKind::Key, 1);
        Ok(())
    }

    fn value(&mut self) -> Result<(), YamlFailure> {
        let last = self.keys.len().saturating_sub(1);
        if self.is_valid(last)? {
            let KeyCandidate { token, mark, .. } = self.keys.get(last).copied().unwrap_or_default();
            let place = token.checked_sub(self.taken);
            let end = self.ready.len();
            self.ready.insert(
                place.unwrap_or(end).min(end),
                YamlToken { kind: YamlTokenKind::Key, start: mark, end: mark },
            );
            self.roll(mark, place, YamlTokenKind::BlockMappingStart);
            self.set_impossible(last);
            self.key_allowed = false;
        } else {
            if !self.in_flow() {
                if !self.key_allowed {
                    return Err(self.wrong("`:` cannot stand here; a text with `: ` in it needs quotes"));
                }
                self.roll(self.mark, None, YamlTokenKind::BlockMappingStart);
            }
            self.key_allowed = !self.in_flow();
        }
        self.take(YamlTokenKind::Value, 1);
        Ok(())
    }

    /// Opens a block collection if `mark` is deeper than the one that is open.
    fn roll(&mut self, mark: YamlMark, place: Option<usize>, kind: YamlTokenKind<'a>) {
        let column = i64::from(mark.column);
        if !self.in_flow() && self.indent < column {
            self.indents.push(self.indent);
            self.indent = column;
            let end = self.ready.len();
            self.ready.insert(place.unwrap_or(end).min(end), YamlToken { kind, start: mark, end: mark });
        }
    }

    /// Closes the block collections deeper than `column`.
    fn unroll(&mut self, column: i64) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.push(YamlTokenKind::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Notes that the token to come may be a key.
    fn save_key(&mut self) -> Result<(), YamlFailure> {
        if !self.key_allowed {
            return Ok(());
        }
        let required = !self.in_flow() && self.indent == i64::from(self.mark.column);
        let token = self.taken + self.ready.len();
        self.forget_key()?;
        if let Some(last) = self.keys.last_mut() {
            *last = KeyCandidate { possible: true, required, waits: true, token, mark: self.mark };
        }
        Ok(())
    }

    /// Gives up on the key of this level.
    fn forget_key(&mut self) -> Result<(), YamlFailure> {
        match self.keys.last_mut() {
            Some(key) if key.possible && key.required => {
                let mark = key.mark;
                Err(self.missing_colon(mark))
            }
            Some(key) => {
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Returns whether the candidate at `place` can still become a key.
    fn is_valid(&mut self, place: usize) -> Result<bool, YamlFailure> {
        let key = self.keys.get(place).copied().unwrap_or_default();
        if !key.possible {
            return Ok(false);
        }
        let is_far = key.mark.line < self.mark.line || key.mark.column + MAX_KEY_CHARS < self.mark.column;
        if !is_far {
            return Ok(true);
        }
        if key.required {
            return Err(self.missing_colon(key.mark));
        }
        self.set_impossible(place);
        Ok(false)
    }

    fn set_impossible(&mut self, place: usize) {
        if let Some(key) = self.keys.get_mut(place) {
            key.possible = false;
        }
    }

    fn missing_colon(&self, mark: YamlMark) -> YamlFailure {
        Box::new(YamlError {
            kind: ParseProblemKind::Syntax,
            message: "expected `:` after the key that starts here".to_owned(),
            position: mark.position(),
        })
    }

    /// Returns a syntax error at the place reached.
    fn wrong(&self, message: &str) -> YamlFailure {
        Self::wrong_at(self.mark, message)
    }

    fn wrong_at(mark: YamlMark, message: &str) -> YamlFailure {
        Box::new(YamlError {
            kind: ParseProblemKind::Syntax,
            message: message.to_owned(),
            position: mark.position(),
        })
    }

    /// Returns the byte `ahead` of the place reached, 0 at the end.
    #[inline]
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Returns how many bytes the line break `ahead` has, 0 if there is none.
    #[inline]
    fn break_width(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\n' => 1,
            b'\r' if self.byte(ahead + 1) == b'\n' => 2,
            b'\r' => 1,
            0xc2 if self.byte(ahead + 1) == 0x85 => 2,
            0xe2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    #[inline]
    fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    #[inline]
    fn is_break_or_end(&self, ahead: usize) -> bool {
        self.byte(ahead) == 0 || self.break_width(ahead) > 0
    }

    #[inline]
    fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// Returns whether `---` or `...` is next; the column is known to be 0.
    fn is_marker(&self) -> bool {
        let three = self.bytes.get(self.at..self.at + 3).unwrap_or_default();
        (three == b"---" || three == b"...") && self.is_blank_or_end(3)
    }

    /// Steps over one character that is not a line break.
    #[inline]
    fn skip(&mut self) {
        let width = match self.byte(0) {
            ..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        self.at += width;
        self.mark.column += 1;
    }

    /// Steps over the rest of the line.
    fn skip_to_break(&mut self) {
        while !self.is_break_or_end(0) {
            self.skip();
        }
    }

    /// Steps over a line break, if one is next.
    fn skip_break(&mut self) -> bool {
        let width = self.break_width(0);
        self.at += width;
        if width > 0 {
            self.mark = YamlMark { line: self.mark.line + 1, column: 0 };
        }
        width > 0
    }

    fn slice(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }
}
