//! Rules in CEL: expressions that must hold, with variables, preconditions and parameters.
//!
//! Everything is compiled when the policy is loaded; a rule for controllers is the same expressions with other
//! paths in them. A mistake in an expression is a diagnostic of the policy, not a violation by every object.

mod compile;
mod environment;
mod evaluate;
mod host;
mod params;
mod paths;
mod request;
mod scope;

pub(super) use compile::{Parts, Problem, compile, conditions};
pub(super) use environment::Environments;
use kubewright_lang::cel::Program;
use kubewright_value::{Step, Text};

use super::source::Workload;
use params::Params;

/// A rule in CEL.
pub(super) struct CelCheck {
    preconditions: Vec<Condition>,
    variables: Vec<Variable>,
    expressions: Vec<Assertion>,
    params: Option<Params>,
    /// Whether anything in it reads the namespace of the object.
    needs_namespace: bool,
    /// Whether somebody else checks it: a ValidatingAdmissionPolicy was made of it.
    is_elsewhere: bool,
}

/// Conditions that must all hold before anything else is asked.
#[derive(Default)]
pub(super) struct Conditions(Vec<Condition>);

impl Conditions {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A compiled expression.
#[derive(Clone)]
struct Expression {
    program: Program,
    /// As messages show it.
    text: String,
    /// Where it stands in the document.
    path: Vec<Step>,
}

#[derive(Clone)]
struct Condition {
    name: Text,
    expression: Expression,
}

/// A name for an expression, which is evaluated when it is read, and once.
#[derive(Clone)]
struct Variable {
    /// `variables.NAME`
    name: Text,
    expression: Expression,
    /// How many variables stand behind each other until one reads no other.
    depth: usize,
}

/// What must hold, and what is said when it does not.
#[derive(Clone)]
struct Assertion {
    expression: Expression,
    /// May be empty.
    message: String,
    message_expression: Option<Expression>,
    /// The part of the object that it is about, as far as that can be told; empty for all of it.
    about: Vec<Step>,
}

impl CelCheck {
    /// Returns what tests can leave out.
    pub(super) fn branches(&self) -> Vec<(String, Vec<Step>)> {
        let preconditions = self
            .preconditions
            .iter()
            .map(|one| (format!("celPreconditions {}", one.name), one.expression.path.clone()));
        let expressions = self
            .expressions
            .iter()
            .enumerate()
            .map(|(index, one)| (format!("expressions[{index}]"), one.expression.path.clone()));
        preconditions.chain(expressions).collect()
    }
}

impl Expression {
    fn rebased(&self, to: Workload) -> Self {
        if to == Workload::Pod {
            return self.clone();
        }
        let program = self.program.rewritten(&|keys| paths::rebased(keys, to));
        Self {
            program: program.unwrap_or_else(|| self.program.clone()),
            text: paths::rebased_text(&self.text, to),
            path: self.path.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
