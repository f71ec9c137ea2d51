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
mod helm;
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

use super::call::{CallResult, FunctionCall};
use super::error::GoTemplateErrorKind;
use super::item::{ElementType, IntegerWidth, TemplateItem};
pub(super) use regexes::takes_pattern;

/// The functions that templates may call.
///
/// Functions whose answer depends on more than their arguments, or that cost far more
/// than they look, are refused until they are allowed by name.
#[derive(Debug, Clone, Default)]
pub struct FunctionSet {
    allowed: BTreeSet<&'static str>,
    is_helm: bool,
}

impl FunctionSet {
    /// Returns every function that always gives the same answer for the same arguments.
    #[must_use]
    pub fn rules() -> Self {
        Self::default()
    }

    /// Returns the functions of Helm's templates.
    pub(super) fn helm() -> Self {
        Self { is_helm: true, ..Self::default() }
    }

    /// Allows the refused function `name`; a name that is not refused changes nothing.
    #[must_use]
    pub fn allow(mut self, name: &str) -> Self {
        if let Some(function) = FUNCTION_TABLES.get(name) {
            self.allowed.insert(function.name);
        }
        self
    }

    /// Returns the names of all functions that may be called, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let callable = FUNCTION_TABLES.values().filter(|function| self.permits(function));
        let mut names: Vec<_> = callable.map(|function| function.name).collect();
        names.sort_unstable();
        names
    }

    /// Returns how the function `name` is called and what it does.
    #[must_use]
    pub fn help(name: &str) -> Option<&'static FunctionHelp> {
        FUNCTION_HELP.get(name)
    }

    /// Returns the names of the functions that must be allowed by name, sorted.
    #[must_use]
    pub fn refusable() -> Vec<&'static str> {
        let mut names: Vec<_> = FUNCTION_TABLES
            .values()
            .filter(|f| !matches!(f.access, FunctionAccess::Free | FunctionAccess::Helm))
            .map(|f| f.name)
            .collect();
        names.sort_unstable();
        names
    }

    /// Finds a function; the error says why it is missing, and whether it could be allowed.
    pub(super) fn find(
        &self,
        name: &str,
    ) -> Result<&'static TemplateFunction, (GoTemplateErrorKind, String)> {
        let undefined = || (GoTemplateErrorKind::Parse, format!("function {name:?} not defined"));
        let function = FUNCTION_TABLES.get(name).ok_or_else(undefined)?;
        if function.access == FunctionAccess::Helm && !self.is_helm {
            return Err(undefined());
        }
        if self.permits(function) {
            return Ok(function);
        }
        let reason = match function.access {
            FunctionAccess::Free | FunctionAccess::Helm | FunctionAccess::Unrepeatable => {
                "its result differs from call to call"
            }
            FunctionAccess::Expensive => "it is expensive by design",
            FunctionAccess::Unavailable(reason) => {
                return Err((
                    GoTemplateErrorKind::Parse,
                    format!("function {name:?} is not available: {reason}"),
                ));
            }
        };
        let message = format!("function {name:?} is refused because {reason}; it can be allowed by name");
        Err((GoTemplateErrorKind::Refused, message))
    }

    fn permits(&self, function: &TemplateFunction) -> bool {
        match function.access {
            FunctionAccess::Free => true,
            FunctionAccess::Helm => self.is_helm,
            FunctionAccess::Unavailable(_) => false,
            // What differs from Helm's own rendering is not used.
            FunctionAccess::Unrepeatable => self.is_helm || self.allowed.contains(function.name),
            FunctionAccess::Expensive => self.allowed.contains(function.name),
        }
    }
}

/// Returns how many parameters a function has, and whether more arguments may follow.
#[cfg(test)]
pub(super) fn arity(name: &str) -> Option<(usize, bool)> {
    FUNCTION_TABLES.get(name).map(|function| (function.parameters.len(), function.rest.is_some()))
}

/// How a function is called and what it does, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionHelp {
    /// The name with its arguments: `trunc WIDTH TEXT`. Those that may be repeated end with dots.
    pub call: String,
    /// What it results in.
    pub help: String,
    /// A template that calls it; empty for a function that shows nothing on its own.
    pub example: String,
    /// What the example results in.
    pub result: String,
}

static FUNCTION_HELP: LazyLock<HashMap<String, FunctionHelp>> = LazyLock::new(|| {
    let lines = include_str!("functions/help.jsonl").lines();
    let row = |line: &str| {
        let value = kubewright_value::json::parse(line).ok()?;
        let text = |key: &str| value.str_at(&[key]).to_owned();
        let name = text("call").split(' ').next().unwrap_or_default().to_owned();
        let help = FunctionHelp {
            call: text("call"),
            help: text("help"),
            example: text("example"),
            result: text("result"),
        };
        Some((name, help))
    };
    lines.filter_map(row).collect()
});

/// One function.
pub(super) struct TemplateFunction {
    pub name: &'static str,
    pub parameters: &'static [ParameterType],
    /// The type of further arguments, if any number of them may follow.
    pub rest: Option<ParameterType>,
    pub access: FunctionAccess,
    pub run: fn(&mut FunctionCall<'_>, &[TemplateItem]) -> CallResult,
}

impl TemplateFunction {
    /// Returns the type of the parameter at `index`.
    pub(super) fn parameter(&self, index: usize) -> ParameterType {
        self.parameters.get(index).copied().or(self.rest).unwrap_or(ParameterType::Any)
    }
}

impl fmt::Debug for TemplateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The condition under which a function may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FunctionAccess {
    Free,
    /// Only in templates of Helm.
    Helm,
    /// Only when allowed: takes time or randomness from the inputs.
    Unrepeatable,
    /// Only when allowed: slow on purpose.
    Expensive,
    /// Known, but not here.
    Unavailable(&'static str),
}

/// The Go types of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterType {
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

impl ParameterType {
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
    pub(super) fn takes(self, item: &TemplateItem) -> bool {
        match self {
            Self::Any | Self::Raw => true,
            Self::Text | Self::Bytes => matches!(item, TemplateItem::Text(_) | TemplateItem::Bytes(_)),
            Self::Int => matches!(item, TemplateItem::Int(IntegerWidth::Int, _)),
            Self::Uint32 => false,
            Self::Float => matches!(item, TemplateItem::Float(_) | TemplateItem::Number(_)),
            Self::Bool => matches!(item, TemplateItem::Bool(_)),
            Self::Dict => match item {
                TemplateItem::Dict(dict) => dict.of == ElementType::Any,
                other => matches!(other, TemplateItem::Object(_)),
            },
            Self::Time => matches!(item, TemplateItem::Time(_)),
        }
    }
}

/// A line of a table: a function with fixed parameters.
const fn fixed_function(
    name: &'static str,
    parameters: &'static [ParameterType],
    run: fn(&mut FunctionCall<'_>, &[TemplateItem]) -> CallResult,
) -> TemplateFunction {
    TemplateFunction { name, parameters, rest: None, access: FunctionAccess::Free, run }
}

/// A line of a table: a function that takes any number of further arguments.
const fn variadic_function(
    name: &'static str,
    parameters: &'static [ParameterType],
    rest: ParameterType,
    run: fn(&mut FunctionCall<'_>, &[TemplateItem]) -> CallResult,
) -> TemplateFunction {
    TemplateFunction { name, parameters, rest: Some(rest), access: FunctionAccess::Free, run }
}

impl TemplateFunction {
    /// The same function, callable only as `access` says.
    const fn guarded(mut self, access: FunctionAccess) -> Self {
        self.access = access;
        self
    }
}

static FUNCTION_TABLES: LazyLock<HashMap<&'static str, &'static TemplateFunction>> = LazyLock::new(|| {
    let tables: [&'static [TemplateFunction]; 18] = [
        builtin::TABLE,
        case::TABLE,
        crypto::TABLE,
        dates::TABLE,
        dicts::TABLE,
        encoding::TABLE,
        helm::TABLE,
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
