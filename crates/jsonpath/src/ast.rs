//! The syntax tree of an expression.
//!
//! INVARIANT: the parser bounds how deep expressions nest, so everything that walks
//! them may recurse. Operators of one rank are kept as a flat chain for the same reason.

use kubewright_golib::regex::Regex;
use kubewright_value::{PositionHint, Text, Value};

/// An expression and where it starts, in bytes.
#[derive(Debug)]
pub(super) struct PathExpr {
    pub(super) node: ExprNode,
    pub(super) at: u32,
}

#[derive(Debug)]
pub(super) enum ExprNode {
    Literal(Value),
    Path(ParsedPath),
    /// Keys of the root object, the first an identifier.
    Variable(Vec<PathExpr>),
    /// Prefix operators, the one nearest to the operand last.
    Prefix(Vec<PrefixOperator>, Box<PathExpr>),
    Chain(Box<PathExpr>, Vec<OperatorLink>),
    Choice(Box<Conditional>),
    Call(PathFunction, Vec<PathExpr>),
    List(Vec<PathExpr>),
    Object(Vec<ObjectEntry>),
    /// `#` (all captures) or `#1`; only in an object's key.
    Placeholder(Option<usize>),
}

/// An operator and its right side.
#[derive(Debug)]
pub(super) struct OperatorLink {
    pub(super) operator: InfixOperator,
    pub(super) at: u32,
    pub(super) right: PathExpr,
    /// The right side of `=~` and `!~`, when it is a literal.
    pub(super) regex: Option<Regex>,
}

/// `condition ? then : otherwise`
#[derive(Debug)]
pub(super) struct Conditional {
    pub(super) condition: PathExpr,
    pub(super) then: PathExpr,
    pub(super) otherwise: Option<PathExpr>,
}

#[derive(Debug)]
pub(super) struct ObjectEntry {
    pub(super) key: PathExpr,
    pub(super) value: PathExpr,
    /// Whether the key has placeholders; then the value is a path and gives an entry for each match.
    pub(super) expands: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootOrCurrent {
    /// `$`
    Root,
    /// `@`
    Current,
}

#[derive(Debug)]
pub(super) struct ParsedPath {
    pub(super) origin: RootOrCurrent,
    pub(super) steps: Vec<ParsedStep>,
    /// Whether it yields a list, whatever it finds.
    pub(super) is_list: bool,
}

#[derive(Debug)]
pub(super) struct ParsedStep {
    pub(super) kind: ParsedStepKind,
    pub(super) at: u32,
}

#[derive(Debug)]
pub(super) enum ParsedStepKind {
    Key(StaticKey),
    Computed(PathExpr),
    Script(PathExpr),
    Wildcard,
    Union(Vec<PathExpr>),
    Range([Option<PathExpr>; 3]),
    Filter(PathExpr),
    Descend,
}

/// A key that is known when the expression is parsed.
#[derive(Debug, Clone)]
pub(super) struct StaticKey {
    /// The key of an object.
    pub(super) name: Text,
    /// The index of an array, when it is a number.
    pub(super) index: Option<i64>,
    /// Whether it was written as a number.
    pub(super) is_number: bool,
    /// Where the last object had it.
    pub(super) position_hint: PositionHint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PrefixOperator {
    Not,
    Minus,
    Complement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InfixOperator {
    Otherwise,
    Or,
    And,
    Equal,
    NotEqual,
    StrictEqual,
    StrictNotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Match,
    NotMatch,
    In,
    BitXor,
    BitAnd,
    BitOr,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// The rank of `==` and its like.
const EQUALITY_RANK: u8 = 3;

/// The rank of `<`, `=~`, `in` and their like.
const ORDER_RANK: u8 = 4;

impl InfixOperator {
    /// Every operator that is written in symbols, with its text.
    pub(super) const SYMBOLS: [(&'static str, Self); 24] = [
        ("??", Self::Otherwise),
        ("||", Self::Or),
        ("&&", Self::And),
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("===", Self::StrictEqual),
        ("!==", Self::StrictNotEqual),
        ("<", Self::Less),
        ("<=", Self::LessEqual),
        (">", Self::Greater),
        (">=", Self::GreaterEqual),
        ("=~", Self::Match),
        ("!~", Self::NotMatch),
        ("^", Self::BitXor),
        ("&", Self::BitAnd),
        ("|", Self::BitOr),
        ("<<", Self::ShiftLeft),
        (">>", Self::ShiftRight),
        ("+", Self::Add),
        ("-", Self::Subtract),
        ("*", Self::Multiply),
        ("/", Self::Divide),
        ("%", Self::Remainder),
        ("**", Self::Power),
    ];

    /// Returns how tightly it binds; all are left-associative. As in JavaScript, order binds tighter than equality.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Otherwise => 0,
            Self::Or => 1,
            Self::And => 2,
            Self::Equal | Self::NotEqual | Self::StrictEqual | Self::StrictNotEqual => EQUALITY_RANK,
            Self::BitXor | Self::BitAnd | Self::BitOr => 5,
            Self::ShiftLeft | Self::ShiftRight => 6,
            Self::Add | Self::Subtract => 7,
            Self::Multiply | Self::Divide | Self::Remainder => 8,
            Self::Power => 9,
            _ => ORDER_RANK,
        }
    }

    /// Returns how it is written.
    pub(super) fn symbol(self) -> &'static str {
        Self::SYMBOLS.iter().find(|(_, known)| *known == self).map_or("in", |(symbol, _)| symbol)
    }

    pub(super) fn is_comparison(self) -> bool {
        matches!(self.rank(), EQUALITY_RANK | ORDER_RANK)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathFunction {
    Length,
    IsDefined,
    IsUndefined,
    IsEmpty,
    IsNotEmpty,
    Date,
}

impl PathFunction {
    /// Every function by its name.
    pub(super) const NAMES: [(&'static str, Self); 6] = [
        ("length", Self::Length),
        ("isDefined", Self::IsDefined),
        ("isUndefined", Self::IsUndefined),
        ("isEmpty", Self::IsEmpty),
        ("isNotEmpty", Self::IsNotEmpty),
        ("date", Self::Date),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    pub(super) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| name)
    }
}

impl ParsedStep {
    /// Returns whether this step can find any number of values.
    pub(super) fn is_ambiguous(&self) -> bool {
        !matches!(self.kind, ParsedStepKind::Key(_) | ParsedStepKind::Computed(_) | ParsedStepKind::Script(_))
    }
}
