//! The syntax tree of an expression.
//!
//! Nodes that are long in practice are flat: a path, a pipe and a chain of `||` or `&&` are lists, however
//! long they are. Nested nodes know their height, which is limited so that no walk overflows the stack.

use std::sync::Arc;

use kubewright_value::{Map, PositionHint, Text, Value};

use super::function;

/// The largest height of an expression, and the most levels that it may add to a value.
pub(super) const MAX_HEIGHT: u32 = 128;

/// The copies of a value that a result may contain before all of them are charged; see [`ExprShape::copies`].
const MAX_UNCHARGED_COPIES: u32 = 256;

/// A node of the tree, with its byte offset.
#[derive(Debug, Clone)]
pub(super) struct JmesPathExpr {
    pub(super) node: JmesPathNode,
    pub(super) at: u32,
    pub(super) shape: ExprShape,
}

#[derive(Debug, Clone)]
pub(super) enum JmesPathNode {
    /// `@`
    Current,
    Literal(Value),
    /// A literal that is filled in later, by its number.
    Slot(usize),
    /// `a.b[0]`; the steps are never empty.
    Path(Box<JmesPathExpr>, Vec<JmesPathStep>),
    /// `a[*].b`
    Projection(Box<Projection>),
    /// `a | b | c`
    Pipe(Vec<JmesPathExpr>),
    /// `a || b || c`
    Or(Vec<JmesPathExpr>),
    /// `a && b && c`
    And(Vec<JmesPathExpr>),
    /// `!a`
    Not(Box<JmesPathExpr>),
    /// `a == b`
    Compare(JmesPathComparison, Box<(JmesPathExpr, JmesPathExpr)>),
    /// `[a, b]`
    List(Vec<JmesPathExpr>),
    /// `{a: b}`
    Object(Vec<(Text, JmesPathExpr)>),
    Call(Arc<function::JmesPathCall>, Vec<JmesPathExpr>),
    /// `&a`, only as an argument.
    Reference(Box<JmesPathExpr>),
}

/// A key on a path, and where the last object had it.
#[derive(Debug, Clone)]
pub(super) struct PathKey {
    pub(super) name: Text,
    position: PositionHint,
}

impl PathKey {
    /// Returns the value of `map` under the key.
    pub(super) fn value_in<'m>(&self, map: &'m Map) -> Option<&'m Value> {
        self.position.get(map, &self.name)
    }
}

impl From<Text> for PathKey {
    fn from(name: Text) -> Self {
        Self { name, position: PositionHint::default() }
    }
}

#[derive(Debug, Clone)]
pub(super) enum JmesPathStep {
    Key(PathKey),
    /// A key that ends the path with null where an object does not have it.
    RequiredKey(PathKey),
    /// A key that is filled in later.
    Slot {
        number: usize,
        is_required: bool,
    },
    /// Negative counts from the end.
    Index(i64),
    /// Evaluated on the result of the steps before.
    Expr(JmesPathExpr),
}

#[derive(Debug, Clone)]
pub(super) struct Projection {
    pub(super) source: JmesPathExpr,
    pub(super) over: ProjectionKind,
    /// Evaluated on each element; null results are left out.
    pub(super) each: Option<JmesPathExpr>,
    /// Whether an error of the source counts as null.
    pub(super) is_forgiving: bool,
}

#[derive(Debug, Clone)]
pub(super) enum ProjectionKind {
    /// `[*]`
    Items,
    /// `.*`
    Values,
    /// `[]`
    Flattened,
    /// `[?a]`
    Filtered(JmesPathExpr),
    /// `[0:2]`
    Slice(SliceBounds),
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SliceBounds {
    pub(super) start: Option<i64>,
    pub(super) stop: Option<i64>,
    pub(super) step: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JmesPathComparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Bounds on the cost of a result that the budget does not cover.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExprShape {
    /// The nesting depth of the expression.
    height: u32,
    /// How many levels deeper than its input the result can be.
    levels: u32,
    /// How often the result can contain its input. Copies share memory, so
    /// `[@, @] | [@, @] | …` is cheap to make and grows without end when it is walked.
    copies: u32,
    /// Whether the evaluation can fail although the budget suffices.
    can_fail: bool,
}

impl ExprShape {
    pub(super) fn is_too_high(self) -> bool {
        self.height > MAX_HEIGHT || self.levels > MAX_HEIGHT
    }

    pub(super) fn has_many_copies(self) -> bool {
        self.copies > MAX_UNCHARGED_COPIES
    }

    /// Returns the nesting depth of the expression.
    pub(super) fn height(self) -> u32 {
        self.height
    }

    /// Returns whether the evaluation can fail although the budget suffices: functions reject arguments.
    pub(super) fn can_fail(self) -> bool {
        self.can_fail
    }

    const LEAF: Self = Self { height: 1, levels: 0, copies: 1, can_fail: false };

    /// Returns the shape of an expression whose parts are all evaluated on the same value.
    fn in_parallel(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self { height: 0, copies: 0, ..Self::LEAF }, |a, b| Self {
            height: a.height.max(b.height),
            levels: a.levels.max(b.levels),
            copies: a.copies.saturating_add(b.copies),
            can_fail: a.can_fail || b.can_fail,
        })
    }

    /// Returns the shape of an expression whose parts are evaluated on each other's results.
    fn in_sequence(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self { height: 0, ..Self::LEAF }, |a, b| Self {
            height: a.height.max(b.height),
            levels: a.levels.saturating_add(b.levels),
            copies: a.copies.saturating_mul(b.copies.max(1)),
            can_fail: a.can_fail || b.can_fail,
        })
    }

    fn raised(self, height: u32, levels: u32) -> Self {
        Self {
            height: self.height.saturating_add(height),
            levels: self.levels.saturating_add(levels),
            ..self
        }
    }
}

impl JmesPathExpr {
    pub(super) fn new(node: JmesPathNode, at: u32) -> Self {
        let shape = measure_shape(&node);
        Self { node, at, shape }
    }

    /// Returns `self.right`, as one flat path.
    pub(super) fn then(self, right: Self) -> Self {
        match right.node {
            JmesPathNode::Path(first, steps) if matches!(first.node, JmesPathNode::Current) => {
                steps.into_iter().fold(self, Self::step)
            }
            _ => self.step(JmesPathStep::Expr(right)),
        }
    }

    /// Returns `self` with one more step.
    pub(super) fn step(self, step: JmesPathStep) -> Self {
        let at = self.at;
        let added = match &step {
            JmesPathStep::Expr(expr) => expr.shape,
            JmesPathStep::Key(_)
            | JmesPathStep::RequiredKey(_)
            | JmesPathStep::Slot { .. }
            | JmesPathStep::Index(_) => ExprShape::LEAF,
        };
        match self {
            Self { node: JmesPathNode::Path(first, mut steps), shape, .. } => {
                steps.push(step);
                // The path itself was counted when its first step was made.
                let inner = ExprShape { height: shape.height.saturating_sub(1), ..shape };
                let shape = ExprShape::in_sequence([inner, added]).raised(1, 0);
                Self { node: JmesPathNode::Path(first, steps), at, shape }
            }
            first => {
                let shape = ExprShape::in_sequence([first.shape, added]).raised(1, 0);
                Self { node: JmesPathNode::Path(Box::new(first), vec![step]), at, shape }
            }
        }
    }
}

fn measure_shape(node: &JmesPathNode) -> ExprShape {
    match node {
        JmesPathNode::Current | JmesPathNode::Literal(_) | JmesPathNode::Slot(_) => ExprShape::LEAF,
        JmesPathNode::Path(first, steps) => {
            let steps = steps.iter().map(|step| match step {
                JmesPathStep::Expr(expr) => expr.shape,
                JmesPathStep::Key(_)
                | JmesPathStep::RequiredKey(_)
                | JmesPathStep::Slot { .. }
                | JmesPathStep::Index(_) => ExprShape::LEAF,
            });
            ExprShape::in_sequence(std::iter::once(first.shape).chain(steps)).raised(1, 0)
        }
        JmesPathNode::Projection(projection) => {
            let each = projection.each.as_ref().map_or(ExprShape::LEAF, |each| each.shape);
            let shape = ExprShape::in_sequence([projection.source.shape, each]).raised(1, 0);
            match &projection.over {
                ProjectionKind::Filtered(condition) => ExprShape {
                    height: shape.height.max(condition.shape.height.saturating_add(1)),
                    can_fail: shape.can_fail || condition.shape.can_fail,
                    ..shape
                },
                ProjectionKind::Slice(SliceBounds { step: Some(0), .. }) => {
                    ExprShape { can_fail: true, ..shape }
                }
                _ => shape,
            }
        }
        JmesPathNode::Pipe(parts) => ExprShape::in_sequence(parts.iter().map(|part| part.shape)).raised(1, 0),
        JmesPathNode::Or(parts) | JmesPathNode::And(parts) => {
            ExprShape::in_parallel(parts.iter().map(|part| part.shape)).raised(1, 0)
        }
        JmesPathNode::Not(operand) => ExprShape {
            height: operand.shape.height.saturating_add(1),
            can_fail: operand.shape.can_fail,
            ..ExprShape::LEAF
        },
        JmesPathNode::Compare(_, sides) => {
            let sides = ExprShape::in_parallel([sides.0.shape, sides.1.shape]).raised(1, 0);
            ExprShape { height: sides.height, can_fail: sides.can_fail, ..ExprShape::LEAF }
        }
        JmesPathNode::List(members) => {
            ExprShape::in_parallel(members.iter().map(|member| member.shape)).raised(1, 1)
        }
        JmesPathNode::Object(members) => {
            ExprShape::in_parallel(members.iter().map(|(_, member)| member.shape)).raised(1, 1)
        }
        // A function may put its arguments into each other, and may call its references on them.
        JmesPathNode::Call(_, arguments) => {
            let after = ExprShape::in_sequence(arguments.iter().map(|argument| argument.shape));
            let beside = ExprShape::in_parallel(arguments.iter().map(|argument| argument.shape));
            let copies = after.copies.max(beside.copies);
            ExprShape { copies, can_fail: true, ..after }.raised(1, 2)
        }
        JmesPathNode::Reference(expr) => ExprShape { can_fail: true, ..expr.shape }.raised(1, 0),
    }
}
