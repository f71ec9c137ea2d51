//! The extension libraries. Which are on is the choice of who makes the environment.

mod bindings;
mod comprehensions;
mod encoders;
mod format;
pub mod kubernetes;
mod lists;
mod math;
mod network;
mod optionals;
pub mod policy;
mod regexes;
mod sets;
mod strings;

pub use bindings::BINDINGS;
pub use comprehensions::TWO_VARIABLES;
pub use encoders::ENCODERS;
pub use lists::LISTS;
pub(super) use lists::sort;
pub use math::MATH;
pub use network::NETWORK;
use network::STRICT_NETWORK;
pub use optionals::OPTIONALS;
pub use regexes::REGEX;
pub use sets::SETS;
pub use strings::{STRINGS, STRINGS_2};

use super::environment::Macros;
use super::error::Failure;
use super::function::Functions;
use super::val::Val;

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

/// The libraries of the language's own project.
pub const EXTENSIONS: [&Library; 10] =
    [&BINDINGS, &TWO_VARIABLES, &ENCODERS, &LISTS, &MATH, &NETWORK, &OPTIONALS, &REGEX, &SETS, &STRINGS];

/// Returns the text at `index`.
fn text<'v>(arguments: &'v [Val<'_>], index: usize) -> Result<&'v str, Failure> {
    arguments.get(index).and_then(Val::as_str).ok_or_else(Failure::mismatch)
}

/// Returns the value of a library at `index`.
fn opaque<'v, T: 'static>(arguments: &'v [Val<'_>], index: usize) -> Result<&'v T, Failure> {
    arguments.get(index).and_then(Val::as_opaque).ok_or_else(Failure::mismatch)
}
