//! Scalars in their five styles.

use std::borrow::Cow;

use super::super::YamlFailure;
use super::super::token::{YamlMark, YamlTokenKind};
use super::YamlScanner;

/// The line breaks between two lines of a scalar, which fold into a space when there is only one.
#[derive(Default)]
struct LineBreaks {
    first: String,
    more: String,
}

impl LineBreaks {
    /// Appends what the breaks become and forgets them.
    fn fold_into(&mut self, out: &mut String) {
        if self.first.starts_with('\n') {
            out.push_str(if self.more.is_empty() { " " } else { &self.more });
        } else {
            out.push_str(&self.first);
            out.push_str(&self.more);
        }
        self.first.clear();
        self.more.clear();
    }
}

impl<'a> YamlScanner<'a> {
    /// Scans a scalar without quotes.
    pub(super) fn plain(&mut self) -> Result<(), YamlFailure> {
        self.save_key()?;
        self.key_allowed = false;
        let start_mark = self.mark;
        let indent = self.indent + 1;
        let start = self.at;
        let mut end = self.at;
        let mut end_mark = self.mark;
        // Holds the text once it is not simply a slice of the source.
        let mut folded: Option<String> = None;
        let mut breaks = LineBreaks::default();
        let mut on_new_line = false;
        loop {
            if (self.mark.column == 0 && self.is_marker()) || self.byte(0) == b'#' {
                break;
            }
            let run = self.at;
            self.skip_plain_run();
            if self.at > run {
                let text = self.slice(run);
                match &mut folded {
                    Some(out) if on_new_line => {
                        breaks.fold_into(out);
                        out.push_str(text);
                    }
                    Some(out) => {
                        out.push_str(self.text.get(end..run).unwrap_or_default());
                        out.push_str(text);
                    }
                    None if on_new_line => {
                        let mut out = self.text.get(start..end).unwrap_or_default().to_owned();
                        breaks.fold_into(&mut out);
                        out.push_str(text);
                        folded = Some(out);
                    }
                    None => {}
                }
                on_new_line = false;
                end = self.at;
                end_mark = self.mark;
            }
            if !self.is_blank(0) && self.break_width(0) == 0 {
                break;
            }
            while self.is_blank(0) || self.break_width(0) > 0 {
                if !self.is_blank(0) {
                    self.read_break(if on_new_line { &mut breaks.more } else { &mut breaks.first });
                    on_new_line = true;
                } else if on_new_line && i64::from(self.mark.column) < indent && self.byte(0) == b'\t' {
                    return Err(self.wrong("found a tab where spaces must indent"));
                } else {
                    self.skip();
                }
            }
            if !self.in_flow() && i64::from(self.mark.column) < indent {
                break;
            }
        }
        if on_new_line {
            self.key_allowed = true;
        }
        let text = match folded {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(self.text.get(start..end).unwrap_or_default()),
        };
        self.push(YamlTokenKind::Scalar { text, plain: true }, start_mark);
        if let Some(token) = self.ready.back_mut() {
            token.end = end_mark;
        }
        Ok(())
    }

    /// Steps over the characters of a plain scalar up to a blank, a break or what ends it.
    fn skip_plain_run(&mut self) {
        let flow = self.in_flow();
        loop {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' | b'\n' | 0 => return,
                b':' if self.is_blank_or_end(1) => return,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if flow => return,
                0xc2 | 0xe2 if self.break_width(0) > 0 => return,
                _ => self.skip(),
            }
        }
    }

    /// Scans a scalar in single or double quotes.
    pub(super) fn quoted(&mut self, quote: u8) -> Result<(), YamlFailure> {
        self.save_key()?;
        self.key_allowed = false;
        let start_mark = self.mark;
        self.skip();
        let start = self.at;
        self.skip_quoted_run(quote, true);
        if self.byte(0) == quote && !(quote == b'\'' && self.byte(1) == b'\'') {
            // One line without escapes: the text is a slice of the source.
            let text = Cow::Borrowed(self.slice(start));
            self.skip();
            self.push(YamlTokenKind::Scalar { text, plain: false }, start_mark);
            return Ok(());
        }
        let mut out = self.slice(start).to_owned();
        // Blanks before a line break do not count.
        while self.is_break_or_end(0) && out.ends_with([' ', '\t']) {
            out.pop();
        }
        self.quoted_lines(quote, start_mark, &mut out)?;
        self.skip();
        self.push(YamlTokenKind::Scalar { text: Cow::Owned(out), plain: false }, start_mark);
        Ok(())
    }

    /// Reads on to the closing quote.
    fn quoted_lines(&mut self, quote: u8, opened: YamlMark, out: &mut String) -> Result<(), YamlFailure> {
        let mut breaks = LineBreaks::default();
        loop {
            if self.mark.column == 0 && self.is_marker() {
                return Err(Self::wrong_at(opened, "this quote is not closed before the document ends"));
            }
            if self.byte(0) == 0 {
                return Err(Self::wrong_at(opened, "this quote is not closed"));
            }
            let mut on_new_line = false;
            while !self.is_blank_or_end(0) {
                let run = self.at;
                self.skip_quoted_run(quote, false);
                out.push_str(self.slice(run));
                match self.byte(0) {
                    b'\'' if quote == b'\'' && self.byte(1) == b'\'' => {
                        out.push('\'');
                        self.skip();
                        self.skip();
                    }
                    b'\\' if quote == b'"' && self.break_width(1) > 0 => {
                        self.skip();
                        self.skip_break();
                        on_new_line = true;
                        break;
                    }
                    b'\\' if quote == b'"' => self.escape(out)?,
                    byte if byte == quote => return Ok(()),
                    _ => {}
                }
            }
            if self.byte(0) == quote {
                return Ok(());
            }
            let blanks = self.at;
            let mut blanks_end = self.at;
            while self.is_blank(0) || self.break_width(0) > 0 {
                if self.is_blank(0) {
                    self.skip();
                    if !on_new_line {
                        blanks_end = self.at;
                    }
                } else {
                    self.read_break(if on_new_line { &mut breaks.more } else { &mut breaks.first });
                    on_new_line = true;
                }
            }
            if on_new_line {
                breaks.fold_into(out);
            } else {
                out.push_str(self.text.get(blanks..blanks_end).unwrap_or_default());
            }
        }
    }

    /// Steps over literal characters; over blanks only `with_blanks`.
    fn skip_quoted_run(&mut self, quote: u8, with_blanks: bool) {
        loop {
            match self.byte(0) {
                b' ' | b'\t' if with_blanks => self.skip(),
                b' ' | b'\t' | b'\r' | b'\n' | 0 => return,
                b'\\' if quote == b'"' => return,
                0xc2 | 0xe2 if self.break_width(0) > 0 => return,
                byte if byte == quote => return,
                _ => self.skip(),
            }
        }
    }

    /// Reads a backslash and what it escapes.
    fn escape(&mut self, out: &mut String) -> Result<(), YamlFailure> {
        let digits = match self.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            byte => {
                let Some(character) = simple_escape(byte) else {
                    return Err(self.wrong("unknown escape after `\\`"));
                };
                out.push(character);
                self.skip();
                self.skip();
                return Ok(());
            }
        };
        self.skip();
        self.skip();
        let mut code: u32 = 0;
        for _ in 0..digits {
            let Some(digit) = char::from(self.byte(0)).to_digit(16) else {
                return Err(self.wrong("expected a hexadecimal digit"));
            };
            code = code.wrapping_shl(4) | digit;
            self.skip();
        }
        match char::from_u32(code) {
            Some(character) => out.push(character),
            None => return Err(self.wrong("the escape is no Unicode character")),
        }
        Ok(())
    }

    /// Scans `|` or `>` and the lines that belong to it.
    pub(super) fn block_scalar(&mut self, literal: bool) -> Result<(), YamlFailure> {
        self.forget_key()?;
        self.key_allowed = true;
        let start_mark = self.mark;
        self.skip();
        let (chomping, increment) = self.block_header()?;
        let mut indent = increment.map(|more| self.indent.max(0) + more);
        let mut out = String::new();
        let mut first = String::new();
        let mut more = String::new();
        self.block_breaks(&mut indent, &mut more)?;
        let column = indent.unwrap_or(1);
        let mut was_blank = false;
        while i64::from(self.mark.column) == column && self.byte(0) != 0 {
            let is_blank = self.is_blank(0);
            if !literal && !was_blank && !is_blank && first.starts_with('\n') {
                if more.is_empty() {
                    out.push(' ');
                }
            } else {
                out.push_str(&first);
            }
            out.push_str(&more);
            first.clear();
            more.clear();
            was_blank = is_blank;
            let line = self.at;
            self.skip_to_break();
            out.push_str(self.slice(line));
            self.read_break(&mut first);
            self.block_breaks(&mut indent, &mut more)?;
        }
        if chomping != Chomping::Strip {
            out.push_str(&first);
        }
        if chomping == Chomping::Keep {
            out.push_str(&more);
        }
        self.push(YamlTokenKind::Scalar { text: Cow::Owned(out), plain: false }, start_mark);
        Ok(())
    }

    /// Reads what follows `|` or `>` on its line: chomping and indentation, in either order.
    fn block_header(&mut self) -> Result<(Chomping, Option<i64>), YamlFailure> {
        let mut chomping = self.chomping();
        let mut increment = None;
        if self.byte(0).is_ascii_digit() {
            if self.byte(0) == b'0' {
                return Err(self.wrong("an indentation of 0 is not possible"));
            }
            increment = Some(i64::from(self.byte(0) - b'0'));
            self.skip();
            if chomping.is_none() {
                chomping = self.chomping();
            }
        }
        self.skip_blanks();
        if self.byte(0) == b'#' {
            self.skip_to_break();
        }
        if !self.is_break_or_end(0) {
            return Err(self.wrong("expected the end of the line after `|` or `>`"));
        }
        self.skip_break();
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.byte(0) {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.skip();
        Some(chomping)
    }

    /// Reads empty lines and the indentation of the next one; finds out `indent` the first time.
    fn block_breaks(&mut self, indent: &mut Option<i64>, breaks: &mut String) -> Result<(), YamlFailure> {
        let mut deepest = 0;
        loop {
            while self.byte(0) == b' ' && self.is_left_of(*indent) {
                self.skip();
            }
            deepest = deepest.max(i64::from(self.mark.column));
            if self.byte(0) == b'\t' && self.is_left_of(*indent) {
                return Err(self.wrong("found a tab where spaces must indent"));
            }
            if self.break_width(0) == 0 {
                break;
            }
            self.read_break(breaks);
        }
        indent.get_or_insert(deepest.max(self.indent + 1).max(1));
        Ok(())
    }

    fn is_left_of(&self, indent: Option<i64>) -> bool {
        indent.is_none_or(|indent| i64::from(self.mark.column) < indent)
    }

    /// Steps over a line break and appends it: `\n`, or the two breaks of Unicode as they are.
    fn read_break(&mut self, out: &mut String) {
        if self.byte(0) == 0xe2 {
            out.push_str(self.text.get(self.at..self.at + 3).unwrap_or_default());
        } else if self.break_width(0) > 0 {
            out.push('\n');
        }
        self.skip_break();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

fn simple_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{b}',
        b'f' => '\u{c}',
        b'r' => '\r',
        b'e' => '\u{1b}',
        b' ' => ' ',
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
