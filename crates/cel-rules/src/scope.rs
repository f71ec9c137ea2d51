//! What the variables of the expressions of one rule are, for one request. Nothing is made before it is read.

use std::cell::{Cell, OnceCell, RefCell};

use kubewright_cel::library::kubernetes::{authorizer, resource_check};
use kubewright_cel::library::policy::{CheckResponse, envoy_request, http_request};
use kubewright_cel::{
    self as cel, CelBindings, CelCost, CelErrorKind, CelFailure, Inputs, LazyVariables, Val, WORK_PER_STEP,
};
use kubewright_engine::{EvalError, TraceNode, Verdict as Seen, WorldView};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Budget, Deadline, Exhausted, Limits, Map, Value};

use super::request::resource_of;
use super::{Expression, Variable, request};
use kubewright_dialect_kit::notes::{Note, Notes};

/// What one expression may cost.
const EXPRESSION_LIMIT: u64 = 1_000_000;

/// What all expressions of a rule may cost together, for one object.
const RULE_LIMIT: u64 = 10_000_000;

/// How much work that costs nothing in a cluster, such as compiling patterns, the expressions of a rule may cause.
const RULE_WORK: u64 = 30_000_000;

/// What was spent on an object.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    cost: u64,
    work: u64,
    /// The steps that may be spent, where they are fewer than usual.
    steps: Option<u64>,
    /// Whether an expression was stopped because there was too little.
    is_out: bool,
    bytes: u64,
    /// How many bytes may be made: what is left, and of how many.
    max_bytes: Option<(u64, u64)>,
    deadline: Option<Deadline>,
    is_interrupted: bool,
}

/// How much cost is a step of a budget: what a budget has in the beginning is at least [`RULE_LIMIT`].
const COST_OF_STEP: u64 = 2;

impl Spent {
    /// Returns that nothing was spent yet of what `budget` has.
    #[must_use]
    pub fn within(budget: &Budget) -> Self {
        Self {
            steps: Some(budget.steps_left()),
            max_bytes: Some((budget.bytes_left(), budget.bytes_limit())),
            deadline: budget.deadline(),
            ..Self::default()
        }
    }

    /// Takes what was spent from `budget`. Where that is more than there was, an expression was stopped for it.
    pub fn charge(self, budget: &mut Budget) {
        let spent = self.cost.div_ceil(COST_OF_STEP).max(self.work.div_ceil(WORK_PER_STEP));
        // Who was stopped by a budget that is smaller than usual may begin again with a larger one.
        let spent = if self.is_out { spent.max(budget.steps_left().saturating_add(1)) } else { spent };
        let _ = budget.step(spent);
        if self.is_interrupted {
            let _ = budget.check_clock();
        }
        let _ = budget.produce(usize::try_from(self.bytes).unwrap_or(usize::MAX));
    }

    /// Returns what is left of the cost and the work.
    fn available(self) -> (u64, u64) {
        let of_steps = |each: u64| self.steps.map_or(u64::MAX, |steps| steps.saturating_mul(each));
        let cost = RULE_LIMIT.min(of_steps(COST_OF_STEP)).saturating_sub(self.cost);
        let work = RULE_WORK.min(of_steps(WORK_PER_STEP)).saturating_sub(self.work);
        (cost, work)
    }
}

/// How many variables may be evaluated inside of each other; behind longer rows of variables the first ones go first.
const MAX_NESTED: usize = 8;

/// How many questions without an answer are remembered.
const MAX_UNANSWERED: usize = 64;

/// What expressions read.
pub(super) struct Scope<'a> {
    pub(super) request: &'a AdmissionRequest,
    pub(super) world: WorldView<'a>,
    pub(super) object: &'a Value,
    pub(super) form: Form,
    pub(super) old_object: &'a Value,
    /// Null where the rule has none.
    pub(super) params: &'a Value,
    /// What exceptions allow; null where nobody can ask.
    pub(super) exceptions: &'a Value,
    /// The namespace of the object, if anybody asks for it.
    pub(super) namespace: Namespace<'a>,
    pub(super) variables: &'a [Variable],
    pub(super) values: Values<'a>,
    pub(super) made: OnceCell<Value>,
    pub(super) spent: &'a Cell<Spent>,
    pub(super) inputs: Inputs,
    pub(super) notes: RefCell<Notes>,
    /// What the world does not know, and somebody asked for. It need not have stopped anything.
    pub(super) unanswered: RefCell<Vec<EvalError>>,
}

/// How many variables need no heap.
const FEW: usize = 3;

/// What variables are, as far as somebody has read them.
#[derive(Default)]
pub(super) struct Values<'a> {
    few: [OnceCell<Result<Val<'a>, CelFailure>>; FEW],
    more: Vec<OnceCell<Result<Val<'a>, CelFailure>>>,
}

impl<'a> Values<'a> {
    /// Returns room for what `variables` are.
    pub(super) fn of(variables: &[Variable]) -> Self {
        let more = variables.iter().skip(FEW).map(|_| OnceCell::new()).collect();
        Self { few: Default::default(), more }
    }

    fn get(&self, index: usize) -> Option<&OnceCell<Result<Val<'a>, CelFailure>>> {
        self.few.get(index).or_else(|| self.more.get(index.checked_sub(FEW)?))
    }
}

/// What the object is to expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// What it is written as.
    #[default]
    Plain,
    /// The same, and nobody asked for anything to be done with it.
    Payload,
    /// A request over HTTP, all fields of which exist.
    Http,
    /// A request that Envoy asks about, all fields of which exist.
    Envoy,
}

/// The namespace of an object.
pub(super) enum Namespace<'a> {
    Known(&'a Value),
    /// There is none, or no object is known for it.
    None,
    Unknown(EvalError),
}

/// Why an expression has no result.
pub(super) enum Stopped {
    /// It does not fit the object.
    Failed(String),
    /// Nobody can say.
    Error(EvalError),
}

impl<'a> Scope<'a> {
    /// Evaluates `expression`; `what` is what the trace calls it.
    pub(super) fn evaluate(
        &'a self,
        expression: &'a Expression,
        what: impl FnOnce() -> String,
    ) -> Result<Val<'a>, Stopped> {
        self.notes.borrow_mut().open();
        let result = self.run(expression);
        self.notes.borrow_mut().close(|| note(expression, what(), &result));
        result.map_err(|error| self.stopped(expression, &error))
    }

    fn run(&'a self, expression: &'a Expression) -> Result<Val<'a>, cel::CelError> {
        let spent = self.spent.get();
        let (available, work) = spent.available();
        let mut cost = CelCost::new(EXPRESSION_LIMIT)
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
        self.spent.set(Spent {
            cost: spent.cost.saturating_add(cost.used()),
            bytes: spent.bytes.saturating_add(bytes.saturating_sub(cost.bytes_left())),
            work: spent.work.saturating_add(work.saturating_sub(cost.work_left())),
            is_out: spent.is_out || cost.is_out_of_work() || cost.used() > available,
            is_interrupted: spent.is_interrupted || cost.is_interrupted(),
            ..spent
        });
        result
    }

    /// Runs `make` with what is left of the bytes of the rule.
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
        self.spent.set(Spent { bytes: spent.bytes.saturating_add(budget.bytes_used()), ..spent });
        made
    }

    fn stopped(&self, expression: &Expression, error: &cel::CelError) -> Stopped {
        if let CelErrorKind::Host(number) = error.kind
            && let Some(unanswered) = self.unanswered.borrow().get(number as usize)
        {
            return Stopped::Error(unanswered.clone());
        }
        let message = format!("expression '{}' resulted in error: {}", expression.text, error.message);
        match error.kind {
            CelErrorKind::Limit => Stopped::Error(EvalError::limit(message)),
            _ => Stopped::Failed(message),
        }
    }

    /// Returns the failure by which `error` is found again if it turns out to be why an expression has no result.
    pub(super) fn not_known(&self, error: EvalError) -> CelFailure {
        let message = error.message.clone();
        let mut unanswered = self.unanswered.borrow_mut();
        let known = unanswered.iter().position(|known| known.kind == error.kind);
        let number = known.unwrap_or(unanswered.len());
        if number == unanswered.len() && number < MAX_UNANSWERED {
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
        if cell.get().is_none() && variable.depth > MAX_NESTED {
            self.read_before(index);
        }
        cell.get_or_init(|| self.value(variable)).clone()
    }

    fn value(&'a self, variable: &'a Variable) -> Result<Val<'a>, CelFailure> {
        self.notes.borrow_mut().open();
        let result = self.run(&variable.expression);
        self.notes.borrow_mut().close(|| note(&variable.expression, variable.name.to_string(), &result));
        result.map_err(|error| {
            let message = format!("composited variable {:?} fails to evaluate: {error}", variable.short());
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
        let resource = resource_of(kind);
        let resource = resource.get("resource").and_then(Value::as_str).unwrap_or_default();
        resource_check(&kind.group, resource, subresource, namespace, name)
    }

    fn namespace(&'a self) -> Result<Val<'a>, CelFailure> {
        match &self.namespace {
            Namespace::Known(namespace) => Ok(Val::borrowed(namespace)),
            Namespace::None if self.request.namespace.is_empty() => Ok(Val::Null),
            // Outside a cluster nobody may know more about it than its name.
            Namespace::None => {
                let metadata = Map::from([("name", Value::String(self.request.namespace.clone()))]);
                let empty = || Value::from(Map::new());
                let namespace =
                    Map::from([("metadata", metadata.into()), ("spec", empty()), ("status", empty())]);
                Ok(Val::from(Value::from(namespace)))
            }
            Namespace::Unknown(error) => Err(self.not_known(error.clone())),
        }
    }
}

impl<'a> LazyVariables<'a> for Scope<'a> {
    fn find(&'a self, name: &str) -> Result<Option<Val<'a>>, CelFailure> {
        Ok(Some(match name {
            "object" => match self.form {
                Form::Plain | Form::Payload => Val::borrowed(self.object),
                Form::Http => http_request(self.object),
                Form::Envoy => envoy_request(self.object),
            },
            "oldObject" => Val::borrowed(self.old_object),
            "params" => Val::borrowed(self.params),
            "exceptions" => Val::borrowed(self.exceptions),
            // What is no object was asked about by nobody, and is in no namespace.
            "request" | "namespaceObject" if self.form == Form::Payload => Val::Null,
            "request" => Val::borrowed(self.made.get_or_init(|| request::value(self.request))),
            "namespaceObject" => self.namespace()?,
            "authorizer" => authorizer(),
            "authorizer.requestResource" => self.request_resource(),
            name => match self.position(name) {
                Some(index) => self.variable(index)?,
                None => return Ok(None),
            },
        }))
    }
}

impl Variable {
    /// Returns the name without `variables.`.
    pub(super) fn short(&self) -> &str {
        self.name.strip_prefix("variables.").unwrap_or(&self.name)
    }
}

fn note(expression: &Expression, what: String, result: &Result<Val<'_>, cel::CelError>) -> Note {
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
    Note {
        what,
        found,
        wanted: expression.text.trim().to_owned(),
        verdict,
        at: expression.path.clone(),
        children: Vec::new(),
    }
}
