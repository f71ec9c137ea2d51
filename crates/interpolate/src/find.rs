//! Where in a text the expressions are.

use std::ops::Range;

use kubewright_value::Position;
use thiserror::Error;

use kubewright_cel::{UnclosedExpression, closing_brace};

/// An expression in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionSpan {
    /// The bytes of `${…}`.
    pub whole: Range<usize>,
    /// The bytes between the braces.
    pub inner: Range<usize>,
}

/// An expression that starts and is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct UnfinishedExpression {
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
pub fn find_expressions(text: &str) -> Result<Vec<ExpressionSpan>, UnfinishedExpression> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text.get(from..).and_then(|rest| rest.find("${")).map(|at| from + at) {
        let inner = start + 2;
        let end = closing_brace(text, inner).map_err(|why| report_unclosed(text, start, why))?;
        found.push(ExpressionSpan { whole: start..end + 1, inner: inner..end });
        from = end + 1;
    }
    Ok(found)
}

/// A part of a text as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSegment<'t> {
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
pub fn split_segments(text: &str) -> Result<Vec<TextSegment<'_>>, UnfinishedExpression> {
    let mut parts = Vec::new();
    let mut from = 0;
    for found in find_expressions(text)? {
        let literal = text.get(from..found.whole.start).unwrap_or_default();
        from = found.whole.end;
        parts.push(TextSegment::Literal(literal));
        parts.push(TextSegment::Expression(text.get(found.whole).unwrap_or_default()));
    }
    parts.push(TextSegment::Literal(text.get(from..).unwrap_or_default()));
    parts.retain(|part| *part != TextSegment::Literal(""));
    Ok(parts)
}

fn report_unclosed(text: &str, start: usize, why: UnclosedExpression) -> UnfinishedExpression {
    let (message, at, length) = match why {
        UnclosedExpression::End => ("`${` has no closing `}`", start, 2),
        UnclosedExpression::String(at) => ("a string in `${…}` has no end", at, 1),
        UnclosedExpression::Nested(at) => ("`${` inside of an expression is only allowed in a string", at, 2),
    };
    UnfinishedExpression {
        message: message.to_owned(),
        position: Position::of(text, at),
        length,
        is_nested: matches!(why, UnclosedExpression::Nested(_)),
    }
}
