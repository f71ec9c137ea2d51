//! What an expression is made of.
//!
//! What is long in practice is flat: a path, a pipe and a chain of `||` or `&&` are lists, however
//! long they are. What nests knows its height, so that no walk over it can run out of stack.

use std::sync::Arc;

use kubewright_value::{Text, Value};

use super::function;

/// How high expressions may be, and how many levels they may add to a value.
pub(super) const MAX_HEIGHT: u32 = 128;

/// From how many copies of a value on a result is charged for all of them; see [`Shape::copies`].
const MANY_COPIES: u32 = 256;

/// A part of an expression and where it starts, in bytes.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    pub(super) node: Node,
    pub(super) at: u32,
    pub(super) shape: Shape,
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    /// `@`
    Current,
    Literal(Value),
    /// `a.b[0]`; the steps are never empty.
    Path(Box<Expr>, Vec<Step>),
    /// `a[*].b`
    Projection(Box<Projection>),
    /// `a | b | c`
    Pipe(Vec<Expr>),
    /// `a || b || c`
    Or(Vec<Expr>),
    /// `a && b && c`
    And(Vec<Expr>),
    /// `!a`
    Not(Box<Expr>),
    /// `a == b`
    Compare(Comparison, Box<(Expr, Expr)>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a: b}`
    Object(Vec<(Text, Expr)>),
    Call(Arc<function::Call>, Vec<Expr>),
    /// `&a`, only as an argument.
    Reference(Box<Expr>),
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    Key(Text),
    /// A key that ends the path with null where an object does not have it.
    NeededKey(Text),
    /// Negative counts from the end.
    Index(i64),
    /// Evaluated on what the steps before found.
    Expr(Expr),
}

#[derive(Debug, Clone)]
pub(super) struct Projection {
    pub(super) source: Expr,
    pub(super) over: Over,
    /// Evaluated on each element; what is null then is left out.
    pub(super) each: Option<Expr>,
    /// Whether a source that fails is null.
    pub(super) is_forgiving: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Over {
    /// `[*]`
    Items,
    /// `.*`
    Values,
    /// `[]`
    Flattened,
    /// `[?a]`
    Filtered(Expr),
    /// `[0:2]`
    Slice(Slice),
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) stop: Option<i64>,
    pub(super) step: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Bounds on what evaluating costs that no budget sees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// How deep expressions nest in it.
    height: u32,
    /// How many levels deeper than the value it is evaluated on the result can be.
    levels: u32,
    /// How often the result can contain the value it is evaluated on. Copies share memory, so
    /// `[@, @] | [@, @] | …` is cheap to make and grows without end when it is walked.
    copies: u32,
}

impl Shape {
    pub(super) fn is_too_high(self) -> bool {
        self.height > MAX_HEIGHT || self.levels > MAX_HEIGHT
    }

    pub(super) fn has_many_copies(self) -> bool {
        self.copies > MANY_COPIES
    }

    const LEAF: Self = Self { height: 1, levels: 0, copies: 1 };

    /// Returns the shape of an expression whose parts stand beside each other.
    fn beside(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self { height: 0, levels: 0, copies: 0 }, |a, b| Self {
            height: a.height.max(b.height),
            levels: a.levels.max(b.levels),
            copies: a.copies.saturating_add(b.copies),
        })
    }

    /// Returns the shape of an expression whose parts are evaluated on each other's results.
    fn after(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self { height: 0, levels: 0, copies: 1 }, |a, b| Self {
            height: a.height.max(b.height),
            levels: a.levels.saturating_add(b.levels),
            copies: a.copies.saturating_mul(b.copies.max(1)),
        })
    }

    fn raised(self, height: u32, levels: u32) -> Self {
        Self {
            height: self.height.saturating_add(height),
            levels: self.levels.saturating_add(levels),
            copies: self.copies,
        }
    }
}

impl Expr {
    pub(super) fn new(node: Node, at: u32) -> Self {
        let shape = shape(&node);
        Self { node, at, shape }
    }

    /// Returns `self.right`, as one flat path.
    pub(super) fn then(self, right: Self) -> Self {
        match right.node {
            Node::Path(first, steps) if matches!(first.node, Node::Current) => {
                steps.into_iter().fold(self, Self::step)
            }
            _ => self.step(Step::Expr(right)),
        }
    }

    /// Returns `self` with one more step.
    pub(super) fn step(self, step: Step) -> Self {
        let at = self.at;
        let added = match &step {
            Step::Expr(expr) => expr.shape,
            Step::Key(_) | Step::NeededKey(_) | Step::Index(_) => Shape::LEAF,
        };
        match self {
            Self { node: Node::Path(first, mut steps), shape, .. } => {
                steps.push(step);
                // The path itself was counted when its first step was made.
                let inner = Shape { height: shape.height.saturating_sub(1), ..shape };
                let shape = Shape::after([inner, added]).raised(1, 0);
                Self { node: Node::Path(first, steps), at, shape }
            }
            first => {
                let shape = Shape::after([first.shape, added]).raised(1, 0);
                Self { node: Node::Path(Box::new(first), vec![step]), at, shape }
            }
        }
    }
}

fn shape(node: &Node) -> Shape {
    match node {
        Node::Current | Node::Literal(_) => Shape::LEAF,
        Node::Path(first, steps) => {
            let steps = steps.iter().map(|step| match step {
                Step::Expr(expr) => expr.shape,
                Step::Key(_) | Step::NeededKey(_) | Step::Index(_) => Shape::LEAF,
            });
            Shape::after(std::iter::once(first.shape).chain(steps)).raised(1, 0)
        }
        Node::Projection(projection) => {
            let each = projection.each.as_ref().map_or(Shape::LEAF, |each| each.shape);
            let shape = Shape::after([projection.source.shape, each]).raised(1, 0);
            match &projection.over {
                Over::Filtered(condition) => {
                    Shape { height: shape.height.max(condition.shape.height.saturating_add(1)), ..shape }
                }
                _ => shape,
            }
        }
        Node::Pipe(parts) => Shape::after(parts.iter().map(|part| part.shape)).raised(1, 0),
        Node::Or(parts) | Node::And(parts) => Shape::beside(parts.iter().map(|part| part.shape)).raised(1, 0),
        Node::Not(operand) => Shape { height: operand.shape.height.saturating_add(1), ..Shape::LEAF },
        Node::Compare(_, sides) => {
            let height = sides.0.shape.height.max(sides.1.shape.height);
            Shape { height: height.saturating_add(1), ..Shape::LEAF }
        }
        Node::List(members) => Shape::beside(members.iter().map(|member| member.shape)).raised(1, 1),
        Node::Object(members) => Shape::beside(members.iter().map(|(_, member)| member.shape)).raised(1, 1),
        // A function may put its arguments into each other, and may call its references on them.
        Node::Call(_, arguments) => {
            let after = Shape::after(arguments.iter().map(|argument| argument.shape));
            let beside = Shape::beside(arguments.iter().map(|argument| argument.shape));
            Shape { copies: after.copies.max(beside.copies), ..after }.raised(1, 2)
        }
        Node::Reference(expr) => expr.shape.raised(1, 0),
    }
}
