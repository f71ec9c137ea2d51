//! Expressions in CEL that policies are made of: what must hold, under which conditions, with variables and parameters.
//!
//! Everything is compiled when a policy is loaded; what is written for Pods becomes the same expressions with other
//! paths for the controllers that make Pods. A mistake in an expression is a diagnostic of the policy, not a violation
//! by every object.

pub mod compile;
pub mod diagnostics;
mod environment;
mod host;
mod judge;
mod params;
mod paths;
pub mod request;
mod respond;
mod scope;
pub mod source;

pub use compile::{Compiler, Problem};
pub use environment::{Environments, Given, unknown_field};
pub use judge::{Asked, Finding, Subject, Violation, are_met};
use kubewright_cel::CelProgram;
use kubewright_value::{Step, Text};
pub use params::{Params, Words as ParamWords};
pub use respond::Response;
pub use scope::{Form, Spent};

use kubewright_dialect_kit::workload::Workload;

/// Everything that is asked about one object.
#[derive(Clone, Default)]
pub struct Checks {
    /// What must hold before anything else is asked.
    pub conditions: Vec<Condition>,
    /// Names for expressions, in the order in which they are written.
    pub variables: Vec<Variable>,
    /// What must hold.
    pub assertions: Vec<Assertion>,
    /// `auditAnnotations`
    pub annotations: Vec<Condition>,
    /// Which expressions may fail without a violation.
    pub leniency: Leniency,
    /// Whose words messages are in.
    pub wording: Wording,
    /// Whether the conditions are asked before anybody knows the namespace, which is null to them.
    pub is_namespace_late: bool,
    /// Whether anything in it reads the namespace of the object.
    pub needs_namespace: bool,
}

impl Checks {
    /// Returns the message of what must hold, as its author wrote it; empty where there are several.
    #[must_use]
    pub fn message(&self) -> &str {
        match self.assertions.as_slice() {
            [one] => one.message.trim(),
            _ => "",
        }
    }
}

/// Which expressions are passed over when they do not fit the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leniency {
    /// No expression is passed over.
    #[default]
    None,
    /// Conditions are.
    Conditions,
    /// All expressions are.
    Everything,
}

/// Whose words messages are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wording {
    /// The API server's.
    #[default]
    ApiServer,
    /// Those of ValidatingPolicies.
    Policy,
}

/// A compiled expression.
#[derive(Clone)]
pub struct Expression {
    program: CelProgram,
    /// As messages show it.
    text: String,
    /// Where it stands in the document.
    path: Vec<Step>,
}

/// An expression with a name.
#[derive(Clone)]
pub struct Condition {
    name: Text,
    expression: Expression,
}

/// A name for an expression, which is evaluated when it is read, and once.
#[derive(Clone)]
pub struct Variable {
    /// `variables.NAME`
    name: Text,
    expression: Expression,
    /// How many variables stand behind each other until one reads no other.
    depth: usize,
}

/// What must hold, and what is said when it does not.
#[derive(Clone)]
pub struct Assertion {
    expression: Expression,
    /// May be empty.
    message: String,
    message_expression: Option<Expression>,
    /// The part of the object that it is about, as far as that can be told; empty for all of it.
    about: Vec<Step>,
}

impl Checks {
    /// Returns the same for `to`, where it was written for Pods.
    #[must_use]
    pub fn rebased(&self, to: Workload) -> Self {
        let conditions = |list: &[Condition]| list.iter().map(|one| one.rebased(to)).collect();
        let variable = |one: &Variable| Variable { expression: one.expression.rebased(to), ..one.clone() };
        Self {
            conditions: conditions(&self.conditions),
            variables: self.variables.iter().map(variable).collect(),
            assertions: self.assertions.iter().map(|one| one.rebased(to)).collect(),
            annotations: conditions(&self.annotations),
            leniency: self.leniency,
            wording: self.wording,
            is_namespace_late: self.is_namespace_late,
            needs_namespace: false,
        }
        .finished()
    }

    /// Returns it with what is known once all of it is there.
    #[must_use]
    pub fn finished(mut self) -> Self {
        let reads_namespace =
            |program: &CelProgram| program.variable_names().any(|name| name == "namespaceObject");
        let needs_namespace = self.programs().any(reads_namespace);
        self.needs_namespace = needs_namespace;
        self
    }

    /// Returns what tests can leave out; `conditions` and `assertions` are what the policy calls its lists.
    #[must_use]
    pub fn branches(&self, conditions: &str, assertions: &str) -> Vec<(String, Vec<Step>)> {
        let condition = |one: &Condition| (format!("{conditions} {}", one.name), one.expression.path.clone());
        let assertion = |(index, one): (usize, &Assertion)| {
            (format!("{assertions}[{index}]"), one.expression.path.clone())
        };
        let conditions = self.conditions.iter().map(condition);
        conditions.chain(self.assertions.iter().enumerate().map(assertion)).collect()
    }

    fn programs(&self) -> impl Iterator<Item = &CelProgram> {
        let conditions = self.conditions.iter().chain(&self.annotations).map(|one| &one.expression);
        let variables = self.variables.iter().map(|one| &one.expression);
        let messages = self.assertions.iter().filter_map(|one| one.message_expression.as_ref());
        let assertions = self.assertions.iter().map(|one| &one.expression);
        conditions.chain(variables).chain(assertions).chain(messages).map(|one| &one.program)
    }
}

impl Condition {
    /// Returns it without its place, which is none of the policy's.
    #[must_use]
    pub fn of_another_document(mut self) -> Self {
        self.expression.path.clear();
        self
    }

    fn rebased(&self, to: Workload) -> Self {
        Self { name: self.name.clone(), expression: self.expression.rebased(to) }
    }
}

impl Assertion {
    fn rebased(&self, to: Workload) -> Self {
        let expression = self.expression.rebased(to);
        Self {
            about: paths::about(&expression.program),
            message: paths::rebased_text(&self.message, to),
            message_expression: self.message_expression.as_ref().map(|one| one.rebased(to)),
            expression,
        }
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

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
