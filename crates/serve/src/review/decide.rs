//! The decision of one review: at once where it is small, apart from the others where it is not, and again where rules
//! ask for what nobody knew.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use kubewright_engine::{Answer, Decision, Engine, Occasion, OpenWorld, Query, Request, Settings, World};
use kubewright_value::Text;

use super::{Review, Undecided};
use crate::metrics::Trouble;
use crate::{Snapshot, State};

/// How many steps are taken among the other reviews: a few milliseconds.
const QUICK: u64 = 300_000;

/// How many steps are taken at all.
const SLOW: u64 = 40_000_000;

/// How often it is decided anew because something was looked up.
const ROUNDS: usize = 8;

/// How much is looked up for one review.
const QUERIES: usize = 32;

/// A review, and everything that its decision needs: it may move to another thread.
pub(super) struct Case {
    state: Arc<State>,
    snapshot: Arc<Snapshot>,
    hook: Text,
    review: Review,
    answers: OpenWorld,
    asked: usize,
}

impl Case {
    pub(super) fn new(state: Arc<State>, snapshot: Arc<Snapshot>, hook: &str, review: Review) -> Self {
        Self { state, snapshot, hook: hook.into(), review, answers: OpenWorld::default(), asked: 0 }
    }

    fn decide(&self, total: u64) -> Result<Decision, Undecided> {
        let learnt = (self.asked > 0).then_some(&self.answers);
        let world = Seen { known: &*self.state.world, learnt };
        decide(&self.snapshot, &self.hook, &self.review.request, &world, total)
            .ok_or(Undecided::Trouble(Trouble::Panic))
    }
}

/// Decides `case` before `deadline`.
pub(super) async fn decided(mut case: Case, deadline: Instant) -> Result<(Review, Decision), Undecided> {
    let mut round = 0;
    loop {
        let mut decision = case.decide(QUICK)?;
        if decision.is_unfinished {
            (case, decision) = apart(case, deadline).await?;
        }
        round += 1;
        // A rule that asks on where nobody answers any more has its error.
        let is_open = !decision.queries.is_empty() && case.state.lookup.is_there();
        if !is_open || round > ROUNDS + 2 {
            return Ok((case.review, decision));
        }
        for query in decision.queries {
            let found = if round >= ROUNDS || case.asked >= QUERIES {
                Err("the rules ask for too much".to_owned())
            } else {
                look_up(&case.state, &query, deadline).await
            };
            case.asked += 1;
            match found {
                Ok(answer) => case.answers.learn(query, answer),
                Err(failure) => case.answers.fail(query, failure),
            }
        }
    }
}

/// Decides without anybody to ask.
pub(super) fn at_once(
    snapshot: &Snapshot,
    hook: &str,
    request: &Request,
    world: &dyn World,
) -> Option<Decision> {
    decide(snapshot, hook, request, world, SLOW).filter(|decision| !decision.is_unfinished)
}

/// Decides in the slow lane.
async fn apart(case: Case, deadline: Instant) -> Result<(Case, Decision), Undecided> {
    let state = Arc::clone(&case.state);
    state.metrics.went_slow();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let work = Box::new(move || {
        let decision = case.decide(SLOW);
        // Who asked may be gone.
        let _ = sender.send(decision.map(|decision| (case, decision)));
    });
    if !state.slow.take(work, deadline) {
        return Err(Undecided::Overload);
    }
    let answered = tokio::time::timeout_at(deadline.into(), receiver).await;
    let Ok(Ok(decided)) = answered else { return Err(Undecided::Trouble(Trouble::Deadline)) };
    let (case, decision) = decided?;
    if decision.is_unfinished {
        return Err(Undecided::Trouble(Trouble::Steps));
    }
    Ok((case, decision))
}

async fn look_up(
    state: &State,
    query: &Query,
    deadline: Instant,
) -> Result<Option<kubewright_value::Value>, String> {
    state.metrics.looked_up();
    let looking = state.lookup.look_up(query, deadline);
    let found = tokio::time::timeout_at(deadline.into(), looking).await;
    found.unwrap_or_else(|_| Err("there was no time left to ask".to_owned()))
}

/// Nothing a rule contains should panic; where it does, it is the error of this review and of no other.
fn decide(
    snapshot: &Snapshot,
    hook: &str,
    request: &Request,
    world: &dyn World,
    total: u64,
) -> Option<Decision> {
    let settings = Settings {
        occasion: Some(Occasion::Admission),
        total: Some(total),
        keeps_identity: true,
        ..Settings::default()
    };
    let nothing = Engine::default();
    let engine = snapshot.engine(hook).unwrap_or(&nothing);
    catch_unwind(AssertUnwindSafe(|| engine.decide(request, world, &settings))).ok()
}

/// What is known of the cluster, and what was learnt for this review.
struct Seen<'a> {
    known: &'a dyn World,
    learnt: Option<&'a OpenWorld>,
}

impl World for Seen<'_> {
    fn get(&self, query: &Query) -> Answer {
        match self.learnt.map(|learnt| learnt.get(query)) {
            None | Some(Answer::Unknown) => self.known.get(query),
            Some(answer) => answer,
        }
    }

    fn given(
        &self,
        rule: &kubewright_engine::RuleId,
        request: &Request,
    ) -> Vec<(Text, kubewright_value::Value)> {
        self.known.given(rule, request)
    }
}
