//! A world that notes everything a decision reads of it.

use std::sync::{Mutex, PoisonError};

use kubewright_engine::{Query, QueryAnswer, RuleId, World};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Text, Value};

/// A world that notes every query and how it was answered, so that a decision has the complete list of its inputs.
pub struct RecordingWorld<'w> {
    world: &'w dyn World,
    inputs: Mutex<Vec<RecordedInput>>,
}

/// One query of a decision.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct RecordedInput {
    /// The query.
    pub query: Query,
    /// How it was answered.
    pub answer: AnswerState,
}

/// How a query was answered. The answer itself is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerState {
    /// It exists.
    Found,
    /// It does not exist.
    Absent,
    /// It has not been looked up yet.
    Unknown,
    /// The lookup failed.
    Failed,
    /// The rule may not ask.
    Refused,
}

impl<'w> RecordingWorld<'w> {
    /// Returns a world that answers as `world` does.
    #[must_use]
    pub fn new(world: &'w dyn World) -> Self {
        Self { world, inputs: Mutex::default() }
    }

    /// Returns what was read, each query once.
    #[must_use]
    pub fn into_inputs(self) -> Vec<RecordedInput> {
        let mut inputs = self.inputs.into_inner().unwrap_or_else(PoisonError::into_inner);
        inputs.sort();
        inputs.dedup_by(|one, other| one.query == other.query);
        inputs
    }
}

impl World for RecordingWorld<'_> {
    fn get(&self, query: &Query) -> QueryAnswer {
        let answer = self.world.get(query);
        let state = match &answer {
            QueryAnswer::Found(_) => AnswerState::Found,
            QueryAnswer::Absent => AnswerState::Absent,
            QueryAnswer::Unknown => AnswerState::Unknown,
            QueryAnswer::Failed(_) => AnswerState::Failed,
            QueryAnswer::Refused(_) => AnswerState::Refused,
        };
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        // Rules of one decision ask for the same few things again and again.
        if !inputs.iter().rev().take(4).any(|input| input.query == *query) {
            inputs.push(RecordedInput { query: query.clone(), answer: state });
        }
        answer
    }

    /// Overrides belong to files of values, which do not change during a scan.
    fn overrides(&self, rule: &RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        self.world.overrides(rule, request)
    }
}
