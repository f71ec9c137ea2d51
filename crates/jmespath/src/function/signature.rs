//! Which arguments a function takes.

use std::borrow::Cow;
use std::fmt;
use std::ops::BitOr;

use kubewright_value::{Budget, Exhausted, Value, ValueKind};

use super::Argument;

/// The types that one argument may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepts(u16);

/// How many arguments a function takes, and of which types; and what it is good for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    parameters: Cow<'static, [Accepts]>,
    /// How many must be there.
    required: usize,
    /// Whether the last one may be given again and again.
    is_variadic: bool,
    returns: &'static str,
    help: &'static str,
}

impl Accepts {
    /// `null`
    pub const NULL: Self = Self(1);
    /// `true` or `false`
    pub const BOOLEAN: Self = Self(2);
    /// A number.
    pub const NUMBER: Self = Self(4);
    /// A string.
    pub const STRING: Self = Self(8);
    /// An array of anything.
    pub const ARRAY: Self = Self(16);
    /// An object.
    pub const OBJECT: Self = Self(32);
    /// An array of nothing but numbers.
    pub const NUMBERS: Self = Self(64);
    /// An array of nothing but strings.
    pub const STRINGS: Self = Self(128);
    /// An expression, as in `&name`.
    pub const REFERENCE: Self = Self(256);
    /// Any value.
    pub const ANY: Self = Self(1 | 2 | 4 | 8 | 16 | 32);

    /// Each type as an error names it, and as a signature does.
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

    /// Returns what has a type of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether `argument` has one of the types.
    pub(super) fn admits(self, argument: &Argument<'_>, budget: &mut Budget) -> Result<bool, Exhausted> {
        let Argument::Value(value) = argument else { return Ok(self.has(Self::REFERENCE)) };
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

impl BitOr for Accepts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

/// The types with their articles, as in `a number or a string`.
impl fmt::Display for Accepts {
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

impl Signature {
    /// Returns the signature of a function that takes exactly `parameters`.
    #[must_use]
    pub fn of(parameters: impl Into<Vec<Accepts>>) -> Self {
        let parameters: Cow<'static, [Accepts]> = Cow::Owned(parameters.into());
        Self { required: parameters.len(), parameters, is_variadic: false, returns: "any", help: "" }
    }

    pub(super) const fn fixed(
        parameters: &'static [Accepts],
        returns: &'static str,
        help: &'static str,
    ) -> Self {
        let required = parameters.len();
        Self { required, parameters: Cow::Borrowed(parameters), is_variadic: false, returns, help }
    }

    /// Says the type of what is returned, and in one line what the function does.
    #[must_use]
    pub fn described(self, returns: &'static str, help: &'static str) -> Self {
        Self { returns, help, ..self }
    }

    /// Returns what the function does, in one line; empty if nobody said it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// Lets the last `count` parameters be left out.
    #[must_use]
    pub fn optional(self, count: usize) -> Self {
        Self { required: self.parameters.len().saturating_sub(count), ..self }
    }

    /// Lets the last parameter be given again and again.
    #[must_use]
    pub fn variadic(self) -> Self {
        Self { is_variadic: true, ..self }
    }

    pub(super) const fn repeat_last(&mut self) {
        self.is_variadic = true;
    }

    /// Returns what the argument at `index` may be.
    pub(super) fn accepts(&self, index: usize) -> Accepts {
        self.parameters.get(index).or(self.parameters.last()).copied().unwrap_or(Accepts::ANY)
    }

    /// Returns why `name` cannot be called with `count` arguments.
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
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, accepts) in self.parameters.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            if accepts.0 & Accepts::ANY.0 == Accepts::ANY.0 {
                f.write_str("any")?;
            } else {
                let names = Accepts::NAMES.iter().filter(|(known, ..)| accepts.has(*known));
                f.write_str(&names.map(|(_, _, name)| *name).collect::<Vec<_>>().join("|"))?;
            }
            f.write_str(if i >= self.required { "?" } else { "" })?;
        }
        write!(f, "{}) -> {}", if self.is_variadic { "..." } else { "" }, self.returns)
    }
}

pub(super) fn with_article(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Null => "null",
        ValueKind::Bool => "a boolean",
        ValueKind::Number => "a number",
        ValueKind::String => "a string",
        ValueKind::Array => "an array",
        ValueKind::Object => "an object",
    }
}
