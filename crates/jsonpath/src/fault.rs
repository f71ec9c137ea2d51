//! The errors of evaluating an expression.
//!
//! A wildcard drops the branches that fail, so a fault is made often and read seldom:
//! it is plain data, and becomes text only at the very end.

use std::fmt;

use kubewright_value::{Exhausted, Text, ValueKind};

use super::ast::{InfixOperator, PathFunction};

/// A fault and where in the expression it happened, in bytes.
#[derive(Debug)]
pub(super) struct PathFault {
    pub(super) kind: PathFaultKind,
    pub(super) at: u32,
}

#[derive(Debug)]
pub(super) enum PathFaultKind {
    Exhausted(Exhausted),
    OutOfBounds { index: i64, length: usize },
    NoSuchIndex(FoundType),
    NotSelectable(FoundType),
    NotBoolean(FoundType),
    NotNumber(FoundType),
    NotComparable(InfixOperator, FoundType, FoundType),
    NotList(FoundType),
    Arguments(PathFunction),
    Argument(PathFunction, FoundType),
    BadRegex(String),
    BadDate(Text),
    NoVariable(Text),
    NoPlaceholder(Option<usize>),
}

/// The type that was found instead.
#[derive(Debug, Clone, Copy)]
pub(super) enum FoundType {
    Undefined,
    Value(ValueKind),
}

impl PathFault {
    pub(super) fn is_limit(&self) -> bool {
        matches!(self.kind, PathFaultKind::Exhausted(_))
    }
}

impl From<Exhausted> for PathFaultKind {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

impl From<Exhausted> for PathFault {
    fn from(exhausted: Exhausted) -> Self {
        Self { kind: PathFaultKind::Exhausted(exhausted), at: 0 }
    }
}

impl fmt::Display for FoundType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Undefined => "undefined",
            Self::Value(kind) => kind.name(),
        })
    }
}

impl fmt::Display for PathFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted(exhausted) => exhausted.fmt(f),
            Self::OutOfBounds { index, length } => {
                write!(f, "index {index} is out of bounds, the array has {length} items")
            }
            Self::NoSuchIndex(what) => write!(f, "an array is indexed by number, found {what}"),
            Self::NotSelectable(what) => write!(f, "{what} has no keys, expected an object or array"),
            Self::NotBoolean(what) => write!(f, "expected boolean, found {what}"),
            Self::NotNumber(what) => write!(f, "expected number, found {what}"),
            Self::NotComparable(operator, left, right) => {
                write!(f, "operator `{}` cannot be used on {left} and {right}", operator.symbol())
            }
            Self::NotList(what) => {
                write!(f, "the right side of `in` must be an array or an object, found {what}")
            }
            Self::Arguments(function) => {
                write!(f, "function `{}` takes exactly one argument", function.name())
            }
            Self::Argument(function, what) => {
                write!(f, "function `{}` takes no {what}", function.name())
            }
            Self::BadRegex(message) => write!(f, "bad regular expression: {message}"),
            Self::BadDate(text) => write!(f, "`{text}` is not a date"),
            Self::NoVariable(name) => write!(f, "nothing has the key `{name}`"),
            Self::NoPlaceholder(None) => f.write_str("placeholder `#` has nothing captured"),
            Self::NoPlaceholder(Some(number)) => {
                write!(f, "placeholder `#{number}` has nothing captured")
            }
        }
    }
}
