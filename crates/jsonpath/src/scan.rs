//! The words of an expression: Go's tokens, read where the parser asks for them.

use kubewright_value::Number;

use super::convert;

/// What could not be read, and where: start and end in bytes.
#[derive(Debug)]
pub(super) struct ScanError {
    pub(super) message: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A place in the text.
#[derive(Debug, Clone)]
pub(super) struct PathScanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> PathScanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns where the next word starts; skips space and comments before it.
    pub(super) fn start(&mut self) -> Result<usize, ScanError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.bad("comment is not closed", rest.len()))?;
                self.at += end + 4;
            } else {
                return Ok(self.at);
            }
        }
    }

    /// Returns the next character of the next word.
    pub(super) fn peek(&mut self) -> Result<Option<char>, ScanError> {
        self.start()?;
        Ok(self.rest().chars().next())
    }

    /// Returns the text from here on, without skipping anything.
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns `length` bytes of the text from `start` on.
    pub(super) fn slice(&self, start: usize, length: usize) -> &'t str {
        self.text.get(start..start.saturating_add(length)).unwrap_or_default()
    }

    /// Skips `count` bytes.
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Skips `c` if it comes next.
    pub(super) fn take(&mut self, c: char) -> Result<bool, ScanError> {
        let found = self.peek()? == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        Ok(found)
    }

    /// Reads an identifier.
    pub(super) fn identifier(&mut self) -> Result<Option<&'t str>, ScanError> {
        self.start()?;
        let word = self.word();
        self.at += word.len();
        Ok((!word.is_empty()).then_some(word))
    }

    /// Returns the identifier that comes next without moving past it; empty if there is none.
    pub(super) fn word(&self) -> &'t str {
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return "";
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    /// Returns whether a number comes next.
    pub(super) fn at_number(&self) -> bool {
        let mut bytes = self.rest().bytes();
        match bytes.next() {
            Some(b'.') => bytes.next().is_some_and(|c| c.is_ascii_digit()),
            Some(c) => c.is_ascii_digit(),
            None => false,
        }
    }

    /// Reads a number. Only decimal ones are allowed.
    pub(super) fn number(&mut self) -> Result<Number, ScanError> {
        let length = number_bytes(self.rest().as_bytes());
        let text = self.rest().get(..length).unwrap_or_default();
        let number = convert::number_from_text(text)
            .ok_or_else(|| self.bad(&format!("`{text}` is not a decimal number"), length))?;
        self.at += length;
        Ok(number)
    }

    /// Reads a string in any of the three quotes.
    pub(super) fn string(&mut self, quote: char) -> Result<String, ScanError> {
        let inner = self.rest().get(1..).unwrap_or_default();
        if quote == '`' {
            let end = inner.find('`').ok_or_else(|| self.bad("string is not closed", inner.len() + 1))?;
            self.at += end + 2;
            return Ok(inner.get(..end).unwrap_or_default().replace('\r', ""));
        }
        let mut out = Vec::new();
        let mut rest = inner;
        loop {
            let here = inner.len() - rest.len() + 1;
            let mut chars = rest.chars();
            match chars.next() {
                None | Some('\n') => return Err(self.bad("string is not closed", here)),
                Some('\\') => {
                    let length = scan_escape(rest, quote, &mut out).ok_or_else(|| {
                        let shown: String = rest.chars().take(2).collect();
                        ScanError {
                            message: format!(
                                "unknown escape `{shown}` in a string, write `\\{shown}` or use backquotes"
                            ),
                            start: self.at + here,
                            end: self.at + here + shown.len(),
                        }
                    })?;
                    rest = rest.get(length..).unwrap_or_default();
                }
                Some(c) => {
                    rest = chars.as_str();
                    if c == quote {
                        break;
                    }
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        let length = inner.len() - rest.len() + 1;
        let text = String::from_utf8(out).map_err(|_| self.bad("string is not valid UTF-8", length))?;
        self.at += length;
        Ok(text)
    }

    /// Returns an error about the next `length` bytes.
    pub(super) fn bad(&self, message: &str, length: usize) -> ScanError {
        ScanError { message: message.to_owned(), start: self.at, end: self.at + length }
    }
}

/// Returns how many bytes belong to the number at the start of `bytes`.
fn number_bytes(bytes: &[u8]) -> usize {
    let byte = |i: usize| bytes.get(i).copied().unwrap_or(0);
    if byte(0) == b'0' && byte(1).is_ascii_alphabetic() && !matches!(byte(1), b'e' | b'E') {
        return bytes.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == b'_').count();
    }
    let digits = |mut i: usize| {
        while byte(i).is_ascii_digit() || byte(i) == b'_' {
            i += 1;
        }
        i
    };
    let mut end = digits(0);
    if byte(end) == b'.' {
        end = digits(end + 1);
    }
    if matches!(byte(end), b'e' | b'E') {
        end += 1;
        if matches!(byte(end), b'+' | b'-') {
            end += 1;
        }
        end = digits(end);
    }
    end
}

/// Reads the escape at the start of `text` and returns its length.
fn scan_escape(text: &str, quote: char, out: &mut Vec<u8>) -> Option<usize> {
    let c = text.chars().nth(1)?;
    let simple = match c {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0C,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0B,
        '\\' => b'\\',
        c if c == quote => u8::try_from(c).ok()?,
        'x' => {
            out.push(u8::try_from(scan_digits(text, 2, 2, 16)?).ok()?);
            return Some(4);
        }
        '0'..='7' => {
            out.push(u8::try_from(scan_digits(text, 1, 3, 8)?).ok()?);
            return Some(4);
        }
        'u' | 'U' => {
            let count = if c == 'u' { 4 } else { 8 };
            let c = char::from_u32(scan_digits(text, 2, count, 16)?)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(2 + count);
        }
        _ => return None,
    };
    out.push(simple);
    Some(2)
}

fn scan_digits(text: &str, from: usize, count: usize, radix: u32) -> Option<u32> {
    let digits = text.get(from..from + count)?;
    digits.chars().all(|c| c.is_digit(radix)).then(|| u32::from_str_radix(digits, radix).ok())?
}
