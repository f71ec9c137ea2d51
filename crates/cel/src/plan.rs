//! The planner: resolves names to slots, computes constants, and compiles regular expressions.
//!
//! It also infers types, as far as they are certain. All errors are collected,
//! so that one pass over an expression reports every mistake.

mod call;
mod constant;
mod macros;
mod names;
mod types;

use std::sync::Arc;

use kubewright_golib::regex::Regex;
use kubewright_value::{PositionHint, Text};

use super::ast::{CelElement, CelExpr, CelNode, CelOperator, CelSpan};
use super::environment::{CelEnvironment, CelType};
use super::error::{CelCompileError, CelCompileErrorKind, CelErrorKind, CelFailure};
use super::function::CelOverload;
use super::val::{CelKind, Val};

/// The deepest nesting of macros with loops.
const MAX_NESTED_LOOPS: usize = 24;

/// The errors of one expression that are reported.
const MAX_COMPILE_ERRORS: usize = 20;

/// A node of the evaluation plan.
#[derive(Clone)]
pub(super) enum CelPlan {
    /// A constant, and the cost of computing it.
    Constant(Val<'static>, u64),
    /// A variable, by its index in [`PlannedProgram::variables`].
    Variable(u32, u32),
    /// A variable of a macro, by its slot.
    Local(u32),
    Path(Box<PlannedPath>),
    /// `has(a.b)`, which tests the last step.
    Has(Box<PlannedPath>),
    And(Box<[CelPlan]>, u32),
    Or(Box<[CelPlan]>, u32),
    Not(Box<CelPlan>, u32),
    Negate(Box<CelPlan>, u32),
    Binary(Box<PlannedBinary>),
    /// Several operators of one precedence, from left to right.
    Chain(Box<CelPlan>, Box<[(PlannedOperator, CelPlan)]>),
    Conditional(Box<[CelPlan; 3]>, u32),
    List(Box<[PlannedElement]>),
    Map(Box<[(CelPlan, PlannedElement)]>, u32),
    /// `A.b{c: d}`
    Structure(Box<PlannedStructure>),
    Call(Box<PlannedCall>),
    Fold(Box<PlannedFold>),
    /// `cel.bind(x, a, b)`
    Bind(Box<PlannedBinding>),
    /// `a.optMap(x, b)`, `a.optFlatMap(x, b)`
    OptionalMap(Box<PlannedBinding>, bool),
    /// `a.or(b)`
    OptionalOr(Box<(CelPlan, CelPlan)>, u32),
    /// `a.orValue(b)`
    OptionalOrValue(Box<(CelPlan, CelPlan)>, u32),
    /// `a.orValue(b)`, where `a` may be a plain value
    PlainOrValue(Box<(CelPlan, CelPlan)>),
    /// A node that fails when it is evaluated.
    Fail(CelFailure),
}

#[derive(Clone)]
pub(super) struct PlannedBinary {
    pub(super) sign: PlannedOperator,
    pub(super) left: CelPlan,
    pub(super) right: CelPlan,
}

/// A binary operator, with its cost and position.
#[derive(Clone, Copy)]
pub(super) struct PlannedOperator {
    pub(super) operator: CelOperator,
    pub(super) charge: OperatorCharge,
    /// Whether the operands may be an integer and a double.
    pub(super) is_mixed: bool,
    pub(super) at: u32,
}

/// The cost of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperatorCharge {
    /// By the size of the operands.
    Size,
    /// One, since the types of the operands are not known at compile time.
    One,
    /// Nothing: the API server searches a constant list as a set.
    Nothing,
}

#[derive(Clone)]
pub(super) struct PlannedPath {
    pub(super) root: CelPlan,
    // INVARIANT: never empty.
    pub(super) steps: Box<[PlannedStep]>,
}

#[derive(Clone)]
pub(super) struct PlannedStep {
    pub(super) what: PlannedStepKind,
    pub(super) is_optional: bool,
    pub(super) at: u32,
    pub(super) position_hint: PositionHint,
}

impl PlannedStep {
    pub(super) fn new(what: PlannedStepKind, is_optional: bool, at: u32) -> Self {
        Self { what, is_optional, at, position_hint: PositionHint::default() }
    }
}

#[derive(Clone)]
pub(super) enum PlannedStepKind {
    Field(Text),
    Index(CelPlan),
}

/// A value of a structure.
#[derive(Clone)]
pub(super) struct PlannedStructure {
    pub(super) name: Text,
    pub(super) fields: Box<[(Text, PlannedElement)]>,
    pub(super) at: u32,
}

/// An element of a list or map.
#[derive(Clone)]
pub(super) struct PlannedElement {
    pub(super) plan: CelPlan,
    pub(super) is_optional: bool,
    pub(super) at: u32,
}

#[derive(Clone)]
pub(super) struct PlannedCall {
    pub(super) name: Text,
    // INVARIANT: the overloads that take this many arguments; at least one.
    pub(super) overloads: Box<[Arc<CelOverload>]>,
    pub(super) arguments: Box<[CelPlan]>,
    /// The regular expression, if it is a constant.
    pub(super) regex: Option<Arc<Regex>>,
    pub(super) at: u32,
}

/// A macro that iterates over a list or map.
#[derive(Clone)]
pub(super) struct PlannedFold {
    pub(super) kind: FoldKind,
    pub(super) range: CelPlan,
    pub(super) first: u32,
    pub(super) second: Option<u32>,
    /// The filter of macros that have one besides their body.
    pub(super) filter: Option<CelPlan>,
    pub(super) body: CelPlan,
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
pub(super) struct PlannedBinding {
    pub(super) slot: u32,
    pub(super) value: CelPlan,
    pub(super) body: CelPlan,
    pub(super) at: u32,
}

/// An expression that is ready to be evaluated.
#[derive(Clone)]
pub(super) struct PlannedProgram {
    pub(super) plan: CelPlan,
    pub(super) result: CelType,
    pub(super) variables: Vec<Text>,
    pub(super) slots: u32,
    /// The regular expressions in it, each once.
    pub(super) regexes: Vec<Regex>,
}

/// Plans `expr`, which was parsed from `text`. Regular expressions that are among `regexes` are not compiled again.
pub(super) fn plan_program(
    expr: &CelExpr,
    text: &str,
    environment: &CelEnvironment,
    regexes: Vec<Regex>,
) -> Result<PlannedProgram, Vec<CelCompileError>> {
    let mut planner = Planner {
        environment,
        text,
        regexes,
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
        let Planner { variables, slots, regexes, .. } = planner;
        return Ok(PlannedProgram { plan, result, variables, slots, regexes });
    }
    Err(planner.errors)
}

struct Planner<'e> {
    environment: &'e CelEnvironment,
    text: &'e str,
    /// The regular expressions that were compiled so far.
    regexes: Vec<Regex>,
    errors: Vec<CelCompileError>,
    /// The macro variables in scope, the innermost last.
    scope: Vec<MacroVariable>,
    variables: Vec<Text>,
    slots: u32,
    loops: usize,
    /// The number of suggestions made for unknown names, which is limited because each compares all names.
    suggestions: usize,
    /// Whether the list of arguments of `format` is planned, whose items may have different types.
    is_formatting: bool,
}

struct MacroVariable {
    name: Text,
    slot: u32,
    kind: CelType,
}

impl Planner<'_> {
    fn expr(&mut self, expr: &CelExpr) -> (CelPlan, CelType) {
        let at = expr.span.start;
        let (plan, kind) = match &expr.node {
            CelNode::Literal(value) => {
                return (CelPlan::Constant(value.clone(), 0), CelType::of(value.kind()));
            }
            CelNode::Identifier { .. } | CelNode::Select { .. } | CelNode::Index { .. } => {
                return self.path(expr);
            }
            CelNode::Call { target, name, arguments } => self.call(expr, target.as_deref(), name, arguments),
            CelNode::List(elements) => self.list(elements),
            CelNode::Map(entries) => self.map(entries, at),
            CelNode::Struct { name, fields } => self.structure(name, fields, expr.span),
            CelNode::And(parts) => {
                (CelPlan::And(self.conditions(parts, "&&"), at), CelType::of(CelKind::Bool))
            }
            CelNode::Or(parts) => (CelPlan::Or(self.conditions(parts, "||"), at), CelType::of(CelKind::Bool)),
            CelNode::Not(operand) => {
                let (plan, kind) = self.expr(operand);
                self.require(&[CelKind::Bool], &kind, "!", expr.span);
                (CelPlan::Not(Box::new(plan), at), CelType::of(CelKind::Bool))
            }
            CelNode::Negate(operand) => {
                let (plan, kind) = self.expr(operand);
                self.require(&[CelKind::Int, CelKind::Double], &kind, "-", expr.span);
                (CelPlan::Negate(Box::new(plan), at), kind)
            }
            CelNode::Chain(first, rest) => self.chain(first, rest),
            CelNode::Conditional(parts) => self.conditional(parts, expr.span),
        };
        (self.folded(plan), kind)
    }

    fn conditions(&mut self, parts: &[CelExpr], sign: &str) -> Box<[CelPlan]> {
        let mut plans = Vec::with_capacity(parts.len());
        for part in parts {
            let (plan, kind) = self.expr(part);
            self.require(&[CelKind::Bool], &kind, sign, part.span);
            plans.push(plan);
        }
        plans.into()
    }

    fn chain(&mut self, first: &CelExpr, rest: &[(CelOperator, CelExpr, CelSpan)]) -> (CelPlan, CelType) {
        let (mut plan, mut kind) = self.expr(first);
        let mut chained = Vec::new();
        for (operator, operand, span) in rest {
            let (right, right_kind) = self.expr(operand);
            let charge = choose_operator_charge(*operator, &kind, &right_kind, &right);
            let may_mix = self.environment.has_mixed_arithmetic();
            let is_mixed = may_mix && operator.is_arithmetic();
            let mixed =
                if may_mix { types::mixed_result_type(*operator, kind.kind, right_kind.kind) } else { None };
            kind = match mixed.or_else(|| types::binary_result_type(*operator, &kind, &right_kind)) {
                Some(kind) => kind,
                None => {
                    let message =
                        format!("no operator `{}` for `{kind}` and `{right_kind}`", operator.sign());
                    self.error(message, *span, CelCompileErrorKind::Type);
                    CelType::ANY
                }
            };
            chained.push((PlannedOperator { operator: *operator, charge, is_mixed, at: span.start }, right));
        }
        // Leading constants are computed now.
        let mut chained = chained.into_iter();
        for (sign, right) in chained.by_ref() {
            plan = self.folded(CelPlan::Binary(Box::new(PlannedBinary { sign, left: plan, right })));
            if !matches!(plan, CelPlan::Constant(..)) {
                break;
            }
        }
        let rest: Vec<_> = chained.collect();
        if rest.is_empty() { (plan, kind) } else { (CelPlan::Chain(Box::new(plan), rest.into()), kind) }
    }

    fn conditional(&mut self, parts: &(CelExpr, CelExpr, CelExpr), span: CelSpan) -> (CelPlan, CelType) {
        let (condition, kind) = self.expr(&parts.0);
        self.require(&[CelKind::Bool], &kind, "?", span);
        let (then, then_kind) = self.expr(&parts.1);
        let (otherwise, other_kind) = self.expr(&parts.2);
        if !types::are_compatible_types(&then_kind, &other_kind) {
            let message =
                format!("both results of `?` must be of one type, found `{then_kind}` and `{other_kind}`");
            self.error(message, span, CelCompileErrorKind::Type);
        }
        let kind = types::join_types(&then_kind, &other_kind);
        (CelPlan::Conditional(Box::new([condition, then, otherwise]), span.start), kind)
    }

    fn list(&mut self, elements: &[CelElement]) -> (CelPlan, CelType) {
        let mut parts = Vec::with_capacity(elements.len());
        let mut joined: Option<CelType> = None;
        for element in elements {
            let (part, kind) = self.part(element);
            joined = Some(self.joined(joined, kind, element.expr.span));
            parts.push(part);
        }
        (CelPlan::List(parts.into()), CelType::with(CelKind::List, joined.unwrap_or(CelType::ANY)))
    }

    fn map(&mut self, entries: &[(CelExpr, CelElement)], at: u32) -> (CelPlan, CelType) {
        let mut parts = Vec::with_capacity(entries.len());
        let mut joined: Option<CelType> = None;
        let mut keys: Option<CelType> = None;
        for (key, value) in entries {
            let (key_plan, key_kind) = self.expr(key);
            let allowed =
                [CelKind::Any, CelKind::Bool, CelKind::Int, CelKind::UInt, CelKind::Double, CelKind::String];
            if !allowed.contains(&key_kind.kind) {
                let message = format!("a key of a map cannot be of type `{key_kind}`");
                self.error(message, key.span, CelCompileErrorKind::Type);
            }
            keys = Some(self.joined(keys, key_kind, key.span));
            let (part, kind) = self.part(value);
            joined = Some(self.joined(joined, kind, value.expr.span));
            parts.push((key_plan, part));
        }
        (CelPlan::Map(parts.into(), at), CelType::with(CelKind::Map, joined.unwrap_or(CelType::ANY)))
    }

    fn structure(&mut self, name: &Text, fields: &[(Text, CelElement)], span: CelSpan) -> (CelPlan, CelType) {
        let candidates = self.environment.candidates(name);
        let Some(name) = candidates.into_iter().find(|name| self.environment.has_structure(name)) else {
            let message = format!("unknown type `{name}`");
            return self.unknown(message, span, CelCompileErrorKind::UnknownName);
        };
        let known = self.environment.structure_fields(&name);
        let mut parts = Vec::with_capacity(fields.len());
        for (field, value) in fields {
            let (part, kind) = self.part(value);
            match known.map(|known| known.iter().find(|(name, _)| field == name)) {
                Some(None) => {
                    let message = format!("`{name}` has no field `{field}`");
                    self.error(message, value.expr.span, CelCompileErrorKind::UnknownName);
                }
                Some(Some((_, wanted))) if *wanted != CelKind::Any => {
                    self.require(&[*wanted], &kind, field, value.expr.span);
                }
                _ => {}
            }
            parts.push((field.clone(), part));
        }
        let structure = PlannedStructure { name: name.clone(), fields: parts.into(), at: span.start };
        (CelPlan::Structure(Box::new(structure)), CelType::structure(name))
    }

    fn part(&mut self, element: &CelElement) -> (PlannedElement, CelType) {
        let (plan, kind) = self.expr(&element.expr);
        let (span, is_optional) = (element.expr.span, element.is_optional);
        if is_optional {
            self.require(&[CelKind::Optional], &kind, "?", span);
        }
        let kind = if is_optional { kind.elements() } else { kind };
        (PlannedElement { plan, is_optional, at: span.start }, kind)
    }

    /// Returns the common type of the elements.
    fn joined(&mut self, joined: Option<CelType>, kind: CelType, span: CelSpan) -> CelType {
        let Some(joined) = joined else { return kind };
        if !self.environment.has_mixed_literals()
            && !self.is_formatting
            && !types::are_compatible_types(&joined, &kind)
        {
            let message = format!("all elements must be of one type, found `{joined}` and `{kind}`");
            self.error(message, span, CelCompileErrorKind::Type);
        }
        types::join_types(&joined, &kind)
    }

    /// Reports a type that is certainly not one of `wanted`.
    fn require(&mut self, wanted: &[CelKind], found: &CelType, sign: &str, span: CelSpan) {
        if found.kind != CelKind::Any && !wanted.contains(&found.kind) {
            let wanted: Vec<String> = wanted.iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!("`{sign}` needs {}, found `{found}`", wanted.join(" or "));
            self.error(message, span, CelCompileErrorKind::Type);
        }
    }

    /// Reports an error. Without checks, only syntax errors are reported here and others fail at evaluation.
    fn error(&mut self, message: String, span: CelSpan, kind: CelCompileErrorKind) {
        let is_reported = self.environment.is_checked() || kind == CelCompileErrorKind::Syntax;
        if is_reported && self.errors.len() < MAX_COMPILE_ERRORS {
            self.errors.push(CelCompileError::new(message, span, kind, self.text));
        }
    }

    fn unknown(&mut self, message: String, span: CelSpan, kind: CelCompileErrorKind) -> (CelPlan, CelType) {
        let failed = match kind {
            CelCompileErrorKind::UnknownName => CelErrorKind::Unbound,
            _ => CelErrorKind::Type,
        };
        let failure = CelFailure::new(failed, message.clone()).at(span.start);
        self.error(message, span, kind);
        (CelPlan::Fail(failure), CelType::ANY)
    }
}

fn choose_operator_charge(
    operator: CelOperator,
    left: &CelType,
    right: &CelType,
    value: &CelPlan,
) -> OperatorCharge {
    match operator {
        CelOperator::Equal | CelOperator::NotEqual => OperatorCharge::Size,
        CelOperator::In if right.kind == CelKind::Any => OperatorCharge::One,
        CelOperator::In if is_constant_scalar_list(value) => OperatorCharge::Nothing,
        CelOperator::In => OperatorCharge::Size,
        _ if left.kind == CelKind::Any && right.kind == CelKind::Any => OperatorCharge::One,
        _ => OperatorCharge::Size,
    }
}

/// Returns whether this is a constant list of scalars.
fn is_constant_scalar_list(plan: &CelPlan) -> bool {
    let is_scalar = |value: Val<'_>| {
        matches!(value, Val::Bool(_) | Val::Int(_) | Val::UInt(_) | Val::Double(_) | Val::String(_))
    };
    match plan {
        CelPlan::Constant(Val::List(list), 0) => list.iter().all(is_scalar),
        _ => false,
    }
}
