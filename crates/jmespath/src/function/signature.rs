//! Signatures of functions.

use std::borrow::Cow;
use std::fmt;
use std::ops::BitOr;

use kubewright_value::{Budget, Exhausted, Value, ValueKind};

use super::JmesPathArgument;

/// The set of types that an argument may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentTypes(u16);

/// A function's parameters, result type and one-line description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JmesPathSignature {
    parameters: Cow<'static, [ArgumentTypes]>,
    /// The number of required arguments.
    required: usize,
    /// Whether the last parameter may be repeated.
    is_variadic: bool,
    returns: &'static str,
    help: &'static str,
}

impl ArgumentTypes {
    /// `null`
    pub const NULL: Self = Self(1);
    /// `true` or `false`
    pub const BOOLEAN: Self = Self(2);
    /// A number.
    pub const NUMBER: Self = Self(4);
    /// A string.
    pub const STRING: Self = Self(8);
    /// An array.
    pub const ARRAY: Self = Self(16);
    /// An object.
    pub const OBJECT: Self = Self(32);
    /// An array of numbers.
    pub const NUMBERS: Self = Self(64);
    /// An array of strings.
    pub const STRINGS: Self = Self(128);
    /// An expression, as in `&name`.
    pub const REFERENCE: Self = Self(256);
    /// Any value.
    pub const ANY: Self = Self(1 | 2 | 4 | 8 | 16 | 32);

    /// Each type with its name in errors and its name in signatures.
    const NAMES: [(Self, &'static str, &'static str); 9] = [
        (Self::NULL, "null", "null"),
        (Self::BOOLEAN, "a boolean", "boolean"),
        (Self::NUMBER, "a number", "number"),
        (Self::STRING, "a string", "string"),
        (Self::ARRAY, "an array", "array"),
        (Self::OBJECT, "an object", "object"),
        (Self::NUMBERS, "an array of numbers", "array[number]"),
        (Self::STRINGS, "an array of strings", "array[string]"),
        (Self::REFERENCE, "an expression such as `&name`", "&expression"),
    ];

    /// Returns the union of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether `argument` has one of the types.
    pub(super) fn admits(
        self,
        argument: &JmesPathArgument<'_>,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        let JmesPathArgument::Value(value) = argument else { return Ok(self.has(Self::REFERENCE)) };
        let plain = match value.kind() {
            ValueKind::Null => Self::NULL,
            ValueKind::Bool => Self::BOOLEAN,
            ValueKind::Number => Self::NUMBER,
            ValueKind::String => Self::STRING,
            ValueKind::Array => Self::ARRAY,
            ValueKind::Object => Self::OBJECT,
        };
        if self.has(plain) {
            return Ok(true);
        }
        let (Value::Array(items), true) = (&**value, self.has(Self::NUMBERS) || self.has(Self::STRINGS))
        else {
            return Ok(false);
        };
        budget.step(items.len() as u64)?;
        let all = |kind: ValueKind| items.iter().all(|item| item.kind() == kind);
        Ok(self.has(Self::NUMBERS) && all(ValueKind::Number)
            || self.has(Self::STRINGS) && all(ValueKind::String))
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for ArgumentTypes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

/// The types with their articles, as in `a number or a string`.
impl fmt::Display for ArgumentTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 & Self::ANY.0 == Self::ANY.0 {
            return f.write_str("a value");
        }
        let names = Self::NAMES.iter().filter(|(accepts, ..)| self.has(*accepts));
        for (i, (_, name, _)) in names.enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { " or " })?;
        }
        Ok(())
    }
}

impl JmesPathSignature {
    /// Returns the signature of a function that takes exactly `parameters`.
    #[must_use]
    pub fn of(parameters: impl Into<Vec<ArgumentTypes>>) -> Self {
        let parameters: Cow<'static, [ArgumentTypes]> = Cow::Owned(parameters.into());
        Self { required: parameters.len(), parameters, is_variadic: false, returns: "any", help: "" }
    }

    pub(super) const fn fixed(
        parameters: &'static [ArgumentTypes],
        returns: &'static str,
        help: &'static str,
    ) -> Self {
        let required = parameters.len();
        Self { required, parameters: Cow::Borrowed(parameters), is_variadic: false, returns, help }
    }

    /// Sets the result type and the one-line description.
    #[must_use]
    pub fn described(self, returns: &'static str, help: &'static str) -> Self {
        Self { returns, help, ..self }
    }

    /// Returns the one-line description; empty if there is none.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// Makes the last `count` parameters optional.
    #[must_use]
    pub fn optional(self, count: usize) -> Self {
        Self { required: self.parameters.len().saturating_sub(count), ..self }
    }

    /// Allows the last parameter any number of times.
    #[must_use]
    pub fn variadic(self) -> Self {
        Self { is_variadic: true, ..self }
    }

    pub(super) const fn repeat_last(&mut self) {
        self.is_variadic = true;
    }

    /// Returns the types that the argument at `index` may have.
    pub(super) fn accepts(&self, index: usize) -> ArgumentTypes {
        self.parameters.get(index).or(self.parameters.last()).copied().unwrap_or(ArgumentTypes::ANY)
    }

    /// Returns the error of calling `name` with `count` arguments, if it is one.
    pub(in super::super) fn refuses(&self, name: &str, count: usize) -> Option<String> {
        let (least, most) = (self.required, self.parameters.len());
        if count >= least && (self.is_variadic || count <= most) {
            return None;
        }
        let takes = match (self.is_variadic, least == most) {
            (true, _) => format!("at least {least}"),
            (false, true) => least.to_string(),
            (false, false) => format!("{least} to {most}"),
        };
        let noun = if takes.ends_with(" 1") || takes == "1" { "argument" } else { "arguments" };
        Some(format!("`{name}` takes {takes} {noun}, not {count}"))
    }
}

/// As in `(array[string], number...) -> string`.
impl fmt::Display for JmesPathSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, accepts) in self.parameters.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            if accepts.0 & ArgumentTypes::ANY.0 == ArgumentTypes::ANY.0 {
                f.write_str("any")?;
            } else {
                let names = ArgumentTypes::NAMES.iter().filter(|(known, ..)| accepts.has(*known));
                f.write_str(&names.map(|(_, _, name)| *name).collect::<Vec<_>>().join("|"))?;
            }
            f.write_str(if i >= self.required { "?" } else { "" })?;
        }
        write!(f, "{}) -> {}", if self.is_variadic { "..." } else { "" }, self.returns)
    }
}

pub(super) fn kind_with_article(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Null => "null",
        ValueKind::Bool => "a boolean",
        ValueKind::Number => "a number",
        ValueKind::String => "a string",
        ValueKind::Array => "an array",
        ValueKind::Object => "an object",
    }
}
