//! `${…}`: CEL expressions inside strings and inside the strings of JSON values.
//!
//! A string that is a single expression renders to the value of the expression, with its type. In all
//! other strings the results are inserted as text and never interpreted again. Templates are
//! compiled once and rendered often; parts without expressions are shared, not copied.
//!
//! An expression may evaluate to the marker of [`omitted`]: its entry or item is then left out.

mod error;
mod expression;
mod omitted;
mod output;
mod segments;
mod text_template;
mod value_template;

pub use error::{InterpolationProblem, RenderError};
pub use omitted::{OMITTED_TYPE_NAME, is_omitted, omitted};
pub use output::render_val;
pub use segments::{ExpressionSpan, TextSegment, UnfinishedExpression, find_expressions, split_segments};
pub use text_template::{RenderedPiece, TextTemplate};
pub use value_template::ValueTemplate;

use kubewright_value::Value;

/// The result of rendering a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderedValue {
    /// A value.
    Value(Value),
    /// The omission marker: the value is to be left out.
    Omitted,
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
