//! The extension libraries, which an environment may have besides the standard functions.

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
pub(super) use lists::sort_by_keys;
pub use math::MATH;
pub use network::NETWORK;
use network::STRICT_NETWORK;
pub use optionals::OPTIONALS;
pub use regexes::REGEX;
pub use sets::SETS;
pub use strings::{STRINGS, STRINGS_2};

use super::environment::MacroSet;
use super::error::CelFailure;
use super::function::CelFunctions;
use super::val::Val;

/// A library: functions, macros and types that belong together.
pub struct CelLibrary {
    /// The name of the library.
    pub name: &'static str,
    /// Adds its functions.
    pub functions: fn(&mut CelFunctions),
    /// Its macros.
    pub macros: MacroSet,
    /// The names of its types, for `type(x) == net.IP`.
    pub types: &'static [&'static str],
}

/// The extension libraries of the CEL project.
pub const EXTENSIONS: [&CelLibrary; 10] =
    [&BINDINGS, &TWO_VARIABLES, &ENCODERS, &LISTS, &MATH, &NETWORK, &OPTIONALS, &REGEX, &SETS, &STRINGS];

/// Returns the argument at `index`, which must be a string.
fn text_argument<'v>(arguments: &'v [Val<'_>], index: usize) -> Result<&'v str, CelFailure> {
    arguments.get(index).and_then(Val::as_str).ok_or_else(CelFailure::mismatch)
}

/// Returns the argument at `index`, which must be a library's `T`.
fn opaque_argument<'v, T: 'static>(arguments: &'v [Val<'_>], index: usize) -> Result<&'v T, CelFailure> {
    arguments.get(index).and_then(Val::as_opaque).ok_or_else(CelFailure::mismatch)
}
