//! Why an expression has its value: the parts that decided, each with the value it has.
//!
//! The expression is evaluated again part by part, with a cost of its own, and only where a reason is asked for. Evaluation
//! itself records nothing. The walk follows the syntax tree, which has the names, and the plan, which has the slots.

mod text;

use kubewright_value::{Step, Text};

use crate::CelProgram;
use crate::ast::{CelExpr, CelNode};
use crate::bindings::CelBindings;
use crate::cost::CelCost;
use crate::error::{CelError, CelErrorKind, CelFailure};
use crate::eval::CelEvaluator;
use crate::plan::{CelPlan, FoldKind, PlannedFold, PlannedPath, PlannedStep, PlannedStepKind};
use crate::val::{MapVal, Val};
pub(super) use text::expression_text;

/// The elements that are shown of a loop that more than one element decided.
const MAX_SHOWN_ELEMENTS: usize = 3;

/// How deep reasons nest.
const MAX_REASON_DEPTH: usize = 12;

/// A part of an expression, its value, and the parts that decided it.
#[derive(Debug)]
pub struct CelReason<'a> {
    /// The part, as text. The body of a macro is `…`.
    pub text: String,
    /// Its value.
    ///
    /// # Errors
    /// When it has none.
    pub value: Result<Val<'a>, CelError>,
    /// Whether the text is only a constant.
    pub is_constant: bool,
    /// The element that this is about, where the part is the body of a macro.
    pub element: Option<CelLoopElement<'a>>,
    /// How many elements a macro such as `exists` found true, and how many there are.
    pub counted: Option<(usize, usize)>,
    /// The object or list that was read, and the way from there to what was read, of which the end may be missing.
    pub place: Option<(Val<'a>, Vec<Step>)>,
    /// A way to write the part for which a missing key is no error; empty where nothing is missing.
    pub optional_form: String,
    /// The parts that decided.
    pub children: Vec<CelReason<'a>>,
}

/// An element that a macro looked at.
#[derive(Debug)]
pub struct CelLoopElement<'a> {
    /// The name of the variable.
    pub variable: Text,
    /// The text of the list or map.
    pub range: String,
    /// Its index.
    pub index: usize,
    /// Its key, if it is of a map, or the element.
    pub value: Val<'a>,
}

impl CelProgram {
    /// Returns why the expression has the value it has for `bindings`.
    pub fn explain<'a>(&'a self, bindings: &CelBindings<'a>, cost: &mut CelCost) -> CelReason<'a> {
        let planned = &self.planned;
        let evaluator = CelEvaluator::new(bindings, &planned.variables, planned.slots, cost)
            .forgiving(self.environment.is_forgiving());
        let mut explainer = Explainer { evaluator, source: &self.source, depth: 0, missing: "''" };
        explainer.explain(&self.root, &planned.plan)
    }
}

struct Explainer<'r, 'a> {
    evaluator: CelEvaluator<'r, 'a>,
    source: &'a str,
    depth: usize,
    /// What a missing value may be replaced by here.
    missing: &'static str,
}

impl<'a> Explainer<'_, 'a> {
    fn explain(&mut self, expr: &CelExpr, plan: &'a CelPlan) -> CelReason<'a> {
        let value = self.evaluator.eval(plan);
        let is_out = value.as_ref().is_err_and(CelFailure::is_limit);
        let mut reason = CelReason {
            text: expression_text(expr, true),
            value: value.map_err(|failure| failure.located(self.source)),
            is_constant: matches!(plan, CelPlan::Constant(..)),
            element: None,
            counted: None,
            place: None,
            optional_form: String::new(),
            children: Vec::new(),
        };
        if !is_out && self.depth < MAX_REASON_DEPTH {
            self.depth += 1;
            self.add_parts(&mut reason, expr, plan);
            self.depth -= 1;
        }
        reason
    }

    fn add_parts(&mut self, reason: &mut CelReason<'a>, expr: &CelExpr, plan: &'a CelPlan) {
        match (&expr.node, plan) {
            (CelNode::And(parts), CelPlan::And(plans, _)) => self.decided(reason, parts, plans, false),
            (CelNode::Or(parts), CelPlan::Or(plans, _)) => self.decided(reason, parts, plans, true),
            (CelNode::Not(operand), CelPlan::Not(inner, _)) => {
                reason.children.push(self.explain(operand, inner));
            }
            (CelNode::Chain(first, rest), CelPlan::Binary(binary)) => {
                let [(_, second, _)] = rest.as_slice() else { return };
                let before = self.missing;
                for (side, plan, other) in
                    [(&**first, &binary.left, &binary.right), (second, &binary.right, &binary.left)]
                {
                    self.missing = replacement_like(other);
                    let child = self.explain(side, plan);
                    let is_error = child.value.is_err();
                    reason.children.push(child);
                    if is_error {
                        break;
                    }
                }
                self.missing = before;
            }
            (CelNode::Conditional(parts), CelPlan::Conditional(plans, _)) => {
                let [condition, then, otherwise] = &**plans;
                let asked = self.explain(&parts.0, condition);
                let chosen = match &asked.value {
                    Ok(Val::Bool(true)) => Some((&parts.1, then)),
                    Ok(Val::Bool(false)) => Some((&parts.2, otherwise)),
                    _ => None,
                };
                reason.children.push(asked);
                if let Some((expr, plan)) = chosen {
                    let chosen = self.explain(expr, plan);
                    reason.children.push(chosen);
                }
            }
            (CelNode::Call { target: Some(target), arguments, .. }, CelPlan::Fold(fold)) => {
                self.looped(reason, target, arguments, fold);
            }
            (CelNode::Call { target, arguments, .. }, CelPlan::Call(call)) => {
                let written: Vec<&CelExpr> = target.as_deref().into_iter().chain(arguments).collect();
                if written.len() != call.arguments.len() {
                    return;
                }
                for (expr, plan) in written.into_iter().zip(&call.arguments) {
                    let child = self.explain(expr, plan);
                    if !child.is_constant {
                        reason.children.push(child);
                    }
                }
            }
            (CelNode::Call { target: Some(target), .. }, CelPlan::OptionalOrValue(parts, _)) => {
                self.optional(reason, target, &parts.0);
            }
            (CelNode::Call { target: Some(target), .. }, CelPlan::PlainOrValue(parts)) => {
                self.optional(reason, target, &parts.0);
            }
            (CelNode::Call { arguments, .. }, CelPlan::Has(path)) => {
                let Some(field) = arguments.first() else { return };
                self.read(reason, path);
                if reason.value.is_err() {
                    reason.optional_form = format!("{}.hasValue()", self.optional_text(field, path));
                }
            }
            (_, CelPlan::Path(path)) => {
                self.read(reason, path);
                if reason.value.is_err() {
                    let optional = self.optional_text(expr, path);
                    reason.optional_form = format!("{optional}.orValue({})", self.missing);
                }
            }
            (_, CelPlan::Variable(..) | CelPlan::Local(_)) => {
                if let Ok(value @ (Val::Map(_) | Val::List(_))) = &reason.value {
                    reason.place = Some((value.clone(), Vec::new()));
                }
            }
            _ => {}
        }
    }

    /// Adds the parts of `&&` or `||` that decided.
    fn decided(
        &mut self,
        reason: &mut CelReason<'a>,
        parts: &[CelExpr],
        plans: &'a [CelPlan],
        decisive: bool,
    ) {
        let (value, is_error) = (reason.value.as_ref().ok().and_then(Val::as_bool), reason.value.is_err());
        for (expr, plan) in parts.iter().zip(plans) {
            let part = match self.evaluator.eval(plan) {
                Ok(part) => part.as_bool(),
                Err(_) if !is_error => continue,
                Err(_) => None,
            };
            // What did not decide is not a reason.
            if part != value {
                continue;
            }
            let child = self.explain(expr, plan);
            reason.children.push(child);
            if value == Some(decisive) || is_error {
                return;
            }
        }
    }

    fn optional(&mut self, reason: &mut CelReason<'a>, target: &CelExpr, plan: &'a CelPlan) {
        if let CelPlan::Path(path) = plan {
            self.read(reason, path);
        }
        // An error inside is that of the receiver.
        if reason.value.is_err() {
            let child = self.explain(target, plan);
            reason.children.push(child);
        }
    }

    /// Adds the elements that decided a macro.
    fn looped(
        &mut self,
        reason: &mut CelReason<'a>,
        target: &CelExpr,
        arguments: &[CelExpr],
        fold: &'a PlannedFold,
    ) {
        let before = std::mem::replace(&mut self.missing, "[]");
        let range = self.explain(target, &fold.range);
        self.missing = before;
        let Ok(value) = &range.value else {
            reason.children.push(range);
            return;
        };
        let value = value.clone();
        let (Some(variable), Some(body)) = (arguments.first().and_then(CelExpr::as_name), arguments.last())
        else {
            return;
        };
        let wanted = match (fold.kind, &reason.value) {
            (_, Err(_)) => None,
            (FoldKind::All | FoldKind::Filter, Ok(_)) => Some(false),
            (FoldKind::Exists | FoldKind::ExistsOne, Ok(Val::Bool(true))) => Some(true),
            (FoldKind::Exists, Ok(_)) => Some(false),
            (FoldKind::ExistsOne, Ok(_)) => {
                reason.place = range.place;
                return self.counted(reason, fold, &value);
            }
            _ => return,
        };
        let length = length_of(&value);
        if length == 0 {
            reason.place = range.place.clone();
            reason.counted = Some((0, 0));
        }
        let is_one = matches!(fold.kind, FoldKind::All | FoldKind::ExistsOne) || wanted != Some(false);
        let most = if is_one { 1 } else { MAX_SHOWN_ELEMENTS };
        for index in 0..length {
            let Some(element) = self.evaluator.enter_element(fold, &value, index) else { return };
            let found = match self.evaluator.eval(&fold.body) {
                Err(failure) if failure.is_limit() => return,
                found => found.ok().and_then(|found| found.as_bool()),
            };
            if found != wanted {
                continue;
            }
            let mut child = self.explain(body, &fold.body);
            if child.place.is_none() && child.value.is_ok() {
                child.place = element_place(range.place.as_ref(), &value, (index, &element));
            }
            child.element = Some(CelLoopElement {
                variable: variable.clone(),
                range: range.text.clone(),
                index,
                value: element,
            });
            reason.children.push(child);
            if reason.children.len() >= most {
                return;
            }
        }
    }

    /// Counts the elements that are true.
    fn counted(&mut self, reason: &mut CelReason<'a>, fold: &'a PlannedFold, range: &Val<'a>) {
        let (mut count, length) = (0, length_of(range));
        for index in 0..length {
            let Some(_) = self.evaluator.enter_element(fold, range, index) else { return };
            count += usize::from(matches!(self.evaluator.eval(&fold.body), Ok(Val::Bool(true))));
        }
        reason.counted = Some((count, length));
    }

    /// Follows a path as far as it leads, and remembers where it ends.
    fn read(&mut self, reason: &mut CelReason<'a>, path: &'a PlannedPath) {
        let Ok(mut value) = self.evaluator.eval(&path.root) else {
            return;
        };
        let (mut anchor, mut below) = (value.clone(), Vec::new());
        for step in &path.steps {
            if let Val::Optional(Some(inner)) = &value {
                value = (**inner).clone();
            }
            let Some((name, next)) = self.step(&value, step) else { return };
            below.push(name);
            let Some(next) = next else { break };
            value = next;
            if matches!(value, Val::Map(MapVal::Borrowed(_))) {
                (anchor, below) = (value.clone(), Vec::new());
            }
        }
        reason.place = Some((anchor, below));
    }

    /// Returns the name of a step, and the value behind it if there is one.
    fn step(&mut self, value: &Val<'a>, step: &'a PlannedStep) -> Option<(Step, Option<Val<'a>>)> {
        let key = match &step.what {
            PlannedStepKind::Field(name) => Val::text(name.clone()),
            PlannedStepKind::Index(plan) => self.evaluator.eval(plan).ok()?,
        };
        let name = match &key {
            Val::String(name) => Step::Key(name.as_ref().clone()),
            Val::Int(index) => Step::Index(usize::try_from(*index).ok()?),
            _ => return None,
        };
        Some((name, crate::eval::read_item(value, &key).ok().flatten()))
    }

    /// Returns the text of a path that is optional from the missing step on.
    fn optional_text(&mut self, expr: &CelExpr, path: &'a PlannedPath) -> String {
        let mut present = 0;
        if let Ok(mut value) = self.evaluator.eval(&path.root) {
            for step in &path.steps {
                let Some((_, Some(next))) = self.step(&value, step) else { break };
                value = next;
                present += 1;
            }
        }
        let missing = path.steps.len().saturating_sub(present);
        expression_text(&made_optional(expr, missing), true)
    }
}

/// Returns `expr` with its last `count` steps made optional.
fn made_optional(expr: &CelExpr, count: usize) -> CelExpr {
    let mut expr = expr.clone();
    if count == 0 {
        return expr;
    }
    if let CelNode::Select { operand, is_optional, .. } | CelNode::Index { operand, is_optional, .. } =
        &mut expr.node
    {
        *is_optional = true;
        **operand = made_optional(operand, count - 1);
    }
    expr
}

/// Returns what may replace a missing value that is compared with `other`.
fn replacement_like(other: &CelPlan) -> &'static str {
    match other {
        CelPlan::Constant(Val::Int(_) | Val::UInt(_) | Val::Double(_), _) => "0",
        CelPlan::Constant(Val::Bool(_), _) => "false",
        CelPlan::Constant(Val::List(_), _) => "[]",
        CelPlan::Constant(Val::Map(_), _) => "{}",
        _ => "''",
    }
}

/// Returns the place of an element of a list or map whose place is known.
fn element_place<'a>(
    range: Option<&(Val<'a>, Vec<Step>)>,
    value: &Val<'a>,
    (index, element): (usize, &Val<'a>),
) -> Option<(Val<'a>, Vec<Step>)> {
    let (anchor, below) = range?;
    let step = match (value, element) {
        (Val::List(_), _) => Step::Index(index),
        (Val::Map(_), Val::String(key)) => Step::Key(key.as_ref().clone()),
        _ => return None,
    };
    Some((anchor.clone(), below.iter().cloned().chain([step]).collect()))
}

fn length_of(range: &Val<'_>) -> usize {
    match range {
        Val::List(list) => list.len(),
        Val::Map(map) => map.len(),
        _ => 0,
    }
}

impl CelReason<'_> {
    /// Returns whether the part has no value because a key or an index is missing.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.value.as_ref().is_err_and(|error| error.kind == CelErrorKind::Missing)
    }
}

#[cfg(test)]
mod tests;
