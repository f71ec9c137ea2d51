//! The extension libraries. Which are on is the choice of who makes the environment.

use super::environment::Macros;
use super::function::Functions;

/// Functions, macros and types that belong together.
pub struct Library {
    /// What it is called.
    pub name: &'static str,
    /// Adds its functions.
    pub functions: fn(&mut Functions),
    /// Its macros.
    pub macros: Macros,
    /// The names of its types, for `type(x) == net.IP`.
    pub types: &'static [&'static str],
}
