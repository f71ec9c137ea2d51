//! Macros with two variables: index and item of a list, key and value of a map.

use super::CelLibrary;
use crate::environment::MacroSet;

/// The library of macros with two variables.
pub const TWO_VARIABLES: CelLibrary = CelLibrary {
    name: "two-variable comprehensions",
    functions: |_| {},
    macros: MacroSet { two_variables: true, ..MacroSet::NONE },
    types: &[],
};
