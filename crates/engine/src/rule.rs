//! The compiled unit of a policy.

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use kubewright_patch as patch;
use kubewright_value::{Budget, Location, Step, Text, Value};

use crate::{AdmissionPhase, Answer, EvalError, Query, Scope, Tracer, WorldView};
use kubewright_k8s::{AdmissionRequest, resource_name};

/// A rule's name in every output: `dialect/policy/rule`, or `dialect/policy` for a document that is one rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId {
    /// The rule language.
    pub dialect: &'static str,
    /// The document, or the namespace of one-rule documents.
    pub policy: Text,
    /// The rule in it; empty for a document that is one rule.
    pub rule: Text,
}

impl RuleId {
    /// Returns the name without the rule language: `policy/rule`, or `policy` for a document that is one rule.
    #[must_use]
    pub fn short(&self) -> String {
        match self.rule.as_str() {
            "" => self.policy.to_string(),
            rule => format!("{}/{rule}", self.policy),
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.dialect, self.policy)?;
        if self.rule.is_empty() { Ok(()) } else { write!(f, "/{}", self.rule) }
    }
}

/// A compiled rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub id: Arc<RuleId>,
    /// What it can be about.
    pub scope: Scope,
    /// Whether it changes objects or judges them.
    pub action: RuleAction,
    /// The admission phase in which a cluster asks it. A rule that judges may be asked among those that change objects.
    pub phase: AdmissionPhase,
    /// Lower tiers run first; the rules of one tier are matched before any of them changes anything.
    pub tier: i32,
    /// Lower runs first within a tier.
    pub precedence: u32,
    /// Its place among the rules of its policy; lower runs first.
    pub position: u32,
    /// What its author says about it.
    pub metadata: Arc<RuleMetadata>,
    /// Whether a request is refused when the rule cannot answer.
    pub refuses_on_error: bool,
    /// Whether the later rules of its policy are left out once this one has not skipped the object.
    pub is_exclusive: bool,
    /// Whether its text names the resource `secrets`: no other rule can look Secrets up.
    pub reads_secrets: bool,
    /// The namespace of its policy, outside of which it may not look anything up; a rule without one may look up everything.
    pub home: Option<Text>,
    /// The modes in which it runs.
    pub evaluation_modes: EvaluationModes,
    /// Where it was written.
    pub location: Location,
    /// What it does.
    pub program: Box<dyn Program>,
}

impl Rule {
    /// Returns what rules are sorted by.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        (
            self.action,
            self.tier,
            self.precedence,
            &self.id.policy,
            self.position,
            &self.id.rule,
            self.id.dialect,
        )
    }
}

/// The modes in which a rule runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationModes {
    /// Whether it runs at admission.
    pub admission: bool,
    /// Whether it runs in background scans.
    pub background: bool,
}

/// All modes.
impl Default for EvaluationModes {
    fn default() -> Self {
        Self { admission: true, background: true }
    }
}

/// Why objects are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvaluationMode {
    /// A request is about to change one.
    Admission,
    /// A scan of stored objects.
    Background,
}

impl EvaluationModes {
    /// Returns whether `mode` is one of them.
    #[must_use]
    pub fn contains(self, mode: EvaluationMode) -> bool {
        match mode {
            EvaluationMode::Admission => self.admission,
            EvaluationMode::Background => self.background,
        }
    }
}

/// What the author of a rule says about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleMetadata {
    /// How bad a violation is: `critical`, `high`, `medium`, `low` or `info`; empty when it is not said.
    pub severity: Text,
    /// The category, such as `Pod Security`; may be empty.
    pub category: Text,
    /// Further properties for reports, by name.
    pub properties: Vec<(Text, Text)>,
    /// Whether the requester gets a warning for a violation that is only reported.
    pub emits_warning: bool,
}

/// A part of a rule that a test can exercise or leave out: a condition, an entry of a list of alternatives.
#[derive(Debug, Clone)]
pub struct Branch {
    /// What it is, in the rule's words.
    pub what: String,
    /// Where it stands. A trace node at this place says that it was looked at.
    pub location: Location,
}

/// What a rule does. Rules that mutate run before rules that validate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleAction {
    /// Changes objects.
    Mutate,
    /// Judges objects after all changes.
    Validate,
}

/// What a rule does: it looks at the object of one request and may change it.
pub trait Program: Send + Sync {
    /// Returns whether the rule is about `object`, which is as it was when the tier began.
    ///
    /// # Errors
    /// When that cannot be decided.
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError>;

    /// Does what the rule does to an object it applies to, which rules of the same tier may have changed.
    ///
    /// # Errors
    /// When it cannot; then `object` is as it was.
    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError>;

    /// Returns the message of the rule as its author wrote it, with its expressions; empty where there is none, or where
    /// there are several and the object decides between them.
    fn message(&self) -> &str {
        ""
    }

    /// Returns what the requester is told where the rule says `message`, if the language has words of its own for it.
    fn denial(&self, _message: &str, _request: &AdmissionRequest) -> Option<String> {
        None
    }

    /// Returns the parts of the rule that tests can leave out.
    fn branches(&self) -> Vec<Branch> {
        Vec::new()
    }
}

impl fmt::Debug for dyn Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

/// Everything a rule may look at, and what it may spend.
pub struct Evaluation<'a> {
    /// What is asked. Its `object` is the original one.
    pub request: &'a AdmissionRequest,
    /// What else exists, as far as the rule may see it.
    pub world: WorldView<'a>,
    /// What may be spent.
    pub budget: &'a mut Budget,
    /// Where to say what was looked at.
    pub tracer: &'a mut Tracer,
    /// Answers that all rules of the decision share.
    pub(crate) cache: &'a DecisionCache,
}

impl<'a> Evaluation<'a> {
    /// Returns an evaluation of `request` outside of a decision; `cache` is empty.
    #[must_use]
    pub fn new(
        request: &'a AdmissionRequest,
        world: WorldView<'a>,
        budget: &'a mut Budget,
        tracer: &'a mut Tracer,
        cache: &'a DecisionCache,
    ) -> Self {
        Self { request, world, budget, tracer, cache }
    }

    /// Returns what the API server calls objects of the kind of the request, as far as that can be guessed.
    #[must_use]
    pub fn resource(&self) -> &'a Text {
        self.cache.resource.get_or_init(|| resource_name(&self.request.addressed().kind).into())
    }

    /// Returns the namespace that the object is in, or nothing when it has none or the namespace does not exist.
    /// The world is asked once for all rules of a decision.
    ///
    /// # Errors
    /// When the world does not know it yet.
    pub fn namespace(&self) -> Result<Option<&'a Value>, EvalError> {
        let name = &self.request.namespace;
        if name.is_empty() {
            return Ok(None);
        }
        match self.cache.namespace.get_or_init(|| self.world.namespace_of_request(name)) {
            Answer::Found(namespace) => Ok(Some(namespace)),
            Answer::Absent => Ok(None),
            Answer::Unknown => Err(EvalError::unanswered(Query::namespace(name))),
            Answer::Failed(why) | Answer::Refused(why) => {
                Err(EvalError::failed(&Query::namespace(name), why))
            }
        }
    }
}

/// Answers that all rules of one decision share.
#[derive(Debug, Default)]
pub struct DecisionCache {
    namespace: OnceCell<Answer>,
    resource: OnceCell<Text>,
}

/// Whether a rule is about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applies {
    /// It is.
    Yes,
    /// It is not, and for a validating rule that is a pass: the object does not violate it.
    NotViolated,
    /// It is not, and here is why.
    No(Text),
    /// The object is out of its scope, so there is nothing to report; here is why.
    OutOfScope(Text),
}

/// What a rule does to an object it applies to.
#[derive(Debug, Clone)]
pub enum Effect {
    /// The object was changed by these operations; without any, it was fine as it is.
    Patch(Vec<patch::Operation>),
    /// The object is fine; the dialect may have words for it.
    Pass(Text),
    /// The rule turns out not to be about the object.
    Skip {
        /// Why.
        message: Text,
        /// The exceptions that were made for it, each `namespace/name`.
        exceptions: Vec<Text>,
    },
    /// The rule applies, and there is nothing to report.
    NotReported(Text),
    /// The object is not as the rule wants it.
    Fail {
        /// Whether the request is refused for it.
        is_refusal: bool,
        /// The place in the rule file that decided, where it is not the rule itself.
        location: Option<Location>,
        /// Why.
        message: String,
        /// The message as its author wrote it, with its expressions; empty where there is none.
        template: Text,
        /// The part of the object this is about.
        path: Vec<Step>,
        /// What the requester is told, where the dialect has words of its own for it.
        denial: Option<String>,
    },
    /// The object is objected to, and passes.
    Warn {
        /// Whether the request is refused all the same.
        is_refusal: bool,
        /// Why.
        message: String,
        /// The message as its author wrote it, with its expressions; empty where there is none.
        template: Text,
        /// The part of the object this is about.
        path: Vec<Step>,
        /// The place in the rule file that decided, where it is not the rule itself.
        location: Option<Location>,
    },
}
