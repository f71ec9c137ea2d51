//! The judgement of one object: what all rules say about it, and what they looked up for that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kubewright_engine::{
    Decision, DecisionSettings, Engine, EvaluationMode, Query, Rule, RuleOutcome, RuleStatus, World,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_report::cluster_report::{StatusFilter, result_of_outcome};
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Text, Value};

use crate::outcome_set::OutcomeRecord;
use crate::rules::would_change;
use crate::{AnswerState, ObjectKey, RecordedInput, RecordingWorld, ReportOn, ScanRules, ScanSettings};

/// The longest message that is kept.
const MAX_KEPT_MESSAGE_BYTES: usize = 4 << 10;

/// Why an object is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JudgementCause {
    /// It was listed, or has changed: it is judged if it is new or a rule can see the change.
    Object,
    /// A rule, an exception or a binding has changed.
    Rule,
    /// Something that its last judgement looked up has changed.
    Dependency,
    /// Its rules read the clock, or a lookup failed and is repeated.
    Clock,
    /// It is judged again from time to time, in case something has changed that cannot be watched.
    FullPass,
}

/// What judging an object found out. It changes nothing before it is [recorded](crate::Scanner::record).
#[derive(Debug)]
pub struct Judgement {
    pub(crate) key: ObjectKey,
    pub(crate) uid: Text,
    pub(crate) api_version: Text,
    pub(crate) cause: JudgementCause,
    /// The rules that judged it.
    pub(crate) generation: u64,
    /// How many changes of inputs there had been.
    pub(crate) changes: u64,
    pub(crate) fingerprint: u64,
    /// The object, where patterns read its kind.
    pub(crate) pattern_object: Option<Value>,
    pub(crate) verdict: Verdict,
}

/// What came out of a judgement.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It is as it was when it was judged last.
    Unchanged,
    /// The world had no answer to these yet.
    NeedsAnswers(Vec<Query>),
    /// All rules have spoken.
    Judged(JudgedOutcomes),
}

/// What all rules said about an object.
#[derive(Debug, Default)]
pub(crate) struct JudgedOutcomes {
    pub(crate) outcomes: Vec<OutcomeRecord>,
    pub(crate) inputs: Vec<Query>,
    /// Whether a lookup failed, so that it is repeated soon.
    pub(crate) has_failed_lookup: bool,
    /// Whether a rule that may be about the object reads the clock.
    pub(crate) reads_clock: bool,
}

impl Judgement {
    /// Returns the object.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Returns the queries that the caller must answer before the object can be judged.
    #[must_use]
    pub fn unanswered(&self) -> &[Query] {
        match &self.verdict {
            Verdict::NeedsAnswers(queries) => queries,
            Verdict::Unchanged | Verdict::Judged(_) => &[],
        }
    }
}

/// Everything that the rules say about one object, also what is in no report.
#[derive(Debug, Clone)]
pub struct ObjectDecision {
    /// Whether no rule would refuse the object at admission.
    pub is_allowed: bool,
    /// What each rule says: first the rules that would change the object, then those that judge it as it is.
    pub outcomes: Vec<RuleOutcome>,
    /// The object with all changes that rules would make.
    pub object: Value,
    /// The queries that the caller must answer before the decision is complete.
    pub queries: Vec<Query>,
    inputs: Vec<RecordedInput>,
}

/// What is said of an object if there are no rules.
impl Default for ObjectDecision {
    fn default() -> Self {
        Self {
            is_allowed: true,
            outcomes: Vec::new(),
            object: Value::Null,
            queries: Vec::new(),
            inputs: Vec::new(),
        }
    }
}

impl ScanRules {
    /// Decides on `object` as it is stored. Rules that would change it run apart, so that no other rule sees the changes.
    #[must_use]
    pub fn decide(&self, object: &Value, world: &dyn World) -> ObjectDecision {
        let request = AdmissionRequest::for_object(object.clone(), Operation::Create, "");
        let recording = RecordingWorld::new(world);
        let mut decision = ObjectDecision::default();
        for engine in [&self.judging, &self.changing] {
            let mut decided = match engine.rules().is_empty() {
                true => Decision { object: object.clone(), ..nothing_decided() },
                false => decide(engine, &request, &recording),
            };
            decision.is_allowed &= decided.is_allowed;
            decision.queries.append(&mut decided.queries);
            decided.outcomes.append(&mut decision.outcomes);
            decision.outcomes = decided.outcomes;
            decision.object = decided.object;
        }
        decision.queries.sort();
        decision.queries.dedup();
        decision.inputs = recording.into_inputs();
        decision
    }
}

/// Returns what `rules` say about `object`, as far as reports need it.
pub(crate) fn verdict_of(
    rules: &ScanRules,
    settings: &ScanSettings,
    object: &Value,
    decision: ObjectDecision,
) -> Verdict {
    let ObjectDecision { outcomes, queries, inputs, .. } = decision;
    if !queries.is_empty() {
        return Verdict::NeedsAnswers(queries);
    }
    let key = ObjectKey::of(object);
    let report = RowSelection { rules, settings, object };
    Verdict::Judged(JudgedOutcomes {
        outcomes: outcomes.into_iter().filter(is_outcome).map(|outcome| report.record(outcome)).collect(),
        has_failed_lookup: inputs.iter().any(|input| input.answer == AnswerState::Failed),
        reads_clock: rules.reads_clock(&key.kind, &key.namespace),
        inputs: inputs.into_iter().map(|input| input.query).collect(),
    })
}

fn nothing_decided() -> Decision {
    Decision {
        is_allowed: true,
        outcomes: Vec::new(),
        object: Value::Null,
        queries: Vec::new(),
        is_unfinished: false,
    }
}

/// Decides with all rules at once. If one of them panics, each is asked alone, so that the others are heard.
fn decide(engine: &Engine, request: &AdmissionRequest, world: &RecordingWorld<'_>) -> Decision {
    decide_caught(engine, request, world).unwrap_or_else(|| {
        let mut whole = Decision { object: request.object.clone(), ..nothing_decided() };
        for rules in engine.rules().chunk_by(|one, other| one.id.policy == other.id.policy) {
            // The rules of a policy are asked together where that is possible: of some policies only one rule counts.
            let alone = Engine::sharing(rules.to_vec());
            match decide_caught(&alone, request, world) {
                Some(decision) => {
                    whole.outcomes.extend(decision.outcomes);
                    whole.queries.extend(decision.queries);
                }
                None => rules.iter().for_each(|rule| decide_alone(rule, request, world, &mut whole)),
            }
        }
        whole
    })
}

fn decide_alone(
    rule: &Arc<Rule>,
    request: &AdmissionRequest,
    world: &RecordingWorld<'_>,
    whole: &mut Decision,
) {
    match decide_caught(&Engine::sharing(vec![Arc::clone(rule)]), request, world) {
        Some(decision) => {
            whole.outcomes.extend(decision.outcomes);
            whole.queries.extend(decision.queries);
        }
        None => whole.outcomes.push(panicked_outcome(rule)),
    }
}

fn decide_caught(
    engine: &Engine,
    request: &AdmissionRequest,
    world: &RecordingWorld<'_>,
) -> Option<Decision> {
    // Objects are as the API server sent them.
    let settings =
        DecisionSettings { evaluation_mode: Some(EvaluationMode::Background), ..DecisionSettings::default() };
    catch_unwind(AssertUnwindSafe(|| engine.decide(request, world, &settings))).ok()
}

fn panicked_outcome(rule: &Rule) -> RuleOutcome {
    RuleOutcome {
        rule: Arc::clone(&rule.id),
        status: RuleStatus::Error,
        error: None,
        message: "the rule could not be evaluated: internal error (panic)".into(),
        template: Text::default(),
        path: Vec::new(),
        location: Some(rule.location.clone()),
        patch: Vec::new(),
        denial: None,
        is_judged: true,
        is_refusal: false,
        exceptions: Vec::new(),
        metadata: Arc::clone(&rule.metadata),
        trace: None,
    }
}

/// Returns whether the rule is about the object.
fn is_outcome(outcome: &RuleOutcome) -> bool {
    outcome.status != RuleStatus::Skip || outcome.is_judged || !outcome.exceptions.is_empty()
}

/// Selects the outcomes of an object that get a row.
struct RowSelection<'a> {
    rules: &'a ScanRules,
    settings: &'a ScanSettings,
    object: &'a Value,
}

impl RowSelection<'_> {
    fn record(&self, mut outcome: RuleOutcome) -> OutcomeRecord {
        if !outcome.patch.is_empty() {
            outcome = would_change(outcome);
        }
        let statuses: StatusFilter = self.settings.report_results;
        let belongs_to_owner = || {
            self.settings.report_on == ReportOn::Roots
                && self.rules.owners.is_left_to_owner(&outcome.rule, self.object)
        };
        let has_row = statuses.has_row(&outcome) && !belongs_to_owner();
        OutcomeRecord {
            status: outcome.status,
            row: has_row.then(|| {
                let mut row = result_of_outcome(&outcome, 0);
                let limit = TextLimit::BytesWithLength(MAX_KEPT_MESSAGE_BYTES);
                if row.message.len() > MAX_KEPT_MESSAGE_BYTES {
                    row.message = shorten_text(&row.message, limit).as_ref().into();
                }
                Box::new(row)
            }),
            rule: outcome.rule,
        }
    }
}
