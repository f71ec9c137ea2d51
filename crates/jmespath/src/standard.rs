//! The functions of the specification, by theme.

use super::function::Builtin;

mod lists;
mod numbers;
mod order;
mod types;

/// All 26 of them.
pub(super) const TABLES: &[&[Builtin]] = &[lists::TABLE, numbers::TABLE, order::TABLE, types::TABLE];
