//! Expressions to what is evaluated: names become slots, constants are computed, patterns compiled.
//!
//! Types are inferred on the way, as far as they are certain. Everything that is wrong is collected,
//! so that one run over an expression finds all of it.

mod call;
mod constant;
mod macros;
mod names;
mod types;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kubewright_golib::regex::Regex;
use kubewright_value::{Map, Text, Value};

use super::ast::{Element, Expr, Node, Operator, Span};
use super::environment::{Environment, Type};
use super::error::{CompileError, CompileErrorKind, EvalErrorKind, Failure};
use super::function::Overload;
use super::val::{Kind, Val};

/// How deep macros with loops may nest.
const MAX_LOOPS: usize = 24;

/// How many errors of one expression are reported.
const MOST_ERRORS: usize = 20;

/// What is evaluated.
#[derive(Clone)]
pub(super) enum Plan {
    /// A constant, and what computing it costs.
    Constant(Val<'static>, u64),
    /// A variable, by its place in [`Planned::variables`].
    Variable(u32, u32),
    /// A variable of a macro, by its slot.
    Local(u32),
    Path(Box<Path>),
    /// `has(a.b)`; the last step is the one that is asked for.
    Has(Box<Path>),
    And(Box<[Plan]>, u32),
    Or(Box<[Plan]>, u32),
    Not(Box<Plan>, u32),
    Negate(Box<Plan>, u32),
    Binary(Box<Binary>),
    /// Several operators of one binding, from left to right.
    Chain(Box<Plan>, Box<[(Sign, Plan)]>),
    Conditional(Box<[Plan; 3]>, u32),
    List(Box<[Part]>),
    Map(Box<[(Plan, Part)]>, u32),
    Call(Box<Calling>),
    Fold(Box<Fold>),
    /// `cel.bind(x, a, b)`
    Bind(Box<Bind>),
    /// `a.optMap(x, b)`, `a.optFlatMap(x, b)`
    OptionalMap(Box<Bind>, bool),
    /// `a.or(b)`
    OptionalOr(Box<(Plan, Plan)>, u32),
    /// `a.orValue(b)`
    OptionalOrValue(Box<(Plan, Plan)>, u32),
    /// `a.orValue(b)`, where `a` may be a plain value
    PlainOrValue(Box<(Plan, Plan)>),
    /// What is known to fail, if it is evaluated.
    Fail(Failure),
}

#[derive(Clone)]
pub(super) struct Binary {
    pub(super) sign: Sign,
    pub(super) left: Plan,
    pub(super) right: Plan,
}

/// An operator between two values.
#[derive(Clone, Copy)]
pub(super) struct Sign {
    pub(super) operator: Operator,
    pub(super) charge: Charge,
    /// Whether an integer and a double may be given.
    pub(super) is_mixed: bool,
    pub(super) at: u32,
}

/// What an operator costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    /// By the size of the values.
    Size,
    /// One, since their types are not known beforehand.
    One,
    /// Nothing: a constant list that is searched like a set.
    Nothing,
}

#[derive(Clone)]
pub(super) struct Path {
    pub(super) root: Plan,
    // INVARIANT: never empty.
    pub(super) steps: Box<[Step]>,
}

#[derive(Clone)]
pub(super) struct Step {
    pub(super) what: StepKind,
    pub(super) is_optional: bool,
    pub(super) at: u32,
    pub(super) near: Near,
}

impl Step {
    pub(super) fn new(what: StepKind, is_optional: bool, at: u32) -> Self {
        Self { what, is_optional, at, near: Near::default() }
    }
}

/// Where a field stood in the last object, and probably stands in the next one.
#[derive(Default)]
pub(super) struct Near(AtomicU32);

impl Near {
    /// Returns the value under `key`.
    #[inline]
    pub(super) fn get<'m>(&self, map: &'m Map, key: &str) -> Option<&'m Value> {
        let guess = self.0.load(Ordering::Relaxed);
        let position = map.position_near(key, guess as usize)?;
        // Written only when it changes, since other threads read it.
        if position != guess as usize {
            self.0.store(u32::try_from(position).unwrap_or(0), Ordering::Relaxed);
        }
        map.entry(position).map(|(_, value)| value)
    }
}

impl Clone for Near {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Clone)]
pub(super) enum StepKind {
    Field(Text),
    Index(Plan),
}

/// An element of a list or map.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) plan: Plan,
    pub(super) is_optional: bool,
    pub(super) at: u32,
}

#[derive(Clone)]
pub(super) struct Calling {
    pub(super) name: Text,
    // INVARIANT: those that take this many arguments; one at least.
    pub(super) overloads: Box<[Arc<Overload>]>,
    pub(super) arguments: Box<[Plan]>,
    /// The pattern, where it is a constant.
    pub(super) regex: Option<Arc<Regex>>,
    pub(super) at: u32,
}

/// A macro that goes over a list or map.
#[derive(Clone)]
pub(super) struct Fold {
    pub(super) kind: FoldKind,
    pub(super) range: Plan,
    pub(super) first: u32,
    pub(super) second: Option<u32>,
    /// Which elements are looked at, for those macros that have a filter besides.
    pub(super) filter: Option<Plan>,
    pub(super) body: Plan,
    pub(super) at: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    /// `map`, `transformList`
    Map,
    /// `transformMap`
    TransformMap,
    /// `transformMapEntry`
    TransformMapEntry,
    /// `sortBy`
    SortBy,
}

#[derive(Clone)]
pub(super) struct Bind {
    pub(super) slot: u32,
    pub(super) value: Plan,
    pub(super) body: Plan,
    pub(super) at: u32,
}

/// An expression that is ready to be evaluated.
#[derive(Clone)]
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) result: Type,
    pub(super) variables: Vec<Text>,
    pub(super) slots: u32,
}

/// Plans `expr`, which was parsed from `text`.
pub(super) fn plan(expr: &Expr, text: &str, environment: &Environment) -> Result<Planned, Vec<CompileError>> {
    let mut planner = Planner {
        environment,
        text,
        errors: Vec::new(),
        scope: Vec::new(),
        variables: Vec::new(),
        slots: 0,
        loops: 0,
        suggestions: 0,
        is_formatting: false,
    };
    let (plan, result) = planner.expr(expr);
    if planner.errors.is_empty() {
        return Ok(Planned { plan, result, variables: planner.variables, slots: planner.slots });
    }
    Err(planner.errors)
}

struct Planner<'e> {
    environment: &'e Environment,
    text: &'e str,
    errors: Vec<CompileError>,
    /// The variables of macros, the innermost last.
    scope: Vec<Local>,
    variables: Vec<Text>,
    slots: u32,
    loops: usize,
    /// How many names were compared with all others.
    suggestions: usize,
    /// In the list of values of `format`, which may be of different types.
    is_formatting: bool,
}

struct Local {
    name: Text,
    slot: u32,
    kind: Type,
}

impl Planner<'_> {
    fn expr(&mut self, expr: &Expr) -> (Plan, Type) {
        let at = expr.span.start;
        let (plan, kind) = match &expr.node {
            Node::Literal(value) => return (Plan::Constant(value.clone(), 0), Type::of(value.kind())),
            Node::Identifier { .. } | Node::Select { .. } | Node::Index { .. } => return self.path(expr),
            Node::Call { target, name, arguments } => self.call(expr, target.as_deref(), name, arguments),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries, at),
            Node::Struct { name, fields } => self.structure(name, fields, expr.span),
            Node::And(parts) => (Plan::And(self.conditions(parts, "&&"), at), Type::of(Kind::Bool)),
            Node::Or(parts) => (Plan::Or(self.conditions(parts, "||"), at), Type::of(Kind::Bool)),
            Node::Not(operand) => {
                let (plan, kind) = self.expr(operand);
                self.require(&[Kind::Bool], &kind, "!", expr.span);
                (Plan::Not(Box::new(plan), at), Type::of(Kind::Bool))
            }
            Node::Negate(operand) => {
                let (plan, kind) = self.expr(operand);
                self.require(&[Kind::Int, Kind::Double], &kind, "-", expr.span);
                (Plan::Negate(Box::new(plan), at), kind)
            }
            Node::Chain(first, rest) => self.chain(first, rest),
            Node::Conditional(parts) => self.conditional(parts, expr.span),
        };
        (self.folded(plan), kind)
    }

    fn conditions(&mut self, parts: &[Expr], sign: &str) -> Box<[Plan]> {
        let mut plans = Vec::with_capacity(parts.len());
        for part in parts {
            let (plan, kind) = self.expr(part);
            self.require(&[Kind::Bool], &kind, sign, part.span);
            plans.push(plan);
        }
        plans.into()
    }

    fn chain(&mut self, first: &Expr, rest: &[(Operator, Expr, Span)]) -> (Plan, Type) {
        let (mut plan, mut kind) = self.expr(first);
        let mut chained = Vec::new();
        for (operator, operand, span) in rest {
            let (right, right_kind) = self.expr(operand);
            let charge = charge(*operator, &kind, &right_kind, &right);
            let may_mix = self.environment.has_mixed_arithmetic();
            let is_mixed = may_mix && operator.is_arithmetic();
            let mixed = if may_mix { types::mixed(*operator, kind.kind, right_kind.kind) } else { None };
            kind = match mixed.or_else(|| types::binary(*operator, &kind, &right_kind)) {
                Some(kind) => kind,
                None => {
                    let message =
                        format!("no operator `{}` for `{kind}` and `{right_kind}`", operator.sign());
                    self.error(message, *span, CompileErrorKind::Type);
                    Type::ANY
                }
            };
            chained.push((Sign { operator: *operator, charge, is_mixed, at: span.start }, right));
        }
        // Constants in front are computed as far as they go.
        let mut chained = chained.into_iter();
        for (sign, right) in chained.by_ref() {
            plan = self.folded(Plan::Binary(Box::new(Binary { sign, left: plan, right })));
            if !matches!(plan, Plan::Constant(..)) {
                break;
            }
        }
        let rest: Vec<_> = chained.collect();
        if rest.is_empty() { (plan, kind) } else { (Plan::Chain(Box::new(plan), rest.into()), kind) }
    }

    fn conditional(&mut self, parts: &(Expr, Expr, Expr), span: Span) -> (Plan, Type) {
        let (condition, kind) = self.expr(&parts.0);
        self.require(&[Kind::Bool], &kind, "?", span);
        let (then, then_kind) = self.expr(&parts.1);
        let (otherwise, other_kind) = self.expr(&parts.2);
        if !types::are_compatible(&then_kind, &other_kind) {
            let message =
                format!("both results of `?` must be of one type, found `{then_kind}` and `{other_kind}`");
            self.error(message, span, CompileErrorKind::Type);
        }
        let kind = types::join(&then_kind, &other_kind);
        (Plan::Conditional(Box::new([condition, then, otherwise]), span.start), kind)
    }

    fn list(&mut self, elements: &[Element]) -> (Plan, Type) {
        let mut parts = Vec::with_capacity(elements.len());
        let mut joined: Option<Type> = None;
        for element in elements {
            let (part, kind) = self.part(element);
            joined = Some(self.joined(joined, kind, element.expr.span));
            parts.push(part);
        }
        (Plan::List(parts.into()), Type::with(Kind::List, joined.unwrap_or(Type::ANY)))
    }

    fn map(&mut self, entries: &[(Expr, Element)], at: u32) -> (Plan, Type) {
        let mut parts = Vec::with_capacity(entries.len());
        let mut joined: Option<Type> = None;
        let mut keys: Option<Type> = None;
        for (key, value) in entries {
            let (key_plan, key_kind) = self.expr(key);
            let allowed = [Kind::Any, Kind::Bool, Kind::Int, Kind::UInt, Kind::Double, Kind::String];
            if !allowed.contains(&key_kind.kind) {
                let message = format!("a key of a map cannot be of type `{key_kind}`");
                self.error(message, key.span, CompileErrorKind::Type);
            }
            keys = Some(self.joined(keys, key_kind, key.span));
            let (part, kind) = self.part(value);
            joined = Some(self.joined(joined, kind, value.expr.span));
            parts.push((key_plan, part));
        }
        (Plan::Map(parts.into(), at), Type::with(Kind::Map, joined.unwrap_or(Type::ANY)))
    }

    fn structure(&mut self, name: &Text, fields: &[(Text, Element)], span: Span) -> (Plan, Type) {
        if !self.environment.candidates(name).iter().any(|name| self.environment.has_structure(name)) {
            let message = format!("unknown type `{name}`");
            return self.unknown(message, span, CompileErrorKind::UnknownName);
        }
        let mut parts = Vec::with_capacity(fields.len());
        for (field, value) in fields {
            let (part, _) = self.part(value);
            parts.push((Plan::Constant(Val::text(field.clone()), 0), part));
        }
        (Plan::Map(parts.into(), span.start), Type::of(Kind::Map))
    }

    fn part(&mut self, element: &Element) -> (Part, Type) {
        let (plan, kind) = self.expr(&element.expr);
        let (span, is_optional) = (element.expr.span, element.is_optional);
        if is_optional {
            self.require(&[Kind::Optional], &kind, "?", span);
        }
        let kind = if is_optional { kind.elements() } else { kind };
        (Part { plan, is_optional, at: span.start }, kind)
    }

    /// Returns the type of elements that are of both types.
    fn joined(&mut self, joined: Option<Type>, kind: Type, span: Span) -> Type {
        let Some(joined) = joined else { return kind };
        if !self.environment.has_mixed_literals()
            && !self.is_formatting
            && !types::are_compatible(&joined, &kind)
        {
            let message = format!("all elements must be of one type, found `{joined}` and `{kind}`");
            self.error(message, span, CompileErrorKind::Type);
        }
        types::join(&joined, &kind)
    }

    /// Reports a type that is certainly none of those wanted.
    fn require(&mut self, wanted: &[Kind], found: &Type, sign: &str, span: Span) {
        if found.kind != Kind::Any && !wanted.contains(&found.kind) {
            let wanted: Vec<String> = wanted.iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!("`{sign}` needs {}, found `{found}`", wanted.join(" or "));
            self.error(message, span, CompileErrorKind::Type);
        }
    }

    /// Reports what is wrong; where nothing is checked, it only fails when it is evaluated.
    fn error(&mut self, message: String, span: Span, kind: CompileErrorKind) {
        let is_reported = self.environment.is_checked() || kind == CompileErrorKind::Syntax;
        if is_reported && self.errors.len() < MOST_ERRORS {
            self.errors.push(CompileError::new(message, span, kind, self.text));
        }
    }

    fn unknown(&mut self, message: String, span: Span, kind: CompileErrorKind) -> (Plan, Type) {
        let failed = match kind {
            CompileErrorKind::UnknownName => EvalErrorKind::Unbound,
            _ => EvalErrorKind::Type,
        };
        let failure = Failure::new(failed, message.clone()).at(span.start);
        self.error(message, span, kind);
        (Plan::Fail(failure), Type::ANY)
    }
}

fn charge(operator: Operator, left: &Type, right: &Type, value: &Plan) -> Charge {
    match operator {
        Operator::Equal | Operator::NotEqual => Charge::Size,
        Operator::In if right.kind == Kind::Any => Charge::One,
        Operator::In if is_set(value) => Charge::Nothing,
        Operator::In => Charge::Size,
        _ if left.kind == Kind::Any && right.kind == Kind::Any => Charge::One,
        _ => Charge::Size,
    }
}

/// Returns whether this is a constant list of scalars.
fn is_set(plan: &Plan) -> bool {
    let is_scalar = |value: Val<'_>| {
        matches!(value, Val::Bool(_) | Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::String(_))
    };
    match plan {
        Plan::Constant(Val::List(list), 0) => list.iter().all(is_scalar),
        _ => false,
    }
}
