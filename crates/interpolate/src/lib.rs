//! `${…}`: CEL expressions inside of texts, and of structures of texts.
//!
//! A text that is one expression and nothing else becomes what the expression gives, with its type. In all
//! other texts the results are spliced in as text, by position, and never looked at again. Templates are
//! compiled once and rendered often; what has no expression in it is shared, not copied.
//!
//! An expression may give the mark of [`omitted`]: the entry or item that it stands for is left out.

mod error;
mod expression;
mod find;
mod mark;
mod output;
mod structure;
mod text;

pub use error::{InterpolationProblem, RenderError};
pub use find::{ExpressionSpan, TextSegment, UnfinishedExpression, find_expressions, split_segments};
pub use mark::{OMITTED, is_omitted, omitted};
pub use output::render_val;
pub use structure::ValueTemplate;
pub use text::{RenderedPiece, TextTemplate};

use kubewright_value::Value;

/// What a template gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderedValue {
    /// A value.
    Value(Value),
    /// Nothing: it is to be left out.
    Omitted,
}

#[cfg(test)]
mod tests;
