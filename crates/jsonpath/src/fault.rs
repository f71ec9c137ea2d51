//! What goes wrong while an expression is evaluated.
//!
//! A wildcard drops the branches that fail, so a fault is made often and read seldom:
//! it is plain data, and becomes text only at the very end.

use std::fmt;

use kubewright_value::{Exhausted, Kind, Text};

use super::ast::{Function, Infix};

/// A fault and where in the expression it happened, in bytes.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    pub(super) at: u32,
}

#[derive(Debug)]
pub(super) enum FaultKind {
    Exhausted(Exhausted),
    OutOfBounds { index: i64, length: usize },
    NoSuchIndex(What),
    NotSelectable(What),
    NotBoolean(What),
    NotNumber(What),
    NotComparable(Infix, What, What),
    NotList(What),
    Arguments(Function),
    Argument(Function, What),
    BadRegex(String),
    BadDate(Text),
    NoVariable(Text),
    NoPlaceholder(Option<usize>),
}

/// What was found instead.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Undefined,
    Value(Kind),
}

impl Fault {
    pub(super) fn is_limit(&self) -> bool {
        matches!(self.kind, FaultKind::Exhausted(_))
    }
}

impl From<Exhausted> for FaultKind {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

impl From<Exhausted> for Fault {
    fn from(exhausted: Exhausted) -> Self {
        Self { kind: FaultKind::Exhausted(exhausted), at: 0 }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Undefined => "undefined",
            Self::Value(kind) => kind.name(),
        })
    }
}

impl fmt::Display for FaultKind {
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
