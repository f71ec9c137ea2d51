//! Finding the expressions in a string.

use std::ops::Range;

use kubewright_value::Position;
use thiserror::Error;

use kubewright_cel::{UnclosedExpression, closing_brace};

/// The location of an expression in a string.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpressionSpan {
    /// The bytes of `${…}`.
    pub whole: Range<usize>,
    /// The bytes between the braces.
    pub inner: Range<usize>,
}

/// An expression without an end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct UnfinishedExpression {
    /// The message.
    pub message: String,
    /// The position in the string.
    pub position: Position,
    /// The number of characters that the error covers.
    pub length: u32,
    /// Whether the reason is that another expression starts inside it.
    pub is_nested: bool,
}

/// Returns the expressions of `text` in order.
///
/// There is no way to escape `${`, but an expression can evaluate to it: `${'${'}`.
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

/// A segment of a string as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextSegment<'t> {
    /// Text.
    Literal(&'t str),
    /// `${…}`
    Expression(&'t str),
}

/// Returns the segments of `text`, which together are `text`: for checking a language
/// around expressions before they have values.
///
/// # Errors
/// As [`find_expressions`].
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
        UnclosedExpression::Nested(at) => ("`${` inside an expression is only allowed in a string", at, 2),
    };
    UnfinishedExpression {
        message: message.to_owned(),
        position: Position::of(text, at),
        length,
        is_nested: matches!(why, UnclosedExpression::Nested(_)),
    }
}
