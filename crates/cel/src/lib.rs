//! CEL, the Common Expression Language, such as
//! `object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))`.
//!
//! An expression is compiled once and evaluated often. Compiling finds unknown names, wrong numbers of
//! arguments and types that cannot fit; evaluating borrows the objects it is given and counts what it
//! costs as the API server does.
//!
//! Which functions exist is the choice of who makes the [`Environment`]: the standard ones are always
//! there, libraries are added.

mod ast;
mod bindings;
mod cost;
mod environment;
mod error;
mod eval;
mod function;
mod lex;
pub mod library;
mod parse;
mod plan;
mod reads;
mod rewrite;
mod standard;
mod time;
mod val;

use std::fmt;
use std::sync::Arc;

pub use bindings::{Bindings, Variables};
pub use cost::{Cost, Exceeded, WORK_PER_STEP, traversal};
pub use environment::{Environment, Fields, Macros, Shorthand, Takes, Type};
pub use error::{CompileError, CompileErrorKind, EvalError, EvalErrorKind, Failure};
pub use function::{Body, Call, CallCost, Functions, Host, Overload};
pub use kubewright_golib::inputs::Inputs;
use kubewright_value::Text;
pub use lex::{Unclosed, closing_brace};
pub use library::Library;
pub use parse::RESERVED;
pub use reads::{ANY, Compared, Read};
pub use rewrite::Change;
pub use time::Timestamp;
pub use val::{Entries, Kind, List, MapVal, Opaque, Val};

/// A compiled expression.
#[derive(Clone)]
pub struct Program {
    source: Arc<str>,
    root: Arc<ast::Expr>,
    environment: Environment,
    planned: plan::Planned,
}

impl Program {
    /// Compiles `text`, which may use what `environment` has.
    ///
    /// # Errors
    /// With everything that is wrong, at least one error.
    pub fn compile(text: &str, environment: &Environment) -> Result<Self, Vec<CompileError>> {
        let root = parse::parse(text).map_err(|bad| vec![bad.located(text)])?;
        let planned = plan::plan(&root, text, environment)?;
        Ok(Self { source: text.into(), root: Arc::new(root), environment: environment.clone(), planned })
    }

    /// Returns the text it was compiled from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns what is known about the type of the result.
    #[must_use]
    pub fn result_type(&self) -> &Type {
        &self.planned.result
    }

    /// Keeps `environment`, which has all that this uses, for when it is rewritten. Programs that were compiled one
    /// after the other, each with one more variable, share the last one then.
    pub fn share(&mut self, environment: &Environment) {
        self.environment = environment.clone();
    }

    /// Returns the variables that it reads.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.planned.variables.iter().map(Text::as_str)
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// When a variable is not bound, a value is of a wrong type or cannot be used, or it costs too much.
    pub fn evaluate<'a>(&'a self, bindings: &Bindings<'a>, cost: &mut Cost) -> Result<Val<'a>, EvalError> {
        let planned = &self.planned;
        eval::Run::new(bindings, &planned.variables, planned.slots, cost)
            .forgiving(self.environment.is_forgiving())
            .eval(&planned.plan)
            .map_err(|failure| failure.located(&self.source))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({:?})", self.source)
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
