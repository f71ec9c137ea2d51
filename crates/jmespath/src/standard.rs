//! The functions of the specification, by theme.

use super::function::JmesPathBuiltin;

mod lists;
mod numbers;
mod order;
mod types;

/// All 26 of them.
pub(super) const STANDARD_TABLES: &[&[JmesPathBuiltin]] =
    &[lists::TABLE, numbers::TABLE, order::TABLE, types::TABLE];
