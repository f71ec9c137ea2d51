//! The functions a template can call: Go's own and Sprig's.
//!
//! One function is a short Rust function in the file of its theme and a line in that
//! file's table: name, parameter types, what it needs. Arguments arrive checked
//! against the parameter types. Whatever multiplies its input charges the budget first.

mod arguments;
mod builtin;
mod case;
mod crypto;
mod dates;
mod dicts;
mod encoding;
mod json;
mod keys;
mod lists;
mod math;
mod merge;
mod paths;
mod random;
mod regexes;
pub(super) mod semver;
mod strings;
mod types;
mod urls;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::LazyLock;

use super::call::{Call, Outcome};
use super::error::ErrorKind;
use super::item::{Item, Of, Width};
pub(super) use regexes::takes_pattern;

/// Which functions templates may call.
///
/// Functions whose answer depends on more than their arguments, or that cost far more
/// than they look, are refused until they are allowed by name.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    allowed: BTreeSet<&'static str>,
}

impl Functions {
    /// Returns every function that always gives the same answer for the same arguments.
    #[must_use]
    pub fn rules() -> Self {
        Self::default()
    }

    /// Allows the refused function `name`; a name that is not refused changes nothing.
    #[must_use]
    pub fn allow(mut self, name: &str) -> Self {
        if let Some(function) = TABLE.get(name) {
            self.allowed.insert(function.name);
        }
        self
    }

    /// Returns the names of all functions that may be called, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let callable = TABLE.values().filter(|function| self.permits(function));
        let mut names: Vec<_> = callable.map(|function| function.name).collect();
        names.sort_unstable();
        names
    }

    /// Returns the names of the functions that must be allowed by name, sorted.
    #[must_use]
    pub fn refusable() -> Vec<&'static str> {
        let mut names: Vec<_> = TABLE.values().filter(|f| f.access != Access::Free).map(|f| f.name).collect();
        names.sort_unstable();
        names
    }

    /// Finds a function; the error says why there is none, and whether it could be allowed.
    pub(super) fn find(&self, name: &str) -> Result<&'static Function, (ErrorKind, String)> {
        let undefined = || (ErrorKind::Parse, format!("function {name:?} not defined"));
        let function = TABLE.get(name).ok_or_else(undefined)?;
        if self.permits(function) {
            return Ok(function);
        }
        let reason = match function.access {
            Access::Free | Access::Unrepeatable => "its result differs from call to call",
            Access::Expensive => "it is expensive by design",
            Access::Unavailable(reason) => {
                return Err((ErrorKind::Parse, format!("function {name:?} is not available: {reason}")));
            }
        };
        let message = format!("function {name:?} is refused because {reason}; it can be allowed by name");
        Err((ErrorKind::Refused, message))
    }

    fn permits(&self, function: &Function) -> bool {
        match function.access {
            Access::Free => true,
            Access::Unavailable(_) => false,
            Access::Unrepeatable | Access::Expensive => self.allowed.contains(function.name),
        }
    }
}

/// One function.
pub(super) struct Function {
    pub name: &'static str,
    pub parameters: &'static [Type],
    /// The type of further arguments, if any number of them may follow.
    pub rest: Option<Type>,
    pub access: Access,
    pub run: fn(&mut Call<'_>, &[Item]) -> Outcome,
}

impl Function {
    /// Returns the type of the parameter at `index`.
    pub(super) fn parameter(&self, index: usize) -> Type {
        self.parameters.get(index).copied().or(self.rest).unwrap_or(Type::Any)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Who may call a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Free,
    /// Only when allowed: takes time or randomness from the inputs.
    Unrepeatable,
    /// Only when allowed: slow on purpose.
    Expensive,
    /// Known, but not here.
    Unavailable(&'static str),
}

/// The Go types of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Any,
    /// Any, and a missing value stays one.
    Raw,
    Text,
    /// Text, and a string that is not UTF-8 stays one.
    Bytes,
    Int,
    Uint32,
    Float,
    Bool,
    Dict,
    Time,
}

impl Type {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Any | Self::Raw => "interface {}",
            Self::Text | Self::Bytes => "string",
            Self::Int => "int",
            Self::Uint32 => "uint32",
            Self::Float => "float64",
            Self::Bool => "bool",
            Self::Dict => "map[string]interface {}",
            Self::Time => "time.Time",
        }
    }

    /// Returns whether Go would assign `item` to a parameter of this type.
    pub(super) fn takes(self, item: &Item) -> bool {
        match self {
            Self::Any | Self::Raw => true,
            Self::Text | Self::Bytes => matches!(item, Item::Text(_) | Item::Bytes(_)),
            Self::Int => matches!(item, Item::Int(Width::Int, _)),
            Self::Uint32 => false,
            Self::Float => matches!(item, Item::Float(_) | Item::Number(_)),
            Self::Bool => matches!(item, Item::Bool(_)),
            Self::Dict => match item {
                Item::Dict(dict) => dict.of == Of::Any,
                other => matches!(other, Item::Object(_)),
            },
            Self::Time => matches!(item, Item::Time(_)),
        }
    }
}

/// A line of a table: a function with fixed parameters.
const fn function(
    name: &'static str,
    parameters: &'static [Type],
    run: fn(&mut Call<'_>, &[Item]) -> Outcome,
) -> Function {
    Function { name, parameters, rest: None, access: Access::Free, run }
}

/// A line of a table: a function that takes any number of further arguments.
const fn variadic(
    name: &'static str,
    parameters: &'static [Type],
    rest: Type,
    run: fn(&mut Call<'_>, &[Item]) -> Outcome,
) -> Function {
    Function { name, parameters, rest: Some(rest), access: Access::Free, run }
}

impl Function {
    /// The same function, callable only as `access` says.
    const fn guarded(mut self, access: Access) -> Self {
        self.access = access;
        self
    }
}

static TABLE: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
    let tables: [&'static [Function]; 17] = [
        builtin::TABLE,
        case::TABLE,
        crypto::TABLE,
        dates::TABLE,
        dicts::TABLE,
        encoding::TABLE,
        json::TABLE,
        keys::TABLE,
        lists::TABLE,
        math::TABLE,
        paths::TABLE,
        random::TABLE,
        regexes::TABLE,
        semver::TABLE,
        strings::TABLE,
        types::TABLE,
        urls::TABLE,
    ];
    tables.into_iter().flatten().map(|function| (function.name, function)).collect()
});
