//! `cel.bind(name, value, expression)`: a name for a value, inside of an expression.

use super::Library;
use crate::environment::Macros;

/// The library of `cel.bind`.
pub const BINDINGS: Library = Library {
    name: "bindings",
    functions: |_| {},
    macros: Macros { bindings: true, ..Macros::NONE },
    types: &[],
};
