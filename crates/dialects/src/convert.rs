//! From rules in patterns and conditions to policies in CEL: what can be written, and why the rest cannot.

pub(crate) mod expressions;

use kubewright_value::{Step, Text};

/// What a rule checks, in CEL alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expressions {
    /// Each becomes a `variables` entry: its name and expression; validations read `variables.NAME`.
    pub(crate) variables: Vec<(Text, String)>,
    /// Each must hold before the rule says anything: its name and expression.
    pub(crate) conditions: Vec<(Text, String)>,
    /// Each must hold.
    pub(crate) validations: Vec<Validation>,
}

/// An expression that must hold, and what is said when it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Validation {
    pub(crate) expression: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<String>,
}

/// Why a rule, or a part of it, has no exact equivalent: said to the user, at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inexpressible {
    pub(crate) why: String,
    pub(crate) path: Vec<Step>,
}
