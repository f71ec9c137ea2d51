//! Which arguments a function takes.

use std::fmt;
use std::ops::BitOr;

use kubewright_value::{Budget, Exhausted, Kind, Value};

use super::Argument;

/// The types that one argument may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepts(u16);

/// How many arguments a function takes, and of which types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    parameters: Vec<Accepts>,
    /// How many must be there.
    required: usize,
    /// Whether the last one may be given again and again.
    is_variadic: bool,
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

    const NAMES: [(Self, &'static str); 9] = [
        (Self::NULL, "null"),
        (Self::BOOLEAN, "a boolean"),
        (Self::NUMBER, "a number"),
        (Self::STRING, "a string"),
        (Self::ARRAY, "an array"),
        (Self::OBJECT, "an object"),
        (Self::NUMBERS, "an array of numbers"),
        (Self::STRINGS, "an array of strings"),
        (Self::REFERENCE, "an expression such as `&name`"),
    ];

    /// Returns whether `argument` has one of the types.
    pub(super) fn admits(self, argument: &Argument<'_>, budget: &mut Budget) -> Result<bool, Exhausted> {
        let Argument::Value(value) = argument else { return Ok(self.has(Self::REFERENCE)) };
        let plain = match value.kind() {
            Kind::Null => Self::NULL,
            Kind::Bool => Self::BOOLEAN,
            Kind::Number => Self::NUMBER,
            Kind::String => Self::STRING,
            Kind::Array => Self::ARRAY,
            Kind::Object => Self::OBJECT,
        };
        if self.has(plain) {
            return Ok(true);
        }
        let (Value::Array(items), true) = (&**value, self.has(Self::NUMBERS) || self.has(Self::STRINGS))
        else {
            return Ok(false);
        };
        budget.step(items.len() as u64)?;
        let all = |kind: Kind| items.iter().all(|item| item.kind() == kind);
        Ok(self.has(Self::NUMBERS) && all(Kind::Number) || self.has(Self::STRINGS) && all(Kind::String))
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Accepts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The types with their articles, as in `a number or a string`.
impl fmt::Display for Accepts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 & Self::ANY.0 == Self::ANY.0 {
            return f.write_str("a value");
        }
        let names = Self::NAMES.iter().filter(|(accepts, _)| self.has(*accepts));
        for (i, (_, name)) in names.enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { " or " })?;
        }
        Ok(())
    }
}

impl Signature {
    /// Returns the signature of a function that takes exactly `parameters`.
    #[must_use]
    pub fn of(parameters: impl Into<Vec<Accepts>>) -> Self {
        let parameters = parameters.into();
        Self { required: parameters.len(), parameters, is_variadic: false }
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

pub(super) fn with_article(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "a boolean",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}
