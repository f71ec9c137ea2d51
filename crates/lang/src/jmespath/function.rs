//! The functions an expression may call, as a table that a dialect can extend.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kubewright_value::{Budget, Number, Value};

use super::ast::Expr;
use super::{eval, kubernetes, standard};

mod failure;
mod signature;

pub use failure::Failure;
pub use signature::{Accepts, Signature};

type Body = dyn Fn(&[Argument<'_>], &mut Budget) -> Result<Value, Failure> + Send + Sync;

/// The functions that can be called.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    known: BTreeMap<Cow<'static, str>, Arc<Function>>,
}

/// A function of a [`Functions`] table.
pub(super) struct Function {
    name: Cow<'static, str>,
    signature: Signature,
    body: Box<Body>,
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
        standard::add_to(Self::none())
    }

    /// Returns the functions of the specification and those that policy engines add for Kubernetes
    /// objects, such as `regex_match`, `add` for quantities and `semver_compare`.
    ///
    /// `sum` is another one here: it takes quantities and durations, and refuses an empty array.
    #[must_use]
    pub fn kubernetes() -> Self {
        kubernetes::add_to(Self::standard())
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
        let function = Function { name: name.clone(), signature, body: Box::new(body) };
        self.known.insert(name, Arc::new(function));
        self
    }

    /// Returns the names of all functions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(AsRef::as_ref)
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

    /// Checks the types of `arguments` and calls the function.
    pub(super) fn call(&self, arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
        for (i, argument) in arguments.iter().enumerate() {
            let accepts = self.signature.accepts(i);
            if !accepts.admits(argument, budget)? {
                let (number, name) = (i + 1, &self.name);
                let message = format!("argument {number} of `{name}` must be {accepts}, not {argument}");
                return Err(Failure::wrong_type(message).about(i));
            }
        }
        (self.body)(arguments, budget)
    }
}

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

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}
