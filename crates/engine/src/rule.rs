//! The compiled unit of a policy.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::sync::Arc;

use kubewright_patch as patch;
use kubewright_value::{Budget, FieldSet, Location, Step, Text, Value};

use crate::{
    AdmissionPhase, DerivationCost, DerivedCache, EvalError, OutcomeReason, Query, QueryAnswer, RuleScope,
    Tracer, WorldView,
};
use kubewright_k8s::{AdmissionRequest, GroupVersionKind, object_title, resource_name};

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
    /// Returns the whole name. Refusals name their rules, and formatting takes far longer.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.dialect.len() + self.policy.len() + self.rule.len() + 2);
        text.push_str(self.dialect);
        text.push('/');
        text.push_str(&self.policy);
        if !self.rule.is_empty() {
            text.push('/');
            text.push_str(&self.rule);
        }
        text
    }

    /// Returns the name without the rule language: `policy/rule`, or `policy` for a document that is one rule.
    #[must_use]
    pub fn short(&self) -> String {
        match self.rule.as_str() {
            "" => self.policy.to_string(),
            rule => [self.policy.as_str(), "/", rule].concat(),
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// A compiled rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub id: Arc<RuleId>,
    /// The requests that it may apply to.
    pub scope: RuleScope,
    /// Whether it changes objects or judges them.
    pub action: RuleAction,
    /// The admission phase in which a cluster evaluates it: a rule that validates may run in a mutating webhook.
    pub phase: AdmissionPhase,
    /// Lower tiers run first; all rules of a tier are matched before any of them changes the object.
    pub tier: i32,
    /// Lower runs first within a tier.
    pub precedence: u32,
    /// Its position among the rules of its policy; lower runs first.
    pub position: u32,
    /// Whether a mutating rule is matched against the object as the rules before it left it, and not as it was when the
    /// tier began.
    pub matches_current: bool,
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
    /// Its place in the rule file.
    pub location: Location,
    /// The program that evaluates it.
    pub program: Box<dyn RuleProgram>,
}

impl Rule {
    /// Returns the sort key of the order in which rules run.
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
    /// The severity of a violation: `critical`, `high`, `medium`, `low` or `info`; empty where none is given.
    pub severity: Text,
    /// The category, such as `Pod Security`; may be empty.
    pub category: Text,
    /// The title that its author gave to the policy; may be empty.
    pub title: Text,
    /// What its author says the policy is for; may be empty.
    pub description: Text,
    /// Further properties for reports, by name.
    pub properties: Vec<(Text, Text)>,
    /// Whether the requester gets a warning for a violation that is only reported.
    pub emits_warning: bool,
    /// The name of the rule in reports of a cluster, in place of its own.
    pub reported_rule: Option<Text>,
    /// What reports say of a stored object that the rule would change, as a violation; without it that is only a warning.
    pub unapplied_message: Option<Text>,
}

/// A part of a rule that a test can exercise or leave out: a condition, an entry of a list of alternatives.
#[derive(Debug, Clone)]
pub struct RuleBranch {
    /// A description in the words of the rule.
    pub what: String,
    /// Its place in the rule file. A trace node with this location shows that it was evaluated.
    pub location: Location,
}

/// What a rule does, in the order in which rules run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleAction {
    /// Changes objects.
    Mutate,
    /// Judges objects after all changes.
    Validate,
    /// Writes other objects because of the object, once it is admitted.
    Generate,
    /// Decides whether the stored object is deleted. It never runs at admission.
    Delete,
}

impl RuleAction {
    /// Returns whether admission requests are answered by it. The others ask for writes that a controller carries out,
    /// and judge nothing.
    #[must_use]
    pub fn is_at_admission(self) -> bool {
        matches!(self, Self::Mutate | Self::Validate)
    }
}

/// The program of a rule: it evaluates the object of one request and may change it.
pub trait RuleProgram: Send + Sync {
    /// Returns whether the rule applies to `object`, in its state when the tier began.
    ///
    /// # Errors
    /// When that cannot be decided.
    fn applies(&self, object: &Value, evaluation: &mut Evaluation<'_>) -> Result<Applies, EvalError>;

    /// Returns what it takes of a budget to find out that the rule does not apply to `object`, if `known` already says so: a
    /// quick answer, which [`RuleProgram::applies`] would give too.
    fn known_miss(&self, _object: &Value, _known: &DecisionCache) -> Option<DerivationCost> {
        None
    }

    /// Evaluates the rule for an object it applies to, which rules of the same tier may have changed.
    ///
    /// # Errors
    /// When it cannot be evaluated; then `object` is unchanged, except that a rule may take away what the object says
    /// about the results of this rule.
    fn evaluate(&self, object: &mut Value, evaluation: &mut Evaluation<'_>) -> Result<Effect, EvalError>;

    /// Returns the message of the rule as written, with its expressions; empty if there is none, or if there are several
    /// and the object decides between them.
    fn message(&self) -> &str {
        ""
    }

    /// Returns the denial message for the requester, where the dialect does not send `message` itself.
    fn denial(&self, _message: &str, _request: &AdmissionRequest) -> Option<String> {
        None
    }

    /// Adds the fields of objects that evaluating the rule may read, besides those that identify an object. Unless the rule
    /// knows better, these are all: a field that is missing here is missing for the rule.
    fn add_read_fields(&self, fields: &mut FieldSet) {
        *fields = FieldSet::All;
    }

    /// Returns the parts of the rule that tests can leave out.
    fn branches(&self) -> Vec<RuleBranch> {
        Vec::new()
    }
}

impl fmt::Debug for dyn RuleProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

/// The inputs and the budget of one evaluation of a rule.
pub struct Evaluation<'a> {
    /// The request. Its `object` is the original one.
    pub request: &'a AdmissionRequest,
    /// The world, restricted to what the rule may read.
    pub world: WorldView<'a>,
    /// The budget.
    pub budget: &'a mut Budget,
    /// The tracer.
    pub tracer: &'a mut Tracer,
    /// Answers that all rules of the decision share.
    pub(crate) cache: &'a DecisionCache,
    /// Further properties of the outcome for reports, by name; they win over those of the rule.
    pub properties: Vec<(Text, Text)>,
    /// The outcome in plain words, where the rule has better ones than its message.
    pub reason: Option<Box<OutcomeReason>>,
    /// The place in the rule file that decided, where the effect does not say it.
    pub location: Option<Location>,
    /// Whether `reason` is shown.
    pub wants_reason: bool,
    /// Whether the places of a failure are shown.
    pub wants_places: bool,
    /// Whether the message of a pass is shown.
    pub wants_pass_message: bool,
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
        Self {
            request,
            world,
            budget,
            tracer,
            cache,
            properties: Vec::new(),
            reason: None,
            location: None,
            wants_reason: true,
            wants_places: true,
            wants_pass_message: true,
        }
    }

    /// Returns what rules of the decision made of objects.
    #[must_use]
    pub fn derived(&self) -> &'a DerivedCache {
        self.cache.derived()
    }

    /// Returns whether a rule of the decision has found that the request passes the check `number`.
    #[must_use]
    pub fn has_passed(&self, number: u64) -> bool {
        self.cache.has_passed(number)
    }

    /// Tells the other rules of the decision that the request passes the check `number`, which nothing else in this process
    /// has or had. It depends on the request and the world alone, and takes nothing from a budget. The last one is kept.
    pub fn keep_passed(&self, number: u64) {
        self.cache.passed_check.set(Some(number));
    }

    /// Returns the resource name (plural) for the kind of the request, guessed for custom resources.
    #[must_use]
    pub fn resource(&self) -> &'a Text {
        self.cache.resource.get_or_init(|| resource_name(&self.request.addressed().kind).into())
    }

    /// Returns the Namespace of the object, or nothing when the object has none or the Namespace does not exist.
    /// It is looked up once for all rules of a decision.
    ///
    /// # Errors
    /// When the world does not know it yet.
    pub fn namespace(&self) -> Result<Option<&'a Value>, EvalError> {
        self.cache.is_namespace_read.set(true);
        self.namespace_if_there()
    }

    /// Returns the Namespace of the object for a question that most Namespaces do not answer; a missing one is as good as
    /// one that does not.
    ///
    /// # Errors
    /// When the world does not know it yet.
    pub fn namespace_if_there(&self) -> Result<Option<&'a Value>, EvalError> {
        let name = &self.request.namespace;
        if name.is_empty() {
            return Ok(None);
        }
        match self.cache.namespace.get_or_init(|| self.world.namespace_of_request(name)) {
            QueryAnswer::Found(namespace) => Ok(Some(namespace)),
            QueryAnswer::Absent => Ok(None),
            QueryAnswer::Unknown => Err(EvalError::unanswered(Query::namespace(name))),
            QueryAnswer::Failed(why) | QueryAnswer::Refused(why) => {
                Err(EvalError::failed(&Query::namespace(name), why))
            }
        }
    }
}

/// Answers that all rules of one decision share.
#[derive(Debug, Default)]
pub struct DecisionCache {
    namespace: OnceCell<QueryAnswer>,
    is_namespace_read: Cell<bool>,
    resource: OnceCell<Text>,
    passed_check: Cell<Option<u64>>,
    derived: DerivedCache,
}

impl DecisionCache {
    /// Returns what rules of the decision made of objects.
    #[must_use]
    pub fn derived(&self) -> &DerivedCache {
        &self.derived
    }

    /// Returns whether a rule of the decision has found that the request passes the check `number`.
    #[must_use]
    pub fn has_passed(&self, number: u64) -> bool {
        self.passed_check.get() == Some(number)
    }

    /// Returns whether a rule asked for the Namespace of the object, and there is none.
    pub(crate) fn lacks_namespace(&self) -> bool {
        self.is_namespace_read.get() && matches!(self.namespace.get(), Some(QueryAnswer::Absent))
    }
}

/// Whether a rule applies to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applies {
    /// It does.
    Yes,
    /// It does not, which is a pass of a validating rule: the object does not violate it.
    NotViolated,
    /// It does not; the text is the reason.
    No(Text),
    /// The object is out of its scope, so nothing is reported; the text is the reason.
    OutOfScope(Text),
}

/// A write that a rule asks for: it is shown by commands and carried out by a controller, never by an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectWrite {
    /// What is done.
    pub verb: WriteVerb,
    /// The object after the write; for a deletion, the object that is deleted.
    pub object: Value,
    /// The part of another object that `object` is, such as its scale; nothing for an object itself.
    pub part: Option<Box<WrittenPart>>,
}

/// A part of an object, which is written by an address of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenPart {
    /// The kind of the object. Its name and namespace are those of the part.
    pub kind: GroupVersionKind,
    /// The name of the part, such as `scale` or `status`.
    pub subresource: Text,
}

impl ObjectWrite {
    /// Returns the write of an object itself.
    #[must_use]
    pub fn new(verb: WriteVerb, object: Value) -> Self {
        Self { verb, object, part: None }
    }

    /// Returns what it does, as every output shows it: `create ConfigMap shop/settings`.
    #[must_use]
    pub fn title(&self) -> Text {
        let text = |path: &[&str]| self.object.str_at(path);
        let kind = if text(&["kind"]).is_empty() { "payload" } else { text(&["kind"]) };
        let object = object_title(kind, text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        format!("{} {}", self.verb.name(), object.trim_end()).into()
    }
}

/// Returns which object `object` is, with its version, as reports name it: `apps/v1, Kind=Deployment Name=web Namespace=shop`.
#[must_use]
pub fn object_reference(object: &Value) -> Text {
    let GroupVersionKind { group, version, kind } = GroupVersionKind::of(object);
    let name = object.str_at(&["metadata", "name"]);
    match object.str_at(&["metadata", "namespace"]) {
        "" => format!("{group}/{version}, Kind={kind} Name={name}").into(),
        namespace => format!("{group}/{version}, Kind={kind} Name={name} Namespace={namespace}").into(),
    }
}

/// What a rule asks to be done to an object, in the words of the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WriteVerb {
    /// The object is created; one that exists already is left as it is.
    Create,
    /// The object is made to be as given, whether it exists or not.
    Apply,
    /// An existing object is replaced by the given one.
    Update,
    /// The object is deleted.
    Delete,
}

impl WriteVerb {
    /// Returns the word for it in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Apply => "apply",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The result of evaluating a rule for an object it applies to.
#[derive(Debug, Clone)]
pub enum Effect {
    /// The object was changed.
    Patch {
        /// The changes; without any, it already had the wanted form.
        operations: Vec<patch::JsonPatchOperation>,
        /// The message of the dialect, if it has one.
        message: Text,
    },
    /// Objects are to be written once the request is admitted.
    Write {
        /// The writes, in order.
        writes: Vec<ObjectWrite>,
        /// The message of the dialect, if it has one.
        message: Text,
    },
    /// Some objects are to be written once the request is admitted, and others could not be made.
    WriteSome {
        /// The writes, in order.
        writes: Vec<ObjectWrite>,
        /// Why the others could not be made.
        error: EvalError,
    },
    /// The effects on several objects that the rule changes because of this one, each with an outcome of its own. Without
    /// any, there is nothing to report.
    Each(Vec<Result<Effect, EvalError>>),
    /// The object passes; the text is the message of the dialect, if it has one.
    Pass(Text),
    /// The object passes because of exceptions.
    Excused {
        /// The message of the dialect.
        message: Text,
        /// The exceptions, each `namespace/name`.
        exceptions: Vec<Text>,
    },
    /// Nothing is changed, because an object already is as the rule makes it: a skip at admission, and what reports of
    /// stored objects call a pass.
    Settled {
        /// Why nothing is changed.
        message: Text,
        /// What reports say.
        applied: Text,
        /// The object, where it is not that of the request, as [`object_reference`] writes it.
        reference: Option<Text>,
    },
    /// The rule turns out not to apply to the object.
    Skip {
        /// Why.
        message: Text,
        /// The exceptions that matched, each `namespace/name`.
        exceptions: Vec<Text>,
    },
    /// The rule applies, and there is nothing to report.
    NotReported(Text),
    /// The rule applies, and another rule of the same name, for a later phase, reports on it.
    ReportedLater,
    /// The object violates the rule.
    Fail {
        /// Whether the request is refused because of it.
        is_refusal: bool,
        /// The place in the rule file that decided, if it is not the rule itself.
        location: Option<Location>,
        /// Why.
        message: String,
        /// The message as written, with its expressions; empty if there is none.
        template: Text,
        /// The violating part of the object.
        path: Vec<Step>,
        /// The denial message for the requester, where the dialect does not send `message` itself.
        denial: Option<String>,
    },
    /// The object violates the rule, and passes with a warning.
    Warn {
        /// Whether the request is refused nevertheless.
        is_refusal: bool,
        /// Why.
        message: String,
        /// The message as written, with its expressions; empty if there is none.
        template: Text,
        /// The violating part of the object.
        path: Vec<Step>,
        /// The place in the rule file that decided, if it is not the rule itself.
        location: Option<Location>,
    },
}
