//! The functions of the specification.

use super::function::JmesPathBuiltin;

mod lists;
mod numbers;
mod order;
mod types;

/// The tables of all 26 functions.
pub(super) const STANDARD_TABLES: &[&[JmesPathBuiltin]] =
    &[lists::TABLE, numbers::TABLE, order::TABLE, types::TABLE];
