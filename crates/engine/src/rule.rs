//! The compiled unit of a policy.

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

use kubewright_patch as patch;
use kubewright_value::{Budget, Location, Step, Text, Value};

use crate::{Answer, EvalError, Query, Request, Scope, Tracer, WorldView, resource_name};

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
    /// When it runs.
    pub phase: Phase,
    /// Lower tiers run first; the rules of one tier are matched before any of them changes anything.
    pub tier: i32,
    /// Lower runs first within a tier.
    pub precedence: u32,
    /// Its place among the rules of its policy; lower runs first.
    pub position: u32,
    /// What is said about it wherever it is named.
    pub about: Arc<About>,
    /// Whether a request is refused when the rule cannot answer.
    pub refuses_on_error: bool,
    /// Whether the rules of its policy behind it are left out once it has said something else than skip.
    pub is_exclusive: bool,
    /// Whether its text names the resource `secrets`: no other rule can look Secrets up.
    pub reads_secrets: bool,
    /// The namespace of its policy, outside of which it may look nothing up; a rule without one may look up everything.
    pub home: Option<Text>,
    /// When it runs at all.
    pub occasions: Occasions,
    /// Where it was written.
    pub location: Location,
    /// What it does.
    pub program: Box<dyn Program>,
}

impl Rule {
    /// Returns what rules are sorted by.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        (
            self.phase,
            self.tier,
            self.precedence,
            &self.id.policy,
            self.position,
            &self.id.rule,
            self.id.dialect,
        )
    }
}

/// When a rule runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasions {
    /// When somebody is about to change an object.
    pub admission: bool,
    /// When everything that is stored is looked through.
    pub background: bool,
}

/// Always.
impl Default for Occasions {
    fn default() -> Self {
        Self { admission: true, background: true }
    }
}

/// Why objects are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Somebody is about to change one.
    Admission,
    /// Everything that is stored is looked through.
    Background,
}

impl Occasions {
    /// Returns whether `occasion` is one of them.
    #[must_use]
    pub fn contains(self, occasion: Occasion) -> bool {
        match occasion {
            Occasion::Admission => self.admission,
            Occasion::Background => self.background,
        }
    }
}

/// What the author of a rule says about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// How bad a violation is: `critical`, `high`, `medium`, `low` or `info`; empty when it is not said.
    pub severity: Text,
    /// What it belongs to, such as `Pod Security`; may be empty.
    pub category: Text,
    /// What reports carry besides, by name.
    pub properties: Vec<(Text, Text)>,
    /// Whether the one who asks is warned of a violation that is only reported.
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

/// Rules that change objects run before rules that judge them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Changes objects.
    Patch,
    /// Judges objects after all changes.
    Judge,
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
    fn denial(&self, _message: &str, _request: &Request) -> Option<String> {
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
    pub request: &'a Request,
    /// What else exists, as far as the rule may see it.
    pub world: WorldView<'a>,
    /// What may be spent.
    pub budget: &'a mut Budget,
    /// Where to say what was looked at.
    pub tracer: &'a mut Tracer,
    /// What was asked for already.
    pub(crate) memory: &'a Memory,
}

impl<'a> Evaluation<'a> {
    /// Returns an evaluation of `request` that stands alone. `memory` is empty, and lives as long as it.
    #[must_use]
    pub fn new(
        request: &'a Request,
        world: WorldView<'a>,
        budget: &'a mut Budget,
        tracer: &'a mut Tracer,
        memory: &'a Memory,
    ) -> Self {
        Self { request, world, budget, tracer, memory }
    }

    /// Returns what the API server calls objects of the kind of the request, as far as that can be guessed.
    #[must_use]
    pub fn resource(&self) -> &'a Text {
        self.memory.resource.get_or_init(|| resource_name(&self.request.addressed().kind).into())
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
        match self.memory.namespace.get_or_init(|| self.world.namespace_of_request(name)) {
            Answer::Found(namespace) => Ok(Some(namespace)),
            Answer::Absent => Ok(None),
            Answer::Unknown => Err(EvalError::unanswered(Query::namespace(name))),
            Answer::Failed(why) | Answer::Refused(why) => {
                Err(EvalError::failed(&Query::namespace(name), why))
            }
        }
    }
}

/// What the rules of one decision need not ask for again.
#[derive(Debug, Default)]
pub struct Memory {
    namespace: OnceCell<Answer>,
    resource: OnceCell<Text>,
}

/// Whether a rule is about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applies {
    /// It is.
    Yes,
    /// It is not, and for a judging rule that is good: the object was looked at and found clean.
    Clean,
    /// It is not, and here is why.
    No(Text),
    /// It is about something else altogether, so there is nothing to report; here is why.
    Outside(Text),
}

/// What a rule does to an object it applies to.
#[derive(Debug, Clone)]
pub enum Effect {
    /// The object was changed by these operations; without any, it was fine as it is.
    Patch(Vec<patch::JsonPatchOperation>),
    /// The object is fine; the dialect may have words for it.
    Pass(Text),
    /// The rule turns out not to be about the object.
    Skip {
        /// Why.
        message: Text,
        /// The exceptions that were made for it, each `namespace/name`.
        exceptions: Vec<Text>,
    },
    /// There is nothing to report.
    Nothing(Text),
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
