//! CEL, the Common Expression Language, such as
//! `object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))`.
//!
//! An expression is compiled once and evaluated often. Compiling finds unknown names, wrong numbers of
//! arguments and types that cannot fit; evaluating borrows the objects it is given and counts what it
//! costs as the API server does.
//!
//! The available functions are defined by the [`CelEnvironment`]: the standard ones are always
//! there, libraries are added to it.

mod ast;
mod bindings;
mod cost;
mod environment;
mod error;
mod eval;
mod explain;
mod function;
mod lex;
pub mod library;
mod parse;
mod plan;
mod reads;
mod rewrite;
mod standard;
mod structures;
mod time;
mod val;
mod written_kinds;

use std::fmt;
use std::sync::Arc;

pub use bindings::{CelBindings, LazyVariables};
pub use cost::{CelCost, CostExceeded, WORK_PER_STEP, traversal_cost};
pub use environment::{CelEnvironment, CelType, FieldTypes, MacroSet, Shorthand, ShorthandArguments};
pub use error::{CelCompileError, CelCompileErrorKind, CelError, CelErrorKind, CelFailure};
pub use explain::{CelLoopElement, CelReason};
pub use function::{CallCost, CelCallContext, CelFunctionBody, CelFunctions, CelOverload, Host};
pub use kubewright_golib::inputs::Inputs;
use kubewright_value::Text;
pub use lex::{UnclosedExpression, closing_brace};
pub use library::CelLibrary;
pub use parse::RESERVED_WORDS;
pub use reads::{ANY_STEP, FieldComparison, FieldRead};
pub use rewrite::CelPathChange;
pub use structures::{StructureField, StructureFieldValue};
pub use time::Timestamp;
pub use val::{CelKind, ListVal, MapEntries, MapVal, Opaque, Val};

/// A compiled expression.
#[derive(Clone)]
pub struct CelProgram {
    source: Arc<str>,
    root: Arc<ast::CelExpr>,
    environment: CelEnvironment,
    planned: Arc<plan::PlannedProgram>,
}

impl CelProgram {
    /// Compiles `text` in `environment`.
    ///
    /// # Errors
    /// With all errors found, at least one.
    pub fn compile(text: &str, environment: &CelEnvironment) -> Result<Self, Vec<CelCompileError>> {
        let root = parse::parse_cel(text).map_err(|bad| vec![bad.located(text)])?;
        let planned = Arc::new(plan::plan_program(&root, text, environment, Vec::new())?);
        Ok(Self { source: text.into(), root: Arc::new(root), environment: environment.clone(), planned })
    }

    /// Returns the text of the expression.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the static type of the result.
    #[must_use]
    pub fn result_type(&self) -> &CelType {
        &self.planned.result
    }

    /// Returns whether the expression only reads a variable or a part of it.
    #[must_use]
    pub fn is_plain_read(&self) -> bool {
        matches!(
            self.root.node,
            ast::CelNode::Identifier { .. } | ast::CelNode::Select { .. } | ast::CelNode::Index { .. }
        )
    }

    /// Replaces the environment, which is used again when the program is rewritten, by `environment`, which must have
    /// everything the program uses. So programs compiled one after the other, each with one more variable, share one.
    pub fn share_environment(&mut self, environment: &CelEnvironment) {
        self.environment = environment.clone();
    }

    /// Returns the names of the variables that the expression reads.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.planned.variables.iter().map(Text::as_str)
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// When a variable is not bound, a value has a wrong type or cannot be used, or a limit is reached.
    pub fn evaluate<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<Val<'a>, CelError> {
        let planned = &self.planned;
        eval::CelEvaluator::new(bindings, &planned.variables, planned.slots, cost)
            .forgiving(self.environment.is_forgiving())
            .eval(&planned.plan)
            .map_err(|failure| failure.located(&self.source))
    }
}

impl fmt::Debug for CelProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CelProgram({:?})", self.source)
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
