//! `${…}`: CEL expressions inside strings and inside the strings of JSON values.
//!
//! A string that is a single expression renders to the value of the expression, with its type. In all
//! other strings the results are inserted as text and never interpreted again. Templates are
//! compiled once and rendered often; parts without expressions are shared, not copied.
//!
//! An expression may evaluate to the marker of [`omitted`]: its entry or item is then left out.

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

/// The result of rendering a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderedValue {
    /// A value.
    Value(Value),
    /// The omission marker: the value is to be left out.
    Omitted,
}

#[cfg(test)]
mod tests;
