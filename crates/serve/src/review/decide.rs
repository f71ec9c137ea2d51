//! The decision of one review: at once where it is quick, apart from the others where it is not, and again where rules
//! ask for what nobody knew.
//!
//! Whatever takes long is interrupted when its time is over, and begins anew where there is more time. An interrupted
//! decision is never used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_engine::{Answer, Decision, Engine, EvaluationMode, OpenWorld, Query, Settings, World};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Text, Value};
use tokio::runtime::Handle;

use super::{Review, Undecided};
use crate::http::{Call, Held};
use crate::lane::{Lane, LaneError};
use crate::metrics::Trouble;
use crate::{Snapshot, State, clock};

/// How many steps are taken among the other reviews, and for how long: a few milliseconds.
const QUICK_STEPS: u64 = 300_000;
const QUICK_TIME: Duration = Duration::from_millis(20);

/// From how long on a review has kept the others waiting: its steps take longer than steps should.
const OVERRUN_TIME: Duration = Duration::from_millis(100);

/// How many steps are taken in the lane for reviews that are not quick, and for how long. What is not done then goes on in
/// the slow lane, so that a slow rule holds up slow rules alone.
const MEDIUM_STEPS: u64 = 4_000_000;
const MEDIUM_TIME: Duration = Duration::from_millis(200);

/// How many steps are taken at all.
const MAX_STEPS: u64 = 40_000_000;

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
    /// The runtime that talks to the cluster, where the review is not in it.
    home: Option<Handle>,
    /// What the review takes; given back when it is decided, even where nobody waits for it any more.
    _held: Arc<Held>,
}

impl Case {
    pub(super) fn new(state: &Arc<State>, snapshot: &Arc<Snapshot>, call: &Call, review: Review) -> Self {
        Self {
            state: Arc::clone(state),
            snapshot: Arc::clone(snapshot),
            hook: call.hook.as_str().into(),
            review,
            answers: OpenWorld::default(),
            asked: 0,
            home: call.home.clone(),
            _held: Arc::clone(&call.held),
        }
    }

    fn decide(&self, total: u64, deadline: Instant) -> Result<Decision, Undecided> {
        let learnt = (self.asked > 0).then_some(&self.answers);
        let world = Seen { known: &*self.state.world, learnt };
        decide(&self.snapshot, &self.hook, &self.review.request, &world, (total, Some(deadline)))
            .ok_or(Undecided::Trouble(Trouble::Panic))
    }

    /// Decides for at most `time`, and remembers where that was not kept.
    fn decide_within(&self, total: u64, time: Duration, deadline: Instant) -> Result<Decision, Undecided> {
        let begun = Instant::now();
        let decision = self.decide(total, deadline.min(begun + time));
        if begun.elapsed() > time + OVERRUN_TIME {
            self.state.metrics.overran();
            self.state.overruns.mark(&self.hook, &self.review.request.kind.kind);
        }
        decision
    }

    fn is_marked(&self) -> bool {
        self.state.overruns.is_marked(&self.hook, &self.review.request.kind.kind)
    }
}

/// Decides `case` before `deadline`.
pub(super) async fn decided(mut case: Case, deadline: Instant) -> Result<(Review, Decision), Undecided> {
    let mut round = 0;
    loop {
        // What is large is never quick, and must not hold up the reading of others that are.
        let quick = match case.home.is_some() || case.is_marked() {
            true => None,
            false => Some(case.decide_within(QUICK_STEPS, QUICK_TIME, deadline)?),
        };
        let decision = match quick.filter(|decision| !decision.is_unfinished) {
            Some(decision) => decision,
            None => {
                let decision;
                (case, decision) = apart(case, deadline).await?;
                decision
            }
        };
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
                look_up(&case, &query, deadline).await
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
    request: &AdmissionRequest,
    world: &dyn World,
) -> Option<Decision> {
    decide(snapshot, hook, request, world, (MAX_STEPS, None)).filter(|decision| !decision.is_unfinished)
}

/// Decides apart from the other reviews: for a while with those that are not quick, then with those that are slow.
async fn apart(mut case: Case, deadline: Instant) -> Result<(Case, Decision), Undecided> {
    let state = Arc::clone(&case.state);
    state.metrics.went_slow();
    if !case.is_marked() {
        let decision;
        (case, decision) = in_lane(&state.medium, case, Some(MEDIUM_TIME), deadline).await?;
        if !decision.is_unfinished {
            return Ok((case, decision));
        }
    }
    let (case, decision) = in_lane(&state.slow, case, None, deadline).await?;
    match decision.is_unfinished {
        false => Ok((case, decision)),
        true if Instant::now() >= deadline => Err(Undecided::Trouble(Trouble::Deadline)),
        true => Err(Undecided::Trouble(Trouble::Steps)),
    }
}

/// Decides in `lane`, for as long as `slice` says or until `deadline`.
async fn in_lane(
    lane: &Lane,
    case: Case,
    slice: Option<Duration>,
    deadline: Instant,
) -> Result<(Case, Decision), Undecided> {
    let work = move || {
        let decision = match slice {
            Some(slice) => case.decide_within(MEDIUM_STEPS, slice, deadline),
            None => case.decide(MAX_STEPS, deadline),
        };
        decision.map(|decision| (case, decision))
    };
    match lane.run(work, deadline).await {
        Ok(decided) => decided,
        Err(LaneError::Full) => Err(Undecided::Overload),
        Err(LaneError::Deadline) => Err(Undecided::Trouble(Trouble::Deadline)),
    }
}

async fn look_up(case: &Case, query: &Query, deadline: Instant) -> Result<Option<Value>, String> {
    let (state, query) = (Arc::clone(&case.state), query.clone());
    let looking = async move {
        state.metrics.looked_up();
        let looking = state.lookup.look_up(&query, deadline);
        let found = tokio::time::timeout_at(deadline.into(), looking).await;
        found.unwrap_or_else(|_| Err("there was no time left to ask".to_owned()))
    };
    match &case.home {
        None => looking.await,
        // Connections to the cluster live where nothing large keeps them waiting.
        Some(home) => home.spawn(looking).await.unwrap_or_else(|_| Err("the lookup was given up".to_owned())),
    }
}

/// Nothing a rule contains should panic; where it does, it is the error of this review and of no other.
fn decide(
    snapshot: &Snapshot,
    hook: &str,
    request: &AdmissionRequest,
    world: &dyn World,
    (total, deadline): (u64, Option<Instant>),
) -> Option<Decision> {
    let settings = Settings {
        evaluation_mode: Some(EvaluationMode::Admission),
        total: Some(total),
        deadline: deadline.map(clock::deadline),
        keeps_identity: true,
        abridges_patches: true,
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

    fn overrides(&self, rule: &kubewright_engine::RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        self.known.overrides(rule, request)
    }
}
