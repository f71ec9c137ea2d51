//! The tokens of an expression.

mod closing_brace;
mod literal;

pub use closing_brace::{UnclosedExpression, closing_brace};
use kubewright_value::Text;

use super::ast::CelSpan;
use super::val::Val;
use super::{CelCompileError, CelCompileErrorKind};

/// The longest expression, in bytes.
pub(super) const MAX_EXPRESSION_BYTES: usize = 400_000;

/// The longest expression, in characters, as the API server has it.
const MAX_EXPRESSION_CHARACTERS: usize = 100_000;

#[derive(Debug, Clone)]
pub(super) struct CelToken {
    pub(super) word: CelTokenKind,
    pub(super) span: CelSpan,
}

#[derive(Debug, Clone)]
pub(super) enum CelTokenKind {
    /// `a`; also `in` and reserved words.
    Identifier(Text),
    /// `` `a.b` ``
    Escaped(Text),
    /// Digits of an integer, whose sign is not known yet.
    Integer(u64),
    Literal(Val<'static>),
    /// An operator or bracket.
    Sign(&'static str),
    End,
}

/// The operators and brackets; longer ones before their prefixes.
const SIGNS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ",", ".", "(", ")",
    "[", "]", "{", "}", ";",
];

/// A syntax error, with its span.
#[derive(Debug)]
pub(super) struct CelSyntaxError {
    pub(super) message: String,
    pub(super) span: CelSpan,
    pub(super) kind: CelCompileErrorKind,
}

impl CelSyntaxError {
    pub(super) fn syntax(message: impl Into<String>, span: CelSpan) -> Self {
        Self { message: message.into(), span, kind: CelCompileErrorKind::Syntax }
    }

    pub(super) fn located(self, text: &str) -> CelCompileError {
        CelCompileError::new(self.message, self.span, self.kind, text)
    }
}

/// Returns the tokens of `text`, with [`CelTokenKind::End`] as the last one.
pub(super) fn tokenize_cel(text: &str) -> Result<Vec<CelToken>, CelSyntaxError> {
    if text.len() > MAX_EXPRESSION_BYTES || text.chars().count() > MAX_EXPRESSION_CHARACTERS {
        let message = format!("an expression has at most {MAX_EXPRESSION_CHARACTERS} characters");
        return Err(CelSyntaxError::syntax(message, CelSpan::default()));
    }
    let mut tokens = Vec::new();
    let mut start = 0;
    loop {
        start = skip_blanks(text, start);
        let rest = text.get(start..).unwrap_or_default();
        let (word, length) = read_token(rest).map_err(|(message, at, length)| {
            CelSyntaxError::syntax(message, source_span(start + at, start + at + length.max(1)))
        })?;
        let is_end = matches!(word, CelTokenKind::End);
        tokens.push(CelToken { word, span: source_span(start, start + length) });
        if is_end {
            return Ok(tokens);
        }
        start += length;
    }
}

/// An error in a token: the message, the offset in the token, and the number of bytes it covers.
type CelTokenError = (String, usize, usize);

fn read_token(rest: &str) -> Result<(CelTokenKind, usize), CelTokenError> {
    let Some(first) = rest.chars().next() else { return Ok((CelTokenKind::End, 0)) };
    let may_be_string = matches!(first, '\'' | '"' | 'b' | 'B' | 'r' | 'R');
    if let Some(found) = may_be_string.then(|| literal::read_string_literal(rest)).flatten() {
        return found.map(|(value, length)| (CelTokenKind::Literal(value), length));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default();
        return Ok((CelTokenKind::Identifier(Text::new(name)), length));
    }
    if first == '`' {
        return read_backtick_name(rest);
    }
    let has_digit = |at: usize| rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    if first.is_ascii_digit() || (first == '.' && has_digit(1)) {
        return literal::read_number_literal(rest)
            .map_err(|message| (message, 0, literal::number_literal_length(rest)));
    }
    match SIGNS.iter().find(|sign| sign.starts_with(first) && rest.starts_with(**sign)) {
        Some(sign) => Ok((CelTokenKind::Sign(sign), sign.len())),
        None => Err((format!("unexpected character `{first}`"), 0, first.len_utf8())),
    }
}

fn read_backtick_name(rest: &str) -> Result<(CelTokenKind, usize), CelTokenError> {
    let inner = rest.get(1..).unwrap_or_default();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-/ ".contains(c);
    match inner.find('`') {
        Some(end) if end > 0 && inner.chars().take(end).all(is_allowed) => {
            Ok((CelTokenKind::Escaped(Text::new(inner.get(..end).unwrap_or_default())), end + 2))
        }
        Some(_) => Err(("a name in backticks has letters, digits and `_.-/`".to_owned(), 0, 1)),
        None => Err(("a name in backticks has no end".to_owned(), 0, 1)),
    }
}

fn skip_blanks(text: &str, mut start: usize) -> usize {
    loop {
        let rest = text.get(start..).unwrap_or_default();
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        start += rest.len() - trimmed.len();
        if !trimmed.starts_with("//") {
            return start;
        }
        start += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}

pub(super) fn source_span(start: usize, end: usize) -> CelSpan {
    let small = |at| u32::try_from(at).unwrap_or(u32::MAX);
    CelSpan { start: small(start), end: small(end) }
}
