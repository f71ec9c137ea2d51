//! Outcomes of rules, and the decision they make together.

use std::fmt;
use std::sync::Arc;

use kubewright_patch as patch;
use kubewright_value::{Exhausted, Location, Step, Text, Value, bounded};
use thiserror::Error;

use crate::{ObjectWrite, Query, RuleId, RuleMetadata, TraceNode};

/// The outcome of one rule for one request.
#[derive(Debug, Clone)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The status.
    pub status: RuleStatus,
    /// What kind of error it is; only for [`RuleStatus::Error`].
    pub error: Option<EvalErrorKind>,
    /// The outcome in plain words, if there are better ones than the message.
    pub reason: Option<Box<OutcomeReason>>,
    /// The message in one line; may be empty.
    pub message: Text,
    /// The message as written in the rule, with its expressions; empty if there is none.
    pub template: Text,
    /// The part of the object the message is about; empty for the whole object.
    pub path: Vec<Step>,
    /// The place in the rule file that decided.
    pub location: Option<Location>,
    /// The changes of the rule.
    pub patch: Vec<patch::JsonPatchOperation>,
    /// The objects that the rule asks to be written.
    pub writes: Vec<ObjectWrite>,
    /// What these writes do, as every output shows it: `create ConfigMap shop/settings`.
    pub written: Vec<Text>,
    /// The objects that it writes, or that already are as it would write them, as
    /// [`object_reference`](crate::object_reference) writes them.
    pub references: Vec<Text>,
    /// What reports of stored objects say in place of a skip, because an object already is as the rule makes it.
    pub settled: Option<Text>,
    /// The denial message for the requester, where the dialect does not send `message` itself.
    pub denial: Option<String>,
    /// Whether the rule applied to the object and was evaluated. A skip without that only says that the rule does not
    /// apply.
    pub is_judged: bool,
    /// Whether the request is refused because of this outcome.
    pub is_refusal: bool,
    /// The exceptions that made the rule skip the object, each `namespace/name`.
    pub exceptions: Vec<Text>,
    /// What the rule's author says about it.
    pub metadata: Arc<RuleMetadata>,
    /// What the rule says about this object for reports, by name; it wins over what `metadata` has.
    pub properties: Vec<(Text, Text)>,
    /// The trace, if traces are kept.
    pub trace: Option<Box<TraceNode>>,
    /// Whether the rule has an outcome only because traces are kept: it is not about the object, or found nothing to say.
    pub is_trace_only: bool,
}

/// An outcome in plain words, beside the message in the words of the rule language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutcomeReason {
    /// What is wrong, in one line, or why the rule has no answer; empty where the message says it.
    pub text: String,
    /// What the rule wants at the path; empty where that is not one value.
    pub wanted: String,
    /// What to do about it; may be empty.
    pub help: String,
    /// The path in the object of what could not be read; empty where no part of the object is missing.
    pub path: Vec<Step>,
    /// The place in the document of the rule; empty where it is not known.
    pub at: Vec<Step>,
}

impl OutcomeReason {
    /// Cuts each text to at most about `bytes`.
    pub(crate) fn shorten(&mut self, bytes: usize) {
        for text in [&mut self.text, &mut self.wanted, &mut self.help] {
            if let Some(short) = bounded::shortened_text(text, bytes) {
                *text = short;
            }
        }
    }
}

/// The status of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleStatus {
    /// The object satisfies the rule, perhaps because the rule changed it.
    Pass,
    /// The object violates the rule.
    Fail,
    /// The object violates the rule, which only warns.
    Warn,
    /// The rule could not be evaluated.
    Error,
    /// The rule does not apply to the object.
    Skip,
}

impl RuleStatus {
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

impl fmt::Display for RuleStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a rule could not be evaluated. Never a "no".
#[derive(Debug, Clone, Error)]
#[error("{message}")]
pub struct EvalError {
    /// The kind of error.
    pub kind: EvalErrorKind,
    /// The reason, in the rule language's words.
    pub message: String,
    /// The place in the rule file.
    pub location: Option<Location>,
    /// Whether the request is admitted despite the error, because a violation would only have been reported.
    pub is_tolerated: bool,
    /// The cause in plain words, if they are better than the message.
    pub reason: Option<Box<OutcomeReason>>,
}

/// The kinds of errors of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// The rule does not fit the object.
    Evaluation,
    /// A limit was reached: steps, bytes, depth, or the cost of a CEL expression.
    Limit,
    /// The world does not know something the rule needs yet.
    Query(Box<Query>),
    /// Something the rule needs was looked up, and the lookup failed.
    Failed,
}

impl EvalErrorKind {
    /// Returns whether the rule has its answer, which is an error: no limit was reached, and no query is open.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Evaluation | Self::Failed)
    }
}

impl EvalError {
    /// Returns an error of the rule itself.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            kind: EvalErrorKind::Evaluation,
            message: message.into(),
            location: None,
            is_tolerated: false,
            reason: None,
        }
    }

    /// Returns the error of a rule that reached a limit.
    #[must_use]
    pub fn limit(message: impl Into<String>) -> Self {
        Self { kind: EvalErrorKind::Limit, ..Self::new(message) }
    }

    /// Returns the error of a rule whose query is not answered yet.
    #[must_use]
    pub fn unanswered(query: Query) -> Self {
        Self {
            message: format!("{query} is not known here"),
            kind: EvalErrorKind::Query(Box::new(query)),
            location: None,
            is_tolerated: false,
            reason: None,
        }
    }

    /// Returns the error of a rule whose query was looked up without success, and why.
    #[must_use]
    pub fn failed(query: &Query, why: &str) -> Self {
        Self::failed_lookup(format!("{query} could not be looked up: {why}"))
    }

    /// Returns the error of a failed lookup, with `message` in the words of the dialect.
    #[must_use]
    pub fn failed_lookup(message: impl Into<String>) -> Self {
        Self { kind: EvalErrorKind::Failed, ..Self::new(message) }
    }

    /// Returns the error of a rule that queries what it may not read, and why.
    #[must_use]
    pub fn refused(query: &Query, why: &str) -> Self {
        Self::new(format!("{query} may not be looked up: {why}"))
    }

    /// Returns this error with its cause in plain words, unless it has one, and what to do about it.
    #[must_use]
    pub fn because(mut self, text: impl Into<String>, help: impl Into<String>) -> Self {
        self.reason.get_or_insert_with(|| {
            Box::new(OutcomeReason { text: text.into(), help: help.into(), ..OutcomeReason::default() })
        });
        self
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
        Self::limit(limit.to_string())
    }
}

/// Which rule it is, by the address of its id: it is compared and counted without touching the id, which all threads share.
/// It says nothing once the rules are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleAddress(usize);

impl RuleAddress {
    /// Returns the address of `rule`.
    #[must_use]
    pub fn of(rule: &Arc<RuleId>) -> Self {
        Self(Arc::as_ptr(rule).addr())
    }
}

/// The decision of all rules about one request.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Whether no rule refuses the object.
    pub is_allowed: bool,
    /// The outcomes, one for each considered rule, in the order in which they ran.
    pub outcomes: Vec<RuleOutcome>,
    /// The rules that pass, where [`leaves_out_passes`](crate::DecisionSettings::leaves_out_passes) leaves out their
    /// outcomes.
    pub passed: Vec<RuleAddress>,
    /// The object after all changes.
    pub object: Value,
    /// How many rules apply and have nothing to report, because the object has nothing that they check.
    pub unreported: usize,
    /// Whether a rule read the Namespace of the object, and the world has none.
    pub lacks_namespace: bool,
    /// How many rules do not apply, where [`leaves_out_skips`](crate::DecisionSettings::leaves_out_skips) leaves out their
    /// outcomes.
    pub skipped: usize,
    /// The queries that the caller must answer before the decision is complete.
    pub queries: Vec<Query>,
    /// Whether the steps of [`total`](crate::DecisionSettings::total) were used up, or the time until
    /// [`deadline`](crate::DecisionSettings::deadline), before it was complete. Then nothing is decided.
    pub is_unfinished: bool,
    /// The object after all changes as it may be shown, if a Secret was read: with a mark in place of what depends on it.
    pub shown_object: Option<Value>,
}

impl Decision {
    /// Returns the decision of no rule: `object` is allowed as it is.
    #[must_use]
    pub fn without_rules(object: Value) -> Self {
        Self {
            is_allowed: true,
            outcomes: Vec::new(),
            passed: Vec::new(),
            object,
            unreported: 0,
            lacks_namespace: false,
            skipped: 0,
            queries: Vec::new(),
            is_unfinished: false,
            shown_object: None,
        }
    }

    /// Returns the JSON Patch from `original` to the decided object.
    #[must_use]
    pub fn patch(&self, original: &Value) -> Vec<patch::JsonPatchOperation> {
        patch::diff_values(original, &self.object)
    }

    /// Returns the outcomes with `status`.
    pub fn with_status(&self, status: RuleStatus) -> impl Iterator<Item = &RuleOutcome> {
        self.outcomes.iter().filter(move |outcome| outcome.status == status)
    }
}
