//! The syntax tree of an expression, before its names are resolved.
//!
//! A chain of one operator is a flat list, so that a long `a && b && c` does not count as deep nesting.

use kubewright_value::Text;

use super::val::Val;

/// The deepest nesting of an expression. It bounds the recursion of all walks over the tree.
pub(super) const MAX_HEIGHT: u32 = 100;

/// A node of the tree, with the span of the token that error messages point at.
#[derive(Debug, Clone)]
pub(super) struct CelExpr {
    pub(super) node: CelNode,
    pub(super) span: CelSpan,
    pub(super) height: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CelSpan {
    pub(super) start: u32,
    pub(super) end: u32,
}

#[derive(Debug, Clone)]
pub(super) enum CelNode {
    Literal(Val<'static>),
    /// `a`, or `.a`, which macro variables do not shadow.
    Identifier {
        name: Text,
        is_absolute: bool,
    },
    /// `a.b`, `a.?b`
    Select {
        operand: Box<CelExpr>,
        field: Text,
        is_optional: bool,
    },
    /// `a[b]`, `a[?b]`
    Index {
        operand: Box<CelExpr>,
        index: Box<CelExpr>,
        is_optional: bool,
    },
    /// `f(a)`, `a.f(b)`
    Call {
        target: Option<Box<CelExpr>>,
        name: Text,
        arguments: Vec<CelExpr>,
    },
    /// `[a, ?b]`
    List(Vec<CelElement>),
    /// `{a: b, ?c: d}`
    Map(Vec<(CelExpr, CelElement)>),
    /// `a.B{c: d}`
    Struct {
        name: Text,
        fields: Vec<(Text, CelElement)>,
    },
    /// `a && b && c`
    And(Vec<CelExpr>),
    /// `a || b || c`
    Or(Vec<CelExpr>),
    Not(Box<CelExpr>),
    Negate(Box<CelExpr>),
    /// `a + b - c`: operators of one precedence, from left to right.
    Chain(Box<CelExpr>, Vec<(CelOperator, CelExpr, CelSpan)>),
    /// `a ? b : c`
    Conditional(Box<(CelExpr, CelExpr, CelExpr)>),
}

/// An element of a list literal or a value of a map literal. An optional one (`?a`) is left out when empty.
#[derive(Debug, Clone)]
pub(super) struct CelElement {
    pub(super) expr: CelExpr,
    pub(super) is_optional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CelOperator {
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

impl CelOperator {
    /// Returns whether doubles have this operator too.
    pub(super) fn is_arithmetic(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply | Self::Divide)
    }

    /// Returns whether the result is a boolean.
    pub(super) fn is_test(self) -> bool {
        match self {
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual
            | Self::In => true,
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => false,
        }
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

impl CelExpr {
    pub(super) fn new(node: CelNode, span: CelSpan) -> Self {
        let height = 1 + node.children().map(|child| child.height).max().unwrap_or(0);
        Self { node, span, height }
    }

    pub(super) fn is_too_high(&self) -> bool {
        self.height > MAX_HEIGHT
    }

    /// Returns the name, if the expression is a single identifier.
    pub(super) fn as_name(&self) -> Option<&Text> {
        match &self.node {
            CelNode::Identifier { name, is_absolute: false } => Some(name),
            _ => None,
        }
    }
}

impl CelNode {
    /// Returns the expressions directly below this one.
    pub(super) fn children(&self) -> Box<dyn Iterator<Item = &CelExpr> + '_> {
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
