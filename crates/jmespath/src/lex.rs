//! The tokens of an expression.

use kubewright_value::{Position, Text, Value, json};

use super::{JmesPathParseError, JmesPathParseErrorKind};

/// A token with its byte offsets.
#[derive(Debug, Clone)]
pub(super) struct JmesPathToken {
    pub(super) word: JmesPathTokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum JmesPathTokenKind {
    /// `a`
    Identifier(Text),
    /// `"a"`
    Quoted(Text),
    /// `` `1` `` and `'a'`
    Literal(Value),
    Number(i64),
    /// An operator or bracket. `[?` and `[]` are one each.
    Sign(&'static str),
    End,
}

/// A syntax error, with its start and end in bytes.
#[derive(Debug)]
pub(super) struct JmesPathSyntaxError {
    pub(super) message: String,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: JmesPathParseErrorKind,
}

impl JmesPathSyntaxError {
    pub(super) fn syntax(message: impl Into<String>, start: usize, end: usize) -> Self {
        Self { message: message.into(), start, end, kind: JmesPathParseErrorKind::Syntax }
    }

    pub(super) fn located(self, text: &str) -> JmesPathParseError {
        let covered = text.get(self.start..self.end).unwrap_or_default().chars().count();
        JmesPathParseError {
            message: self.message,
            position: Position::of(text, self.start),
            length: u32::try_from(covered).unwrap_or(u32::MAX).max(1),
            kind: self.kind,
        }
    }
}

/// Returns the tokens of `text`, with [`JmesPathTokenKind::End`] as the last one.
pub(super) fn tokenize_jmespath(text: &str) -> Result<Vec<JmesPathToken>, JmesPathSyntaxError> {
    let mut tokens = Vec::new();
    let mut start = 0;
    loop {
        let rest = text.get(start..).unwrap_or_default();
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        start += rest.len() - trimmed.len();
        let (word, length) = read_jmespath_token(trimmed, start)?;
        let is_end = word == JmesPathTokenKind::End;
        tokens.push(JmesPathToken { word, start, end: start + length });
        if is_end {
            return Ok(tokens);
        }
        start += length;
    }
}

/// The operators and brackets; longer ones before their prefixes.
const SIGNS: &[&str] = &[
    "[?", "[]", "||", "&&", "==", "!=", "<=", ">=", "[", "]", "(", ")", "{", "}", ".", "*", ",", ":", "@",
    "&", "|", "!", "<", ">",
];

/// Returns the token at the start of `rest` and its length.
fn read_jmespath_token(rest: &str, start: usize) -> Result<(JmesPathTokenKind, usize), JmesPathSyntaxError> {
    let Some(first) = rest.chars().next() else { return Ok((JmesPathTokenKind::End, 0)) };
    match first {
        'a'..='z' | 'A'..='Z' | '_' => {
            let length = rest.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count();
            Ok((JmesPathTokenKind::Identifier(Text::new(rest.get(..length).unwrap_or_default())), length))
        }
        '0'..='9' | '-' => read_index_number(rest, start),
        '"' => read_quoted_name(rest, start),
        '\'' => read_raw_string(rest, start),
        '`' => read_json_literal(rest, start),
        _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => Ok((JmesPathTokenKind::Sign(sign), sign.len())),
            None => {
                let end = start + first.len_utf8();
                let help = if first == '=' { ", equality is written `==`" } else { "" };
                Err(JmesPathSyntaxError::syntax(format!("unexpected `{first}`{help}"), start, end))
            }
        },
    }
}

fn read_index_number(rest: &str, start: usize) -> Result<(JmesPathTokenKind, usize), JmesPathSyntaxError> {
    let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let length = digits + 1;
    let text = rest.get(..length).unwrap_or_default();
    if text == "-" {
        return Err(JmesPathSyntaxError::syntax("unexpected `-`, there is no subtraction", start, start + 1));
    }
    let number = text.parse();
    let number = number.map_err(|_| {
        JmesPathSyntaxError::syntax(format!("the number `{text}` is too large"), start, start + length)
    })?;
    Ok((JmesPathTokenKind::Number(number), length))
}

fn read_quoted_name(rest: &str, start: usize) -> Result<(JmesPathTokenKind, usize), JmesPathSyntaxError> {
    let length = quoted_length(rest, b'"')
        .ok_or_else(|| JmesPathSyntaxError::syntax("quoted name is not closed", start, start + rest.len()))?;
    match json::parse(rest.get(..length).unwrap_or_default()) {
        Ok(Value::String(text)) => Ok((JmesPathTokenKind::Quoted(text), length)),
        Ok(_) => Err(JmesPathSyntaxError::syntax("a quoted name must be a string", start, start + length)),
        Err(error) => Err(JmesPathSyntaxError::syntax(
            format!("bad quoted name: {}", error.message),
            start,
            start + length,
        )),
    }
}

/// Reads `'…'`, in which `\'` is a quote and other backslashes are literal.
fn read_raw_string(rest: &str, start: usize) -> Result<(JmesPathTokenKind, usize), JmesPathSyntaxError> {
    let length = quoted_length(rest, b'\'')
        .ok_or_else(|| JmesPathSyntaxError::syntax("string is not closed", start, start + rest.len()))?;
    let inner = rest.get(1..length - 1).unwrap_or_default();
    Ok((JmesPathTokenKind::Literal(Value::from(unescape_quote(inner, '\''))), length))
}

/// Reads JSON between backquotes.
fn read_json_literal(rest: &str, start: usize) -> Result<(JmesPathTokenKind, usize), JmesPathSyntaxError> {
    let length = quoted_length(rest, b'`')
        .ok_or_else(|| JmesPathSyntaxError::syntax("literal is not closed", start, start + rest.len()))?;
    let inner = rest.get(1..length - 1).unwrap_or_default();
    let bad = |message: &str| {
        let message =
            format!("`{inner}` between backquotes is not JSON: {message}; strings are written `'…'`");
        JmesPathSyntaxError::syntax(message, start, start + length)
    };
    let value = json::parse(&unescape_quote(inner, '`')).map_err(|error| bad(&error.message))?;
    Ok((JmesPathTokenKind::Literal(value), length))
}

/// Returns the length of the quoted text at the start of `rest`, quotes included.
fn quoted_length(rest: &str, quote: u8) -> Option<usize> {
    let mut bytes = rest.bytes().enumerate().skip(1);
    while let Some((i, byte)) = bytes.next() {
        if byte == quote {
            return Some(i + 1);
        }
        if byte == b'\\' {
            bytes.next();
        }
    }
    None
}

/// Returns `text` without the backslashes before `quote`.
fn unescape_quote(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(next) if next == quote => out.push(next),
            Some(next) => out.extend(['\\', next]),
            None => out.push('\\'),
        }
    }
    out
}
