//! The decision of all rules about one stored object.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kubewright_engine::{
    Decision, DecisionSettings, Engine, EvaluationMode, Query, Rule, RuleOutcome, RuleStatus, World,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Text, Value};

use crate::rules::without_writes;
use crate::{RecordedInput, RecordingWorld, ScanRules};

/// Everything that the rules say about one object, also what is in no report.
#[derive(Debug, Clone)]
pub struct ObjectDecision {
    /// Whether no rule would refuse the object at admission.
    pub is_allowed: bool,
    /// What each rule says: first the rules that would write because of the object or change it, then those that judge it
    /// as it is.
    pub outcomes: Vec<RuleOutcome>,
    /// The object with all changes that rules would make.
    pub object: Value,
    /// The queries that the caller must answer before the decision is complete.
    pub queries: Vec<Query>,
    pub(crate) inputs: Vec<RecordedInput>,
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
        self.decide_as(object, world, &background_settings())
    }

    /// Does what [`decide`](Self::decide) does, without the reasons in plain words, which reports do not have.
    pub(crate) fn decide_for_reports(&self, object: &Value, world: &dyn World) -> ObjectDecision {
        let settings = DecisionSettings { leaves_out_reasons: true, ..background_settings() };
        self.decide_as(object, world, &settings)
    }

    /// Decides on `object` as [`decide`](Self::decide) does, with the trace of each outcome.
    #[must_use]
    pub fn explain(&self, object: &Value, world: &dyn World) -> ObjectDecision {
        self.decide_as(object, world, &DecisionSettings { is_traced: true, ..background_settings() })
    }

    fn decide_as(&self, object: &Value, world: &dyn World, settings: &DecisionSettings) -> ObjectDecision {
        let request = AdmissionRequest::for_object(object.clone(), Operation::Create, "");
        let recording = RecordingWorld::new(world);
        let decide = |engine| decide(&EngineCall { engine, request: &request, world: &recording, settings });
        let mut decision = ObjectDecision::default();
        for engine in [&self.judging, &self.changing] {
            let mut decided = match engine.rules().is_empty() {
                true => Decision::without_rules(object.clone()),
                false => decide(engine),
            };
            decision.is_allowed &= decided.is_allowed;
            decision.queries.append(&mut decided.queries);
            decided.outcomes.append(&mut decision.outcomes);
            decision.outcomes = decided.outcomes;
            decision.object = decided.object;
        }
        if !self.standing.rules().is_empty() {
            let decided = decide(&self.standing);
            decision.queries.extend(decided.queries);
            let said = decided.outcomes.into_iter().map(without_writes);
            decision.outcomes = said.chain(decision.outcomes).collect();
        }
        decision.outcomes.iter_mut().for_each(pass_settled);
        decision.queries.sort();
        decision.queries.dedup();
        decision.inputs = recording.into_inputs();
        decision
    }
}

/// An object that already is as a rule makes it was changed by it, as far as stored objects tell.
fn pass_settled(outcome: &mut RuleOutcome) {
    if let Some(applied) = outcome.settled.take() {
        (outcome.status, outcome.message) = (RuleStatus::Pass, applied);
    }
}

/// Objects are as the API server sent them.
fn background_settings() -> DecisionSettings {
    DecisionSettings { evaluation_mode: Some(EvaluationMode::Background), ..DecisionSettings::default() }
}

/// One question to an engine.
#[derive(Clone, Copy)]
struct EngineCall<'c> {
    engine: &'c Engine,
    request: &'c AdmissionRequest,
    world: &'c RecordingWorld<'c>,
    settings: &'c DecisionSettings,
}

/// Decides with all rules at once. If one of them panics, each is asked alone, so that the others are heard.
fn decide(call: &EngineCall<'_>) -> Decision {
    decide_caught(call).unwrap_or_else(|| {
        let mut whole = Decision::without_rules(call.request.object.clone());
        for rules in call.engine.rules().chunk_by(|one, other| one.id.policy == other.id.policy) {
            // The rules of a policy are asked together where that is possible: of some policies only one rule counts.
            let alone = Engine::sharing(rules.to_vec());
            match decide_caught(&EngineCall { engine: &alone, ..*call }) {
                Some(decision) => {
                    whole.outcomes.extend(decision.outcomes);
                    whole.queries.extend(decision.queries);
                }
                None => rules.iter().for_each(|rule| decide_alone(rule, call, &mut whole)),
            }
        }
        whole
    })
}

fn decide_alone(rule: &Arc<Rule>, call: &EngineCall<'_>, whole: &mut Decision) {
    let alone = Engine::sharing(vec![Arc::clone(rule)]);
    match decide_caught(&EngineCall { engine: &alone, ..*call }) {
        Some(decision) => {
            whole.outcomes.extend(decision.outcomes);
            whole.queries.extend(decision.queries);
        }
        None => whole.outcomes.push(panicked_outcome(rule)),
    }
}

fn decide_caught(call: &EngineCall<'_>) -> Option<Decision> {
    let EngineCall { engine, request, world, settings } = *call;
    catch_unwind(AssertUnwindSafe(|| engine.decide(request, world, settings))).ok()
}

fn panicked_outcome(rule: &Rule) -> RuleOutcome {
    RuleOutcome {
        rule: Arc::clone(&rule.id),
        status: RuleStatus::Error,
        error: None,
        reason: None,
        message: "the rule could not be evaluated: internal error (panic)".into(),
        template: Text::default(),
        path: Vec::new(),
        location: Some(rule.location.clone()),
        patch: Vec::new(),
        writes: Vec::new(),
        written: Vec::new(),
        references: Vec::new(),
        settled: None,
        denial: None,
        is_judged: true,
        is_refusal: false,
        exceptions: Vec::new(),
        metadata: Arc::clone(&rule.metadata),
        properties: Vec::new(),
        trace: None,
        is_trace_only: false,
    }
}
