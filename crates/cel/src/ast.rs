//! What an expression is made of, before anything is known about its names.
//!
//! Long chains of one operator are flat, so their length does not count as nesting.

use kubewright_value::Text;

use super::val::Val;

/// How deep expressions may nest.
pub(super) const MAX_HEIGHT: u32 = 100;

/// A part of an expression, and the word of it that messages point at: start and end in bytes.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    pub(super) node: Node,
    pub(super) span: Span,
    pub(super) height: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Literal(Val<'static>),
    /// `a`, or `.a`, which no variable of a macro hides.
    Identifier {
        name: Text,
        is_absolute: bool,
    },
    /// `a.b`, `a.?b`
    Select {
        operand: Box<Expr>,
        field: Text,
        is_optional: bool,
    },
    /// `a[b]`, `a[?b]`
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        is_optional: bool,
    },
    /// `f(a)`, `a.f(b)`
    Call {
        target: Option<Box<Expr>>,
        name: Text,
        arguments: Vec<Expr>,
    },
    /// `[a, ?b]`
    List(Vec<Element>),
    /// `{a: b, ?c: d}`
    Map(Vec<(Expr, Element)>),
    /// `a.B{c: d}`
    Struct {
        name: Text,
        fields: Vec<(Text, Element)>,
    },
    /// `a && b && c`
    And(Vec<Expr>),
    /// `a || b || c`
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    /// `a + b - c`: operators of one binding, from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr, Span)>),
    /// `a ? b : c`
    Conditional(Box<(Expr, Expr, Expr)>),
}

/// An element of a list or the value of an entry; left out where an optional is empty.
#[derive(Debug, Clone)]
pub(super) struct Element {
    pub(super) expr: Expr,
    pub(super) is_optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Operator {
    /// Returns whether it is one of those that doubles have.
    pub(super) fn is_arithmetic(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply | Self::Divide)
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
        }
    }
}

impl Expr {
    pub(super) fn new(node: Node, span: Span) -> Self {
        let height = 1 + node.children().map(|child| child.height).max().unwrap_or(0);
        Self { node, span, height }
    }

    pub(super) fn is_too_high(&self) -> bool {
        self.height > MAX_HEIGHT
    }

    /// Returns the name, if this is a name and nothing else.
    pub(super) fn as_name(&self) -> Option<&Text> {
        match &self.node {
            Node::Identifier { name, is_absolute: false } => Some(name),
            _ => None,
        }
    }
}

impl Node {
    /// Returns the expressions directly below this one.
    pub(super) fn children(&self) -> Box<dyn Iterator<Item = &Expr> + '_> {
        match self {
            Self::Literal(_) | Self::Identifier { .. } => Box::new(std::iter::empty()),
            Self::Select { operand, .. } => Box::new(std::iter::once(&**operand)),
            Self::Index { operand, index, .. } => Box::new([&**operand, &**index].into_iter()),
            Self::Call { target, arguments, .. } => Box::new(target.as_deref().into_iter().chain(arguments)),
            Self::List(elements) => Box::new(elements.iter().map(|element| &element.expr)),
            Self::Map(entries) => Box::new(entries.iter().flat_map(|(key, value)| [key, &value.expr])),
            Self::Struct { fields, .. } => Box::new(fields.iter().map(|(_, value)| &value.expr)),
            Self::And(parts) | Self::Or(parts) => Box::new(parts.iter()),
            Self::Not(operand) | Self::Negate(operand) => Box::new(std::iter::once(&**operand)),
            Self::Chain(first, rest) => {
                Box::new(std::iter::once(&**first).chain(rest.iter().map(|(_, operand, _)| operand)))
            }
            Self::Conditional(parts) => Box::new([&parts.0, &parts.1, &parts.2].into_iter()),
        }
    }
}
