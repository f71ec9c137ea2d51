//! CEL expressions of policies: match conditions, variables, validations and parameters.
//!
//! Everything is compiled when a policy is loaded; expressions written for Pods become the same expressions with other
//! paths for the controllers that make Pods. A mistake in an expression is a diagnostic of the policy, not a violation
//! by every object.

pub mod compile;
pub mod diagnostics;
mod downstream;
mod environment;
mod generate;
mod host;
mod judge;
mod mutate;
mod params;
mod paths;
mod reasons;
pub mod request;
mod respond;
mod scope;
pub mod source;
mod template;

pub use compile::{ExpressionCompiler, ExpressionProblem};
pub use downstream::{DownstreamOrigin, DownstreamTrigger, drop_own_metadata, put_downstream_labels};
pub use environment::{AvailableVariables, Environments, unknown_variable_field};
pub use generate::{GenerateResult, GenerateStep, GeneratedObject};
pub use host::VerifiedImages;
pub use judge::{CheckResult, ConditionResult, ExpressionSubject, Violation, evaluate_match_conditions};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use kubewright_cel::CelProgram;
use kubewright_value::{Step, Text};
pub use mutate::{CelMutation, MutationLanguage, PatchApplier};
pub use params::{ParamWords, Params};
pub use paths::rebase_text;
pub use respond::CheckResponseValue;
pub use scope::{ObjectForm, SpentCost};
pub use template::ObjectTemplate;

use kubewright_k8s::PodTemplatePath;

/// The compiled expressions of one rule.
#[derive(Clone, Default)]
pub struct CelChecks {
    /// The match conditions, which are evaluated first.
    pub conditions: Vec<NamedCondition>,
    /// Names for expressions, in the order in which they are written.
    pub variables: Vec<LazyVariable>,
    /// The validations.
    pub assertions: Vec<CelAssertion>,
    /// The mutations; most rules have none, and one reference is small.
    pub mutations: Arc<Vec<CelMutation>>,
    /// `auditAnnotations`
    pub annotations: Vec<NamedCondition>,
    /// Which expressions may fail without a violation.
    pub leniency: Leniency,
    /// The wording of messages.
    pub wording: Wording,
    /// Whether the conditions are evaluated before the namespace is looked up; it is null in them.
    pub is_namespace_late: bool,
    /// Whether anything in it reads the namespace of the object.
    pub needs_namespace: bool,
}

impl CelChecks {
    /// Returns the message of the only validation, as its author wrote it; empty where there are several.
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

/// The wording of messages.
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
pub struct CelExpression {
    program: CelProgram,
    /// As messages show it.
    text: String,
    /// The path of the expression in the document.
    path: Vec<Step>,
}

/// An expression with a name.
#[derive(Clone)]
pub struct NamedCondition {
    name: Text,
    expression: CelExpression,
}

/// A name for an expression, which is evaluated when it is read, and once.
#[derive(Clone)]
pub struct LazyVariable {
    /// `variables.NAME`
    name: Text,
    expression: CelExpression,
    /// The length of the longest chain of variables that this one reads.
    depth: usize,
}

/// A validation: an expression that must hold, and its message.
#[derive(Clone)]
pub struct CelAssertion {
    expression: CelExpression,
    /// May be empty.
    message: String,
    message_expression: Option<CelExpression>,
    /// See [`CelAssertion::about`].
    about: OnceLock<Vec<Step>>,
}

/// The checks of a rule for one kind of workload. They are made from those for Pods when they are first asked for: many
/// rules for controllers never see an object.
pub struct WorkloadChecks {
    written: Arc<CelChecks>,
    workload: PodTemplatePath,
    rebased: OnceLock<CelChecks>,
}

impl WorkloadChecks {
    /// Returns the checks `written` for Pods, as they are for `workload`.
    #[must_use]
    pub fn new(written: &Arc<CelChecks>, workload: PodTemplatePath) -> Self {
        Self { written: Arc::clone(written), workload, rebased: OnceLock::new() }
    }
}

impl Deref for WorkloadChecks {
    type Target = CelChecks;

    fn deref(&self) -> &CelChecks {
        match self.workload {
            PodTemplatePath::Pod => &self.written,
            workload => self.rebased.get_or_init(|| self.written.rebased(workload)),
        }
    }
}

impl CelChecks {
    /// Returns the same for `to`, where it was written for Pods.
    #[must_use]
    pub fn rebased(&self, to: PodTemplatePath) -> Self {
        let conditions = |list: &[NamedCondition]| list.iter().map(|one| one.rebased(to)).collect();
        let variable =
            |one: &LazyVariable| LazyVariable { expression: one.expression.rebased(to), ..one.clone() };
        Self {
            conditions: conditions(&self.conditions),
            variables: self.variables.iter().map(variable).collect(),
            assertions: self.assertions.iter().map(|one| one.rebased(to)).collect(),
            mutations: Arc::clone(&self.mutations),
            annotations: conditions(&self.annotations),
            leniency: self.leniency,
            wording: self.wording,
            is_namespace_late: self.is_namespace_late,
            needs_namespace: false,
        }
        .finished()
    }

    /// Returns the checks with the derived fields filled in.
    #[must_use]
    pub fn finished(mut self) -> Self {
        let reads_namespace =
            |program: &CelProgram| program.variable_names().any(|name| name == "namespaceObject");
        let needs_namespace = self.programs().any(reads_namespace);
        self.needs_namespace = needs_namespace;
        self
    }

    /// Returns the branches that tests can leave out; `conditions` and `assertions` are the policy's names for its lists.
    #[must_use]
    pub fn branches(&self, conditions: &str, assertions: &str) -> Vec<(String, Vec<Step>)> {
        let condition =
            |one: &NamedCondition| (format!("{conditions} {}", one.name), one.expression.path.clone());
        let assertion = |(index, one): (usize, &CelAssertion)| {
            (format!("{assertions}[{index}]"), one.expression.path.clone())
        };
        let mutation = |(index, one): (usize, &CelMutation)| {
            (format!("{assertions}[{index}]"), one.expression().path.clone())
        };
        let conditions = self.conditions.iter().map(condition);
        let mutations = self.mutations.iter().enumerate().map(mutation);
        conditions.chain(self.assertions.iter().enumerate().map(assertion)).chain(mutations).collect()
    }

    fn programs(&self) -> impl Iterator<Item = &CelProgram> {
        let conditions = self.conditions.iter().chain(&self.annotations).map(|one| &one.expression);
        let variables = self.variables.iter().map(|one| &one.expression);
        let messages = self.assertions.iter().filter_map(|one| one.message_expression.as_ref());
        let assertions = self.assertions.iter().map(|one| &one.expression);
        let mutations = self.mutations.iter().map(CelMutation::expression);
        conditions.chain(variables).chain(assertions).chain(messages).chain(mutations).map(|one| &one.program)
    }
}

impl NamedCondition {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the same for `to`, where it was written for Pods.
    #[must_use]
    pub fn rebased(&self, to: PodTemplatePath) -> Self {
        Self { name: self.name.clone(), expression: self.expression.rebased(to) }
    }
}

impl CelAssertion {
    fn rebased(&self, to: PodTemplatePath) -> Self {
        Self {
            expression: self.expression.rebased(to),
            message: paths::rebase_text(&self.message, to),
            message_expression: self.message_expression.as_ref().map(|one| one.rebased(to)),
            about: OnceLock::new(),
        }
    }

    /// Returns the part of the object that the expression reads, as far as it can be derived; empty for all of it.
    fn about(&self) -> &[Step] {
        self.about.get_or_init(|| paths::common_object_path(&self.expression.program))
    }
}

impl CelExpression {
    fn rebased(&self, to: PodTemplatePath) -> Self {
        if to == PodTemplatePath::Pod {
            return self.clone();
        }
        let program = self.program.rewritten(&|keys| paths::rebase_path(keys, to));
        Self {
            program: program.unwrap_or_else(|| self.program.clone()),
            text: paths::rebase_text(&self.text, to),
            path: self.path.clone(),
        }
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
