//! `cel.bind(name, value, expression)`: a name for a value, inside an expression.

use super::CelLibrary;
use crate::environment::MacroSet;

/// The library of `cel.bind`.
pub const BINDINGS: CelLibrary = CelLibrary {
    name: "bindings",
    functions: |_| {},
    macros: MacroSet { bindings: true, ..MacroSet::NONE },
    types: &[],
};
