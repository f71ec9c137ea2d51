//! Where in a text the expressions are.

use std::ops::Range;

use kubewright_value::Position;
use thiserror::Error;

use kubewright_cel::{Unclosed, closing_brace};

/// An expression in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The bytes of `${…}`.
    pub whole: Range<usize>,
    /// The bytes between the braces.
    pub inner: Range<usize>,
}

/// An expression that starts and is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Unfinished {
    /// What is wrong.
    pub message: String,
    /// Where in the text.
    pub position: Position,
    /// How many characters it is about.
    pub length: u32,
    /// Whether another expression starts inside of the one that is not finished.
    pub is_nested: bool,
}

/// Returns the expressions of `text` in order.
///
/// There is no way to escape `${`; an expression can give one: `${'${'}`.
///
/// # Errors
/// When an expression has no end, or another one starts in it.
pub fn expressions(text: &str) -> Result<Vec<Found>, Unfinished> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text.get(from..).and_then(|rest| rest.find("${")).map(|at| from + at) {
        let inner = start + 2;
        let end = closing_brace(text, inner).map_err(|why| unfinished(text, start, why))?;
        found.push(Found { whole: start..end + 1, inner: inner..end });
        from = end + 1;
    }
    Ok(found)
}

/// A part of a text as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written<'t> {
    /// Text.
    Literal(&'t str),
    /// `${…}`
    Expression(&'t str),
}

/// Returns the parts of `text` as they are written, which together are `text`: for checking a language
/// around expressions before these have a value.
///
/// # Errors
/// As [`expressions`].
pub fn written(text: &str) -> Result<Vec<Written<'_>>, Unfinished> {
    let mut parts = Vec::new();
    let mut from = 0;
    for found in expressions(text)? {
        let literal = text.get(from..found.whole.start).unwrap_or_default();
        from = found.whole.end;
        parts.push(Written::Literal(literal));
        parts.push(Written::Expression(text.get(found.whole).unwrap_or_default()));
    }
    parts.push(Written::Literal(text.get(from..).unwrap_or_default()));
    parts.retain(|part| *part != Written::Literal(""));
    Ok(parts)
}

fn unfinished(text: &str, start: usize, why: Unclosed) -> Unfinished {
    let (message, at, length) = match why {
        Unclosed::End => ("`${` has no closing `}`", start, 2),
        Unclosed::String(at) => ("a string in `${…}` has no end", at, 1),
        Unclosed::Nested(at) => ("`${` inside of an expression is only allowed in a string", at, 2),
    };
    Unfinished {
        message: message.to_owned(),
        position: Position::of(text, at),
        length,
        is_nested: matches!(why, Unclosed::Nested(_)),
    }
}
