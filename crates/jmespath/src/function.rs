//! The functions that an expression may call, as a table that can be extended.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use kubewright_value::suggest::nearest_misspelling;
use kubewright_value::{Budget, Number, Value};

use super::ast::JmesPathExpr;
use super::{Inputs, eval, kubernetes, standard};

mod failure;
mod signature;

pub use failure::JmesPathFailure;
pub use signature::{ArgumentTypes, JmesPathSignature};

pub(super) type JmesPathFunctionBody =
    dyn Fn(&[JmesPathArgument<'_>], &mut Budget) -> Result<Value, JmesPathFailure> + Send + Sync;

/// Makes a specialized body for a call with literal arguments, such as a compiled regular expression.
/// Literals are checked like other arguments when it is called.
type PrepareBody = fn(&[Option<&Value>]) -> Option<Box<JmesPathFunctionBody>>;

/// The functions that an expression may call. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct JmesPathFunctions {
    known: Arc<BTreeMap<Cow<'static, str>, Arc<JmesPathFunction>>>,
}

/// A function of a [`JmesPathFunctions`] table.
pub(super) struct JmesPathFunction {
    name: Cow<'static, str>,
    signature: JmesPathSignature,
    body: Box<JmesPathFunctionBody>,
    prepare: Option<PrepareBody>,
    is_volatile: bool,
}

/// An entry of this crate's function tables. Its body captures nothing.
pub(super) struct JmesPathBuiltin {
    name: &'static str,
    signature: JmesPathSignature,
    body: fn(&[JmesPathArgument<'_>], &mut Budget) -> Result<Value, JmesPathFailure>,
    prepare: Option<PrepareBody>,
    is_volatile: bool,
}

/// What the functions that an expression calls depend on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CalledFunctions {
    pub(super) has_any: bool,
    /// Whether one depends on the current time or on the random seed.
    pub(super) has_volatile: bool,
}

/// A call in an expression.
pub(super) struct JmesPathCall {
    function: Arc<JmesPathFunction>,
    /// The specialized body for literal arguments, made when the expression was parsed.
    prepared: Option<Box<JmesPathFunctionBody>>,
}

/// Returns an entry of a function table.
pub(super) const fn define_builtin(
    name: &'static str,
    takes: &'static [ArgumentTypes],
    returns: &'static str,
    help: &'static str,
    body: fn(&[JmesPathArgument<'_>], &mut Budget) -> Result<Value, JmesPathFailure>,
) -> JmesPathBuiltin {
    JmesPathBuiltin {
        name,
        signature: JmesPathSignature::fixed(takes, returns, help),
        body,
        prepare: None,
        is_volatile: false,
    }
}

impl JmesPathBuiltin {
    pub(super) const fn variadic(mut self) -> Self {
        self.signature.repeat_last();
        self
    }

    /// Marks a function whose result depends on the time or on a random seed.
    pub(super) const fn volatile(mut self) -> Self {
        self.is_volatile = true;
        self
    }

    /// Sets the function that specializes the body for literal arguments when an expression is parsed.
    pub(super) const fn preparing(mut self, prepare: PrepareBody) -> Self {
        self.prepare = Some(prepare);
        self
    }
}

/// An evaluated argument.
#[derive(Debug)]
pub enum JmesPathArgument<'a> {
    /// A value.
    Value(Cow<'a, Value>),
    /// An expression to be evaluated by the function, as in `sort_by(@, &name)`.
    Reference(ExpressionReference<'a>),
}

/// An expression that a function evaluates on values of its choice.
#[derive(Debug, Clone, Copy)]
pub struct ExpressionReference<'a>(pub(super) &'a JmesPathExpr);

impl JmesPathFunctions {
    /// Returns a table without functions.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the functions of the specification.
    #[must_use]
    pub fn standard() -> Self {
        static STANDARD: LazyLock<JmesPathFunctions> =
            LazyLock::new(|| JmesPathFunctions::of(standard::STANDARD_TABLES));
        STANDARD.clone()
    }

    /// Returns the functions of the specification and those that policy engines add for Kubernetes
    /// objects, such as `regex_match`, `add` for quantities and `semver_compare`.
    ///
    /// Some standard functions are replaced, because policies were written against the replacements: `sum` takes
    /// quantities and durations, and refuses an empty array; `to_number` and `to_string` read and write
    /// as Go does. Functions that need the time or a seed fail until [`JmesPathFunctions::with_inputs`] sets them.
    #[must_use]
    pub fn kubernetes() -> Self {
        static KUBERNETES: LazyLock<JmesPathFunctions> = LazyLock::new(|| {
            JmesPathFunctions::of(&[standard::STANDARD_TABLES, kubernetes::KUBERNETES_TABLES].concat())
        });
        KUBERNETES.clone()
    }

    /// Sets, for the functions of [`JmesPathFunctions::kubernetes`] the current
    /// time for `time_now`, `time_now_utc` and `time_since`, and the seed of `random`.
    #[must_use]
    pub fn with_inputs(self, inputs: Inputs) -> Self {
        kubernetes::add_inputs(self, inputs)
    }

    /// Adds the function `name`, or replaces it.
    ///
    /// The arguments are checked against `signature` before `body` is called. The call itself
    /// is charged; `body` must charge for work that grows with the arguments.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        signature: JmesPathSignature,
        body: impl Fn(&[JmesPathArgument<'_>], &mut Budget) -> Result<Value, JmesPathFailure>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let name = name.into();
        let is_volatile = self.get(&name).is_some_and(|replaced| replaced.is_volatile);
        let body = Box::new(body);
        let function = JmesPathFunction { name: name.clone(), signature, body, prepare: None, is_volatile };
        Arc::make_mut(&mut self.known).insert(name, Arc::new(function));
        self
    }

    /// Replaces the body of the function `name`, if there is one.
    pub(super) fn replace_body(
        self,
        name: &'static str,
        body: impl Fn(&[JmesPathArgument<'_>], &mut Budget) -> Result<Value, JmesPathFailure>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        match self.signature(name).cloned() {
            Some(signature) => self.with(name, signature, body),
            None => self,
        }
    }

    /// Returns the functions of `tables`. Of two functions of one name the later one wins.
    fn of(tables: &[&[JmesPathBuiltin]]) -> Self {
        let functions = tables.iter().copied().flatten().map(|builtin| {
            let name = Cow::Borrowed(builtin.name);
            let (signature, prepare) = (builtin.signature.clone(), builtin.prepare);
            let (body, is_volatile) = (Box::new(builtin.body), builtin.is_volatile);
            let function = JmesPathFunction { name: name.clone(), signature, body, prepare, is_volatile };
            (name, Arc::new(function))
        });
        Self { known: Arc::new(functions.collect()) }
    }

    /// Returns the names of all functions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(AsRef::as_ref)
    }

    /// Returns the signature of the function `name`.
    #[must_use]
    pub fn signature(&self, name: &str) -> Option<&JmesPathSignature> {
        self.get(name).map(|function| &function.signature)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<JmesPathFunction>> {
        self.known.get(name)
    }

    /// Returns the function whose name differs from `name` only in case and underscores, or else the one of which it is
    /// probably a misspelling, as a suggestion.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let wanted = plain(name);
        let same = self.names().find(|known| plain(known) == wanted);
        same.or_else(|| nearest_misspelling(name, self.names()))
    }
}

impl JmesPathFunction {
    pub(super) fn signature(&self) -> &JmesPathSignature {
        &self.signature
    }

    pub(super) fn is_volatile(&self) -> bool {
        self.is_volatile
    }
}

impl JmesPathCall {
    /// Returns a call of `function`; `literals` has the arguments that are literals.
    pub(super) fn new(function: Arc<JmesPathFunction>, literals: &[Option<&Value>]) -> Self {
        let prepared = function.prepare.and_then(|prepare| prepare(literals));
        Self { function, prepared }
    }

    /// Checks the types of `arguments` and calls the function.
    pub(super) fn call(
        &self,
        arguments: &[JmesPathArgument<'_>],
        budget: &mut Budget,
    ) -> Result<Value, JmesPathFailure> {
        let JmesPathFunction { name, signature, body, .. } = &*self.function;
        for (i, argument) in arguments.iter().enumerate() {
            let accepts = signature.accepts(i);
            if !accepts.admits(argument, budget)? {
                let number = i + 1;
                let message = format!("argument {number} of `{name}` must be {accepts}, not {argument}");
                return Err(JmesPathFailure::wrong_type(message).about(i));
            }
        }
        // Reading long strings takes time, whatever the function does.
        let looked_at: usize = arguments.iter().map(|argument| argument.text().len()).sum();
        budget.step(looked_at as u64 / BYTES_PER_STEP)?;
        self.prepared.as_ref().unwrap_or(body)(arguments, budget)
    }
}

/// The bytes of string arguments that count as one step.
const BYTES_PER_STEP: u64 = 32;

impl JmesPathArgument<'_> {
    /// Returns the value; null for a reference, which only some signatures accept.
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
    pub fn apply(&self, value: &Value, budget: &mut Budget) -> Result<Value, JmesPathFailure> {
        match self {
            Self::Reference(reference) => reference.apply(value, budget),
            Self::Value(value) => Ok(value.clone().into_owned()),
        }
    }
}

/// The type with its article, such as `a string`.
impl fmt::Display for JmesPathArgument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => f.write_str(signature::kind_with_article(value.kind())),
            Self::Reference(_) => f.write_str("an expression"),
        }
    }
}

impl ExpressionReference<'_> {
    /// Evaluates the expression on `value`.
    ///
    /// # Errors
    /// As the expression.
    pub fn apply(&self, value: &Value, budget: &mut Budget) -> Result<Value, JmesPathFailure> {
        eval::evaluate_expr(budget, self.0, value).map(Cow::into_owned)
    }
}

impl fmt::Debug for JmesPathCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JmesPathCall({})", self.function.name)
    }
}

impl fmt::Debug for JmesPathFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JmesPathFunction({})", self.name)
    }
}
