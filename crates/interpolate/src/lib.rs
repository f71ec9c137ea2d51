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

pub use error::{Problem, RenderError};
pub use find::{Found, Unfinished, Written, expressions, written};
pub use mark::{OMITTED, is_omitted, omitted};
pub use output::rendered;
pub use structure::Template;
pub use text::{Piece, TextTemplate};

use kubewright_value::Value;

/// What a template gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendered {
    /// A value.
    Value(Value),
    /// Nothing: it is to be left out.
    Omitted,
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
