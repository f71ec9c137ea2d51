//! The variables of the expressions of one rule for one request. Each is built when it is first read.

use std::cell::{Cell, OnceCell, RefCell};

use kubewright_cel::library::kubernetes::{authorizer, resource_check};
use kubewright_cel::library::policy::{CheckResponse, envoy_request, http_request};
use kubewright_cel::{
    self as cel, CelBindings, CelCost, CelErrorKind, CelFailure, Inputs, LazyVariables, Val, WORK_PER_STEP,
};
use kubewright_engine::{EvalError, TraceNode, TraceVerdict as Seen, WorldView};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Budget, Deadline, Exhausted, Limits, Map, Value};

use super::generate::GeneratedObject;
use super::host::VerifiedImages;
use super::reasons::ReasonNotes;
use super::request::resource_value;
use super::{CelExpression, LazyVariable, request};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};

/// The largest cost of one expression.
const MAX_EXPRESSION_COST: u64 = 1_000_000;

/// The largest cost of all expressions of a rule together, for one object.
const MAX_RULE_COST: u64 = 10_000_000;

/// The largest cost of finding out why an expression has its value.
const MAX_EXPLANATION_COST: u64 = 1_000_000;

/// How much work that costs nothing in a cluster, such as compiling patterns, the expressions of a rule may cause.
const MAX_RULE_WORK: u64 = 30_000_000;

/// The cost spent on one object.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpentCost {
    cost: u64,
    work: u64,
    /// The steps that may be spent, where they are fewer than usual.
    steps: Option<u64>,
    /// Whether an expression was stopped because there was too little.
    is_out: bool,
    bytes: u64,
    /// The bytes that may be produced: those left, and the limit.
    max_bytes: Option<(u64, u64)>,
    deadline: Option<Deadline>,
    is_interrupted: bool,
}

/// The cost of one step of a budget; the initial steps of a budget are worth at least [`MAX_RULE_COST`].
const COST_PER_STEP: u64 = 2;

impl SpentCost {
    /// Returns a cost of zero, limited by what `budget` has left.
    #[must_use]
    pub fn within(budget: &Budget) -> Self {
        Self {
            steps: Some(budget.steps_left()),
            max_bytes: Some((budget.bytes_left(), budget.bytes_limit())),
            deadline: budget.deadline(),
            ..Self::default()
        }
    }

    /// Charges `budget`. When the cost is larger than the budget, an expression was stopped because of it.
    pub fn charge(self, budget: &mut Budget) {
        let spent = self.cost.div_ceil(COST_PER_STEP).max(self.work.div_ceil(WORK_PER_STEP));
        // Who was stopped by a budget that is smaller than usual may begin again with a larger one.
        let spent = if self.is_out { spent.max(budget.steps_left().saturating_add(1)) } else { spent };
        let _ = budget.step(spent);
        if self.is_interrupted {
            let _ = budget.check_clock();
        }
        let _ = budget.produce(usize::try_from(self.bytes).unwrap_or(usize::MAX));
    }

    /// Returns the cost and the work that are left.
    fn available(self) -> (u64, u64) {
        let of_steps = |each: u64| self.steps.map_or(u64::MAX, |steps| steps.saturating_mul(each));
        let cost = MAX_RULE_COST.min(of_steps(COST_PER_STEP)).saturating_sub(self.cost);
        let work = MAX_RULE_WORK.min(of_steps(WORK_PER_STEP)).saturating_sub(self.work);
        (cost, work)
    }
}

/// How many variables may be evaluated inside of each other; behind longer rows of variables the first ones go first.
const MAX_NESTED_VARIABLES: usize = 8;

/// How many questions without an answer are remembered.
const MAX_UNANSWERED_QUERIES: usize = 64;

/// The values that expressions read.
pub(super) struct ExpressionScope<'a> {
    pub(super) request: &'a AdmissionRequest,
    pub(super) world: WorldView<'a>,
    /// Mutations replace it.
    pub(super) object: Cell<&'a Value>,
    pub(super) form: ObjectForm,
    pub(super) old_object: &'a Value,
    /// Null where the rule has none.
    pub(super) params: &'a Value,
    /// The values that exceptions allow; null where they cannot be read.
    pub(super) exceptions: &'a Value,
    /// Further variables, by name; null where there are none.
    pub(super) extra: &'a Value,
    /// What was verified so far, where expressions verify images.
    pub(super) verified: Option<&'a VerifiedImages>,
    /// The namespace of the object, if an expression reads it.
    pub(super) namespace: ScopeNamespace<'a>,
    pub(super) variables: &'a [LazyVariable],
    pub(super) values: VariableValues<'a>,
    pub(super) made: OnceCell<Value>,
    pub(super) spent: &'a Cell<SpentCost>,
    pub(super) inputs: Inputs,
    pub(super) notes: RefCell<TraceNotes>,
    /// The objects that expressions handed over to be made.
    pub(super) generated: RefCell<Vec<GeneratedObject>>,
    /// The unanswered queries so far. They need not have stopped an expression.
    pub(super) unanswered: RefCell<Vec<EvalError>>,
    /// Whether violations say where they are in the object.
    pub(super) wants_places: bool,
}

/// How many variables need no heap.
const INLINE_VARIABLES: usize = 3;

/// The values of the variables that have been read.
#[derive(Default)]
pub(super) struct VariableValues<'a> {
    few: [OnceCell<Result<Val<'a>, CelFailure>>; INLINE_VARIABLES],
    more: Vec<OnceCell<Result<Val<'a>, CelFailure>>>,
}

impl<'a> VariableValues<'a> {
    /// Returns empty cells for `variables`.
    pub(super) fn of(variables: &[LazyVariable]) -> Self {
        let more = match variables.len().saturating_sub(INLINE_VARIABLES) {
            0 => Vec::new(),
            count => std::iter::repeat_with(OnceCell::new).take(count).collect(),
        };
        Self { few: [const { OnceCell::new() }; INLINE_VARIABLES], more }
    }

    fn get(&self, index: usize) -> Option<&OnceCell<Result<Val<'a>, CelFailure>>> {
        self.few.get(index).or_else(|| self.more.get(index.checked_sub(INLINE_VARIABLES)?))
    }
}

/// How expressions read the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ObjectForm {
    /// As it is written.
    #[default]
    Plain,
    /// As it is written, without an operation or a namespace.
    Payload,
    /// A request over HTTP, all fields of which exist.
    Http,
    /// An Envoy request, all fields of which exist.
    Envoy,
    /// As it is written, where the request is about another object.
    Target,
}

/// The namespace of an object.
pub(super) enum ScopeNamespace<'a> {
    Known(&'a Value),
    /// There is none, or no object is known for it.
    None,
    Unknown(EvalError),
}

/// Why an expression has no result.
pub(super) enum ExpressionFailure {
    /// It does not fit the object.
    Failed(String),
    /// The engine could not evaluate it.
    Error(EvalError),
}

impl<'a> ExpressionScope<'a> {
    /// Evaluates `expression`; `what` is its name in the trace.
    pub(super) fn evaluate(
        &'a self,
        expression: &'a CelExpression,
        what: impl FnOnce() -> String,
    ) -> Result<Val<'a>, ExpressionFailure> {
        self.notes.borrow_mut().open();
        let result = self.run(expression);
        self.close_note(expression, what, &result);
        result.map_err(|error| self.stopped(expression, &error))
    }

    /// Ends the note of `expression`, with why its result is what it is.
    fn close_note(
        &'a self,
        expression: &'a CelExpression,
        what: impl FnOnce() -> String,
        result: &Result<Val<'a>, cel::CelError>,
    ) {
        let is_explained = self.note_reasons(expression, result);
        self.notes.borrow_mut().close(|| {
            let note = expression_note(expression, what(), result);
            if is_explained { TraceNote { help: String::new(), ..note } } else { note }
        });
    }

    /// Evaluates `expression`; an error has no words about the expression.
    pub(super) fn evaluate_plainly(
        &'a self,
        expression: &'a CelExpression,
        what: impl FnOnce() -> String,
    ) -> Result<Val<'a>, EvalError> {
        self.notes.borrow_mut().open();
        let result = self.run(expression);
        self.close_note(expression, what, &result);
        result.map_err(|error| match error.kind {
            CelErrorKind::Host(number) => {
                let unanswered = self.unanswered.borrow().get(number as usize).cloned();
                unanswered.unwrap_or_else(|| EvalError::new(error.message))
            }
            CelErrorKind::Limit => EvalError::limit(error.message),
            _ => EvalError::new(error.message),
        })
    }

    fn run(&'a self, expression: &'a CelExpression) -> Result<Val<'a>, cel::CelError> {
        let spent = self.spent.get();
        let (available, work) = spent.available();
        let mut cost = CelCost::new(MAX_EXPRESSION_COST)
            .with_available(available)
            .with_work(work)
            .with_deadline(spent.deadline);
        let (left, limit) = spent.max_bytes.unwrap_or((cost.bytes_left(), cost.bytes_left()));
        cost = cost.with_bytes(left.saturating_sub(spent.bytes), limit);
        let (work, bytes) = (cost.work_left(), cost.bytes_left());
        let bindings = CelBindings::new().with_variables(self).with_host(self).with_inputs(self.inputs);
        let result = expression.program.evaluate(&bindings, &mut cost);
        // Variables that were read meanwhile have spent something too.
        let spent = self.spent.get();
        self.spent.set(SpentCost {
            cost: spent.cost.saturating_add(cost.used()),
            bytes: spent.bytes.saturating_add(bytes.saturating_sub(cost.bytes_left())),
            work: spent.work.saturating_add(work.saturating_sub(cost.work_left())),
            is_out: spent.is_out || cost.is_out_of_work() || cost.used() > available,
            is_interrupted: spent.is_interrupted || cost.is_interrupted(),
            ..spent
        });
        result
    }

    /// Adds why the result is what it is, where a trace was requested, and returns whether there is a reason. What this
    /// costs is not charged to the rule.
    fn note_reasons(
        &'a self,
        expression: &'a CelExpression,
        result: &Result<Val<'a>, cel::CelError>,
    ) -> bool {
        let is_asked = match result {
            Ok(Val::Bool(holds)) => !holds,
            Ok(_) => false,
            Err(error) => !matches!(error.kind, CelErrorKind::Limit | CelErrorKind::Host(_)),
        };
        if !is_asked || !self.notes.borrow().is_on() {
            return false;
        }
        let (spent, generated) = (self.spent.get(), self.generated.borrow().len());
        let bindings = CelBindings::new().with_variables(self).with_host(self).with_inputs(self.inputs);
        let mut cost = CelCost::new(MAX_EXPLANATION_COST).with_deadline(spent.deadline);
        let reason = expression.program.explain(&bindings, &mut cost);
        self.generated.borrow_mut().truncate(generated);
        self.spent.set(spent);
        let reasons = ReasonNotes::of(&reason, self.object.get(), &expression.path);
        let is_explained = !reasons.is_empty();
        reasons.into_iter().for_each(|note| self.notes.borrow_mut().say(|| note));
        is_explained
    }

    /// Runs `make` with the bytes that the rule has left.
    pub(super) fn within<T>(
        &self,
        make: impl FnOnce(&mut Budget) -> Result<T, Exhausted>,
    ) -> Result<T, Exhausted> {
        let spent = self.spent.get();
        let limits = Limits::default();
        let (left, limit) = spent.max_bytes.unwrap_or((limits.bytes, limits.bytes));
        let mut budget = Budget::new(Limits { bytes: left.saturating_sub(spent.bytes), ..limits });
        let made = make(&mut budget).map_err(|exhausted| match exhausted {
            Exhausted::Bytes(_) => Exhausted::Bytes(limit),
            other => other,
        });
        self.spent.set(SpentCost { bytes: spent.bytes.saturating_add(budget.bytes_used()), ..spent });
        made
    }

    fn stopped(&self, expression: &CelExpression, error: &cel::CelError) -> ExpressionFailure {
        if let CelErrorKind::Host(number) = error.kind
            && let Some(unanswered) = self.unanswered.borrow().get(number as usize)
        {
            return ExpressionFailure::Error(unanswered.clone());
        }
        let message = format!("expression '{}' resulted in error: {}", expression.text, error.message);
        match error.kind {
            CelErrorKind::Limit => ExpressionFailure::Error(EvalError::limit(message)),
            _ => ExpressionFailure::Failed(message),
        }
    }

    /// Returns the failure by which `error` is found again if it turns out to be why an expression has no result.
    pub(super) fn not_known(&self, error: EvalError) -> CelFailure {
        let message = error.message.clone();
        let mut unanswered = self.unanswered.borrow_mut();
        let known = unanswered.iter().position(|known| known.kind == error.kind);
        let number = known.unwrap_or(unanswered.len());
        if number == unanswered.len() && number < MAX_UNANSWERED_QUERIES {
            unanswered.push(error);
        }
        let kind = u32::try_from(number).map_or(CelErrorKind::Unbound, CelErrorKind::Host);
        CelFailure::new(kind, message)
    }

    /// Returns the variable at `index`.
    fn variable(&'a self, index: usize) -> Result<Val<'a>, CelFailure> {
        let Some((cell, variable)) = self.values.get(index).zip(self.variables.get(index)) else {
            return Ok(Val::Null);
        };
        if cell.get().is_none() && variable.depth > MAX_NESTED_VARIABLES {
            self.read_before(index);
        }
        cell.get_or_init(|| self.value(variable)).clone()
    }

    fn value(&'a self, variable: &'a LazyVariable) -> Result<Val<'a>, CelFailure> {
        self.notes.borrow_mut().open();
        let result = self.run(&variable.expression);
        let is_explained = result.is_err() && self.note_reasons(&variable.expression, &result);
        self.notes.borrow_mut().close(|| {
            let note = expression_note(&variable.expression, variable.name.to_string(), &result);
            if is_explained { TraceNote { help: String::new(), ..note } } else { note }
        });
        result.map_err(|error| {
            let message = format!("{FAILED_VARIABLE} {:?} fails to evaluate: {error}", variable.short());
            CelFailure::new(error.kind, message)
        })
    }

    /// Reads everything that the variable at `index` may read, the first ones first.
    fn read_before(&'a self, index: usize) {
        let mut is_needed = vec![false; index];
        for at in (0..=index).rev() {
            if at != index && is_needed.get(at) != Some(&true) {
                continue;
            }
            let Some(variable) = self.variables.get(at) else { continue };
            for name in variable.expression.program.variable_names() {
                if let Some(read) = self.position(name)
                    && let Some(is_needed) = is_needed.get_mut(read)
                {
                    *is_needed = true;
                }
            }
        }
        for (at, _) in is_needed.iter().enumerate().filter(|(_, is_needed)| **is_needed) {
            if let Some((cell, variable)) = self.values.get(at).zip(self.variables.get(at)) {
                cell.get_or_init(|| self.value(variable));
            }
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable.name == name)
    }

    fn request_resource(&self) -> Val<'a> {
        let AdmissionRequest { subresource, namespace, name, .. } = self.request;
        let kind = self.request.addressed();
        let resource = resource_value(kind);
        let resource = resource.str_at(&["resource"]);
        resource_check(&kind.group, resource, subresource, namespace, name)
    }

    fn namespace(&'a self) -> Result<Val<'a>, CelFailure> {
        match &self.namespace {
            ScopeNamespace::Known(namespace) => Ok(Val::borrowed(namespace)),
            ScopeNamespace::None if self.request.namespace.is_empty() => Ok(Val::Null),
            // Outside a cluster only its name may be known.
            ScopeNamespace::None => {
                let metadata = Map::from([("name", Value::String(self.request.namespace.clone()))]);
                let empty = || Value::from(Map::new());
                let namespace =
                    Map::from([("metadata", metadata.into()), ("spec", empty()), ("status", empty())]);
                Ok(Val::from(Value::from(namespace)))
            }
            ScopeNamespace::Unknown(error) => Err(self.not_known(error.clone())),
        }
    }
}

impl<'a> LazyVariables<'a> for ExpressionScope<'a> {
    fn find(&'a self, name: &str) -> Result<Option<Val<'a>>, CelFailure> {
        Ok(Some(match name {
            "object" => match self.form {
                ObjectForm::Plain | ObjectForm::Payload | ObjectForm::Target => {
                    Val::borrowed(self.object.get())
                }
                ObjectForm::Http => http_request(self.object.get()),
                ObjectForm::Envoy => envoy_request(self.object.get()),
            },
            "oldObject" => Val::borrowed(self.old_object),
            "params" => Val::borrowed(self.params),
            "exceptions" => Val::borrowed(self.exceptions),
            // A payload has no request and no namespace.
            "request" | "namespaceObject" if self.form == ObjectForm::Payload => Val::Null,
            "request" => Val::borrowed(self.made.get_or_init(|| request::request_value(self.request))),
            "namespaceObject" => self.namespace()?,
            "authorizer" => authorizer(),
            "authorizer.requestResource" => self.request_resource(),
            name => match self.position(name) {
                Some(index) => self.variable(index)?,
                None => match self.extra.get(name) {
                    Some(value) => Val::borrowed(value),
                    None => return Ok(None),
                },
            },
        }))
    }
}

impl LazyVariable {
    /// Returns the name without `variables.`.
    pub(super) fn short(&self) -> &str {
        self.name.strip_prefix("variables.").unwrap_or(&self.name)
    }
}

fn expression_note(
    expression: &CelExpression,
    what: String,
    result: &Result<Val<'_>, cel::CelError>,
) -> TraceNote {
    let (found, verdict) = match result {
        Ok(Val::Bool(holds)) => (holds.to_string(), if *holds { Seen::Yes } else { Seen::No }),
        Ok(value) if let Some(answer) = CheckResponse::of(value) => match answer.is_allowed {
            true => ("allowed".to_owned(), Seen::Yes),
            false => ("denied".to_owned(), Seen::No),
        },
        Ok(value) => (
            value.to_value().map_or_else(|_| TraceNode::show_debug(value), |value| TraceNode::show(&value)),
            Seen::Done,
        ),
        Err(error) => (error.message.clone(), Seen::Error),
    };
    TraceNote {
        what,
        found,
        wanted: expression.text.trim().to_owned(),
        verdict,
        at: expression.path.clone(),
        help: match result {
            Err(error) if error.kind == CelErrorKind::Missing => MISSING_KEY_HELP.to_owned(),
            _ => String::new(),
        },
        ..TraceNote::default()
    }
}

/// How the error of an expression begins whose variable has no value.
pub(super) const FAILED_VARIABLE: &str = "composited variable";

/// What to do about a key that an object does not have.
const MISSING_KEY_HELP: &str =
    "read a key that may be missing as `a.?b.orValue('')`, or test it with `has(a.b)` first";
