//! What came out: of one rule, and of all rules together.

use std::fmt;
use std::sync::Arc;

use kubewright_patch as patch;
use kubewright_value::{Exhausted, Location, Step, Text, Value};
use thiserror::Error;

use crate::{About, Query, RuleId, TraceNode};

/// What one rule said about one request.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The verdict.
    pub status: Status,
    /// Why, in one line; empty when there is nothing to say.
    pub message: Text,
    /// The message as the author of the rule wrote it, with its expressions; empty where there is none.
    pub template: Text,
    /// The part of the object the message is about; empty for the whole object.
    pub path: Vec<Step>,
    /// The place in the rule file that decided.
    pub location: Option<Location>,
    /// What the rule changed.
    pub patch: Vec<patch::JsonPatchOperation>,
    /// What the requester is told, where the dialect has words of its own for it.
    pub denial: Option<String>,
    /// Whether the rule was about the object and got as far as judging it. A skip without that says no more than
    /// that the rule is not about the object.
    pub is_judged: bool,
    /// Whether the request is refused because of this outcome.
    pub is_refusal: bool,
    /// The exceptions that made the rule skip the object, each `namespace/name`.
    pub exceptions: Vec<Text>,
    /// What the rule's author says about the rule.
    pub about: Arc<About>,
    /// The tree of what was looked at, when it was asked for.
    pub trace: Option<Box<TraceNode>>,
}

/// The verdict of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// The object is as the rule wants it, perhaps because the rule changed it.
    Pass,
    /// The rule refuses the object.
    Fail,
    /// The rule objects, and lets it pass.
    Warn,
    /// The rule could not answer.
    Error,
    /// The rule is not about this object.
    Skip,
}

impl Status {
    /// Returns the word for it in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Error => "error",
            Self::Skip => "skip",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a rule could not answer. Never a "no".
#[derive(Debug, Clone, Error)]
#[error("{message}")]
pub struct EvalError {
    /// What sort of reason.
    pub kind: EvalErrorKind,
    /// The reason, in the rule language's words.
    pub message: String,
    /// The place in the rule file.
    pub location: Option<Location>,
    /// Whether the request is let pass all the same, because the rule would not have refused it either way.
    pub is_tolerated: bool,
}

/// The sorts of reasons why a rule could not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// The rule does not fit the object.
    Evaluation,
    /// A limit was reached.
    Limit,
    /// The world does not know something the rule needs.
    Query(Box<Query>),
    /// Somebody has looked for something the rule needs, and could not find out.
    Failed,
}

impl EvalError {
    /// Returns an error of the rule itself.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { kind: EvalErrorKind::Evaluation, message: message.into(), location: None, is_tolerated: false }
    }

    /// Returns the error of a rule that reached a limit.
    #[must_use]
    pub fn limit(message: impl Into<String>) -> Self {
        Self { kind: EvalErrorKind::Limit, message: message.into(), location: None, is_tolerated: false }
    }

    /// Returns the error of a rule that needs an answer first.
    #[must_use]
    pub fn unanswered(query: Query) -> Self {
        Self {
            message: format!("{query} is not known here"),
            kind: EvalErrorKind::Query(Box::new(query)),
            location: None,
            is_tolerated: false,
        }
    }

    /// Returns the error of a rule that needs an answer which could not be found out, and why.
    #[must_use]
    pub fn failed(query: &Query, why: &str) -> Self {
        let message = format!("{query} could not be looked up: {why}");
        Self { kind: EvalErrorKind::Failed, ..Self::new(message) }
    }

    /// Returns the error of a rule that asks for what it may not see, and why.
    #[must_use]
    pub fn refused(query: &Query, why: &str) -> Self {
        Self::new(format!("{query} may not be looked up: {why}"))
    }

    /// Returns this error, placed at `location`.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location.get_or_insert(location);
        self
    }
}

impl From<Exhausted> for EvalError {
    fn from(limit: Exhausted) -> Self {
        Self { kind: EvalErrorKind::Limit, message: limit.to_string(), location: None, is_tolerated: false }
    }
}

/// What all rules together said about one request.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Whether no rule refuses the object.
    pub is_allowed: bool,
    /// One for each rule that was considered, in the order in which they ran.
    pub outcomes: Vec<Outcome>,
    /// The object after all changes.
    pub object: Value,
    /// What the caller must find out before the decision is complete.
    pub queries: Vec<Query>,
    /// Whether the steps of [`Settings::total`](crate::Settings::total) were used up, or the time until
    /// [`Settings::deadline`](crate::Settings::deadline), before it was complete. Then nothing is decided.
    pub is_unfinished: bool,
}

impl Decision {
    /// Returns the JSON Patch from `original` to the decided object.
    #[must_use]
    pub fn patch(&self, original: &Value) -> Vec<patch::JsonPatchOperation> {
        patch::diff_values(original, &self.object)
    }

    /// Returns the outcomes with `status`.
    pub fn with_status(&self, status: Status) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(move |outcome| outcome.status == status)
    }
}
