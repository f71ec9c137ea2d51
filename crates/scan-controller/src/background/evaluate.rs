//! Asks the rules of a policy about a trigger, and looks up what they ask for. An answer is never older than the event that
//! led to the question.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_engine::{
    Decision, DecisionSettings, Engine, EvalErrorKind, OpenWorld, Query, RuleOutcome, RuleStatus, WriteVerb,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_scan::{AnswerState, RecordedInput, RecordingWorld};
use kubewright_serve::{ClusterLookup, Lookup as _};
use kubewright_value::Value;

use super::memo::LookupMemo;
use super::plan::RuleAnswer;

/// How often rules are asked because each time something else had to be looked up.
const MAX_QUESTION_ROUNDS: usize = 10;

/// How long one lookup may take.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);

/// What rules say, and what they read for that.
pub(crate) struct RuleAnswers {
    pub(crate) outcomes: Vec<RuleOutcome>,
    pub(crate) inputs: Vec<RecordedInput>,
}

impl RuleAnswers {
    /// Returns the queries that a watch can answer anew.
    pub(crate) fn queries(&self) -> Vec<Query> {
        let is_read = |input: &&RecordedInput| input.answer != AnswerState::Refused;
        self.inputs.iter().filter(is_read).map(|input| input.query.clone()).collect()
    }
}

/// Where rules look things up.
#[derive(Clone, Copy)]
pub(crate) struct AskedWorld<'w> {
    pub(crate) lookup: &'w Arc<ClusterLookup>,
    /// Answers that are shared, and when the work was queued.
    pub(crate) memo: Option<(&'w LookupMemo, Instant)>,
}

/// Asks the rules of `engine`, which `of` holds.
pub(crate) async fn ask_rules<T: Send + Sync + 'static>(
    of: &Arc<T>,
    engine: fn(&T) -> &Engine,
    request: AdmissionRequest,
    asking: AskedWorld<'_>,
) -> RuleAnswers {
    let request = Arc::new(request);
    let mut world = OpenWorld::default();
    for round in 0..=MAX_QUESTION_ROUNDS {
        let (of, request) = (Arc::clone(of), Arc::clone(&request));
        let asked = tokio::task::spawn_blocking(move || {
            let recording = RecordingWorld::new(&world);
            let decision = engine(&of).decide(&request, &recording, &DecisionSettings::default());
            let inputs = recording.into_inputs();
            (decision, inputs, world)
        });
        let Ok((decision, inputs, known)) = asked.await else { break };
        let Decision { outcomes, queries, .. } = decision;
        if queries.is_empty() || round == MAX_QUESTION_ROUNDS {
            return RuleAnswers { outcomes, inputs };
        }
        world = known;
        look_up(&mut world, queries, &asking).await;
    }
    RuleAnswers { outcomes: Vec::new(), inputs: Vec::new() }
}

async fn look_up(world: &mut OpenWorld, queries: Vec<Query>, asking: &AskedWorld<'_>) {
    let AskedWorld { lookup, memo } = asking;
    let queries: BTreeSet<Query> = queries.into_iter().collect();
    let known = |query: &Query| memo.and_then(|(memo, since)| memo.answer(query, since));
    let (known, unknown): (Vec<_>, Vec<_>) =
        queries.into_iter().map(|query| (known(&query), query)).partition(|(answer, _)| answer.is_some());
    for (answer, query) in known {
        world.learn(query, answer.flatten());
    }
    let begun = Instant::now();
    let asked: Vec<_> = unknown
        .into_iter()
        .map(|(_, query)| query)
        .map(|query| {
            let lookup = Arc::clone(lookup);
            tokio::spawn(async move {
                let deadline = Instant::now() + QUESTION_TIMEOUT;
                let answer = tokio::time::timeout(QUESTION_TIMEOUT, lookup.look_up(&query, deadline)).await;
                (query, answer)
            })
        })
        .collect();
    for asked in asked {
        match asked.await {
            Ok((query, Ok(Ok(found)))) => {
                if let Some((memo, _)) = memo {
                    memo.keep(&query, begun, &found);
                }
                world.learn(query, found);
            }
            Ok((query, Ok(Err(why)))) => world.fail(query, why),
            Ok((query, Err(_))) => world.fail(query, "the lookup timed out"),
            Err(_) => {}
        }
    }
}

/// What an outcome means for downstreams.
#[derive(Debug)]
pub(crate) struct GenerateAnswer {
    /// Nothing where everything stays as it is.
    pub(crate) answer: Option<RuleAnswer>,
    /// Why the rule could not say everything.
    pub(crate) problem: Option<String>,
    /// Whether the same question may have another answer a little later.
    pub(crate) is_transient: bool,
}

/// Returns what the outcome of a generate rule means; without one the rule is not about the trigger.
pub(crate) fn generate_answer(outcome: Option<&RuleOutcome>) -> GenerateAnswer {
    let plain = |answer| GenerateAnswer { answer: Some(answer), problem: None, is_transient: false };
    let Some(outcome) = outcome else { return plain(RuleAnswer::NotTriggered) };
    let wanted = || outcome.writes.iter().map(|write| write.object.clone()).collect::<Vec<Value>>();
    let is_deletion = outcome.writes.iter().any(|write| write.verb == WriteVerb::Delete);
    match outcome.status {
        RuleStatus::Pass | RuleStatus::Warn if is_deletion => plain(RuleAnswer::NotTriggered),
        RuleStatus::Pass | RuleStatus::Warn => plain(RuleAnswer::Wants(wanted())),
        RuleStatus::Fail => plain(RuleAnswer::NotTriggered),
        // An exception says that the rule does nothing, and nothing is something else than undoing.
        RuleStatus::Skip if !outcome.exceptions.is_empty() => {
            GenerateAnswer { answer: None, problem: None, is_transient: false }
        }
        RuleStatus::Skip => plain(RuleAnswer::NotTriggered),
        RuleStatus::Error => GenerateAnswer {
            answer: Some(RuleAnswer::WantsAtLeast(wanted())),
            problem: Some(outcome.message.to_string()),
            is_transient: !matches!(outcome.error, Some(EvalErrorKind::Evaluation)),
        },
    }
}
