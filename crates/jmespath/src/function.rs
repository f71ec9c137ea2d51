//! The functions an expression may call, as a table that a dialect can extend.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use kubewright_value::{Budget, Number, Value};

use super::ast::Expr;
use super::{Inputs, eval, kubernetes, standard};

mod failure;
mod signature;

pub use failure::Failure;
pub use signature::{Accepts, Signature};

pub(super) type Body = dyn Fn(&[Argument<'_>], &mut Budget) -> Result<Value, Failure> + Send + Sync;

/// Makes a body for a call of which some arguments are literals. They are checked as all others
/// when it is called.
type Prepare = fn(&[Option<&Value>]) -> Option<Box<Body>>;

/// The functions that can be called. A copy is cheap.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    known: Arc<BTreeMap<Cow<'static, str>, Arc<Function>>>,
}

/// A function of a [`Functions`] table.
pub(super) struct Function {
    name: Cow<'static, str>,
    signature: Signature,
    body: Box<Body>,
    prepare: Option<Prepare>,
    is_volatile: bool,
}

/// A function that needs nothing from a caller, as the tables of this crate list it.
pub(super) struct Builtin {
    name: &'static str,
    signature: Signature,
    body: fn(&[Argument<'_>], &mut Budget) -> Result<Value, Failure>,
    prepare: Option<Prepare>,
    is_volatile: bool,
}

/// A call in an expression.
pub(super) struct Call {
    function: Arc<Function>,
    /// Made when the expression was parsed; does what the function does, and faster.
    prepared: Option<Box<Body>>,
}

/// Returns an entry of a table.
pub(super) const fn builtin(
    name: &'static str,
    takes: &'static [Accepts],
    returns: &'static str,
    help: &'static str,
    body: fn(&[Argument<'_>], &mut Budget) -> Result<Value, Failure>,
) -> Builtin {
    Builtin {
        name,
        signature: Signature::fixed(takes, returns, help),
        body,
        prepare: None,
        is_volatile: false,
    }
}

impl Builtin {
    pub(super) const fn variadic(mut self) -> Self {
        self.signature.repeat_last();
        self
    }

    /// Marks a function whose result depends on the time or on a random seed.
    pub(super) const fn volatile(mut self) -> Self {
        self.is_volatile = true;
        self
    }

    /// Lets `prepare` look at the literals of a call when an expression is parsed.
    pub(super) const fn preparing(mut self, prepare: Prepare) -> Self {
        self.prepare = Some(prepare);
        self
    }
}

/// An argument after evaluation.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A value.
    Value(Cow<'a, Value>),
    /// An expression to be evaluated by the function, as in `sort_by(@, &name)`.
    Reference(Reference<'a>),
}

/// An expression that a function evaluates on values of its choice.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'a>(pub(super) &'a Expr);

impl Functions {
    /// Returns a table without functions.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the functions of the specification.
    #[must_use]
    pub fn standard() -> Self {
        static STANDARD: LazyLock<Functions> = LazyLock::new(|| Functions::of(standard::TABLES));
        STANDARD.clone()
    }

    /// Returns the functions of the specification and those that policy engines add for Kubernetes
    /// objects, such as `regex_match`, `add` for quantities and `semver_compare`.
    ///
    /// Some of the specification are others here, as policies were written against them: `sum` takes
    /// quantities and durations, and refuses an empty array; `to_number` and `to_string` read and write
    /// as Go does. What needs a clock or chance fails until [`Functions::with_inputs`] gives it.
    #[must_use]
    pub fn kubernetes() -> Self {
        static KUBERNETES: LazyLock<Functions> =
            LazyLock::new(|| Functions::of(&[standard::TABLES, kubernetes::TABLES].concat()));
        KUBERNETES.clone()
    }

    /// Gives the functions of [`Functions::kubernetes`] what no function can know by itself: the present
    /// moment for `time_now`, `time_now_utc` and `time_since`, and a seed for `random`.
    #[must_use]
    pub fn with_inputs(self, inputs: Inputs) -> Self {
        kubernetes::with_inputs(self, inputs)
    }

    /// Adds the function `name`, or replaces it.
    ///
    /// Its arguments have been checked against `signature` when `body` is called. The call itself
    /// is charged; what grows with the arguments has to be charged by `body`.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        signature: Signature,
        body: impl Fn(&[Argument<'_>], &mut Budget) -> Result<Value, Failure> + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        let is_volatile = self.get(&name).is_some_and(|replaced| replaced.is_volatile);
        let body = Box::new(body);
        let function = Function { name: name.clone(), signature, body, prepare: None, is_volatile };
        Arc::make_mut(&mut self.known).insert(name, Arc::new(function));
        self
    }

    /// Replaces the body of the function `name`, if there is one.
    pub(super) fn instead(
        self,
        name: &'static str,
        body: impl Fn(&[Argument<'_>], &mut Budget) -> Result<Value, Failure> + Send + Sync + 'static,
    ) -> Self {
        match self.signature(name).cloned() {
            Some(signature) => self.with(name, signature, body),
            None => self,
        }
    }

    /// Of two functions of one name the later one counts.
    fn of(tables: &[&[Builtin]]) -> Self {
        let functions = tables.iter().copied().flatten().map(|builtin| {
            let name = Cow::Borrowed(builtin.name);
            let (signature, prepare) = (builtin.signature.clone(), builtin.prepare);
            let (body, is_volatile) = (Box::new(builtin.body), builtin.is_volatile);
            let function = Function { name: name.clone(), signature, body, prepare, is_volatile };
            (name, Arc::new(function))
        });
        Self { known: Arc::new(functions.collect()) }
    }

    /// Returns the names of all functions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(AsRef::as_ref)
    }

    /// Returns what the function `name` takes and returns.
    #[must_use]
    pub fn signature(&self, name: &str) -> Option<&Signature> {
        self.get(name).map(|function| &function.signature)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<Function>> {
        self.known.get(name)
    }

    /// Returns the function that `name` was probably meant to be: the same but for case, `_` and `-`.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let wanted = plain(name);
        self.names().find(|known| plain(known) == wanted)
    }
}

impl Function {
    pub(super) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(super) fn is_volatile(&self) -> bool {
        self.is_volatile
    }
}

impl Call {
    /// Returns a call of `function` with these arguments, of which the literals are known.
    pub(super) fn new(function: Arc<Function>, literals: &[Option<&Value>]) -> Self {
        let prepared = function.prepare.and_then(|prepare| prepare(literals));
        Self { function, prepared }
    }

    /// Checks the types of `arguments` and calls the function.
    pub(super) fn call(&self, arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
        let Function { name, signature, body, .. } = &*self.function;
        for (i, argument) in arguments.iter().enumerate() {
            let accepts = signature.accepts(i);
            if !accepts.admits(argument, budget)? {
                let number = i + 1;
                let message = format!("argument {number} of `{name}` must be {accepts}, not {argument}");
                return Err(Failure::wrong_type(message).about(i));
            }
        }
        // Looking at long text takes time, whatever comes of it.
        let looked_at: usize = arguments.iter().map(|argument| argument.text().len()).sum();
        budget.step(looked_at as u64 / BYTES_PER_STEP)?;
        self.prepared.as_ref().unwrap_or(body)(arguments, budget)
    }
}

/// How many bytes of the texts that a function is given are a step.
const BYTES_PER_STEP: u64 = 32;

impl Argument<'_> {
    /// Returns the value; null for a reference, which a signature refuses unless it asks for it.
    #[must_use]
    pub fn value(&self) -> &Value {
        static NULL: Value = Value::Null;
        match self {
            Self::Value(value) => value,
            Self::Reference(_) => &NULL,
        }
    }

    /// Returns the text; empty for anything but a string.
    #[must_use]
    pub fn text(&self) -> &str {
        self.value().as_str().unwrap_or_default()
    }

    /// Returns the number; 0 for anything but a number.
    #[must_use]
    pub fn number(&self) -> Number {
        self.value().as_number().unwrap_or(Number::Int(0))
    }

    /// Returns the items; none for anything but an array.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        self.value().as_array().unwrap_or_default()
    }

    /// Evaluates a reference on `value`; a value is returned as it is.
    ///
    /// # Errors
    /// As the expression.
    pub fn apply(&self, value: &Value, budget: &mut Budget) -> Result<Value, Failure> {
        match self {
            Self::Reference(reference) => reference.apply(value, budget),
            Self::Value(value) => Ok(value.clone().into_owned()),
        }
    }
}

/// What it is, with its article.
impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.write_str(signature::with_article(value.kind())),
            Self::Reference(_) => f.write_str("an expression"),
        }
    }
}

impl Reference<'_> {
    /// Evaluates the expression on `value`.
    ///
    /// # Errors
    /// As the expression.
    pub fn apply(&self, value: &Value, budget: &mut Budget) -> Result<Value, Failure> {
        eval::eval(budget, self.0, value).map(Cow::into_owned)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({})", self.function.name)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}
