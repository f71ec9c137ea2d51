//! The functions of the specification, by theme.

use super::function::Functions;

mod lists;
mod numbers;
mod order;
mod types;

/// Returns `functions` with all 26 added.
pub(super) fn add_to(functions: Functions) -> Functions {
    types::add_to(order::add_to(numbers::add_to(lists::add_to(functions))))
}
