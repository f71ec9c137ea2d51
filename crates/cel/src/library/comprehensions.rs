//! Macros with two variables: index and item of a list, key and value of a map.

use super::Library;
use crate::environment::Macros;

/// The library of macros with two variables.
pub const TWO_VARIABLES: Library = Library {
    name: "two-variable comprehensions",
    functions: |_| {},
    macros: Macros { two_variables: true, ..Macros::NONE },
    types: &[],
};
