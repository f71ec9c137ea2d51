//! The words of an expression.

mod enclosed;
mod literal;

pub use enclosed::{Unclosed, closing_brace};
use kubewright_value::Text;

use super::ast::Span;
use super::val::Val;
use super::{CompileError, CompileErrorKind};

/// How long an expression may be, in bytes.
pub(super) const MAX_LENGTH: usize = 400_000;

/// How many characters an expression may have.
const MAX_CHARACTERS: usize = 100_000;

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) word: Word,
    pub(super) span: Span,
}

#[derive(Debug, Clone)]
pub(super) enum Word {
    /// `a`; also `in` and the words that are reserved.
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

/// Longer signs before those they start with.
const SIGNS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ",", ".", "(", ")",
    "[", "]", "{", "}", ";",
];

/// What could not be read, and where.
#[derive(Debug)]
pub(super) struct Bad {
    pub(super) message: String,
    pub(super) span: Span,
    pub(super) kind: CompileErrorKind,
}

impl Bad {
    pub(super) fn syntax(message: impl Into<String>, span: Span) -> Self {
        Self { message: message.into(), span, kind: CompileErrorKind::Syntax }
    }

    pub(super) fn located(self, text: &str) -> CompileError {
        CompileError::new(self.message, self.span, self.kind, text)
    }
}

/// Returns the words of `text`, with [`Word::End`] as the last one.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Bad> {
    if text.len() > MAX_LENGTH || text.chars().count() > MAX_CHARACTERS {
        let message = format!("an expression has at most {MAX_CHARACTERS} characters");
        return Err(Bad::syntax(message, Span::default()));
    }
    let mut tokens = Vec::new();
    let mut start = 0;
    loop {
        start = skip_blanks(text, start);
        let rest = text.get(start..).unwrap_or_default();
        let (word, length) = word(rest).map_err(|(message, at, length)| {
            Bad::syntax(message, span(start + at, start + at + length.max(1)))
        })?;
        let is_end = matches!(word, Word::End);
        tokens.push(Token { word, span: span(start, start + length) });
        if is_end {
            return Ok(tokens);
        }
        start += length;
    }
}

/// An error in a word: what is wrong, where in it, and how many bytes it is about.
type WordError = (String, usize, usize);

fn word(rest: &str) -> Result<(Word, usize), WordError> {
    let Some(first) = rest.chars().next() else { return Ok((Word::End, 0)) };
    if let Some(found) = literal::string(rest) {
        return found.map(|(value, length)| (Word::Literal(value), length));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default();
        return Ok((Word::Identifier(Text::new(name)), length));
    }
    if first == '`' {
        return escaped(rest);
    }
    let has_digit = |at: usize| rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    if first.is_ascii_digit() || (first == '.' && has_digit(1)) {
        return literal::number(rest).map_err(|message| (message, 0, literal::number_length(rest)));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Word::Sign(sign), sign.len())),
        None => Err((format!("unexpected character `{first}`"), 0, first.len_utf8())),
    }
}

fn escaped(rest: &str) -> Result<(Word, usize), WordError> {
    let inner = rest.get(1..).unwrap_or_default();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-/ ".contains(c);
    match inner.find('`') {
        Some(end) if end > 0 && inner.chars().take(end).all(is_allowed) => {
            Ok((Word::Escaped(Text::new(inner.get(..end).unwrap_or_default())), end + 2))
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

pub(super) fn span(start: usize, end: usize) -> Span {
    let small = |at| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: small(start), end: small(end) }
}
