//! The decision of one review: at once if it is quick, in a lane if it is not, and again after lookups.
//!
//! A decision that takes too long is interrupted and started again in the next lane, which has more time. An interrupted
//! decision is never used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use kubewright_engine::{
    Decision, DecisionSettings, Engine, EvaluationMode, OpenWorld, Query, QueryAnswer, World,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Text, Value};
use tokio::runtime::Handle;

use super::{AdmissionReview, UndecidedReview};
use crate::http::{RequestResources, WebhookCall};
use crate::lane::{Lane, LaneError};
use crate::metrics::{MetricId, UndecidedReason};
use crate::{ServerState, Snapshot, clock};

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
const MAX_REVIEW_STEPS: u64 = 40_000_000;

/// How often it is decided anew because something was looked up. Each image of a Pod takes up to three lookups.
const MAX_LOOKUP_ROUNDS: usize = 32;

/// How much is looked up for one review.
const MAX_LOOKUPS_PER_REVIEW: usize = 64;

/// A review, and everything that its decision needs: it may move to another thread.
pub(super) struct PendingReview {
    state: Arc<ServerState>,
    snapshot: Arc<Snapshot>,
    hook: Text,
    review: AdmissionReview,
    answers: OpenWorld,
    asked: usize,
    /// The runtime that talks to the cluster, where the review is not in it.
    home: Option<Handle>,
    /// The permits of the request; released when it is decided, even if the client is gone.
    _held: Arc<RequestResources>,
}

impl PendingReview {
    pub(super) fn new(
        state: &Arc<ServerState>,
        snapshot: &Arc<Snapshot>,
        call: &WebhookCall,
        review: AdmissionReview,
    ) -> Self {
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

    fn decide(&self, total: u64, deadline: Instant) -> Result<Decision, UndecidedReview> {
        let learnt = (self.asked > 0).then_some(&self.answers);
        let world = ReviewWorld { known: &*self.state.world, learnt };
        let settings = DecisionSettings {
            total: Some(total),
            deadline: Some(clock::engine_deadline(deadline)),
            leaves_out_passes: !self.state.shows_passes(),
            ..review_settings()
        };
        decide_safely(&self.snapshot, &self.hook, &self.review.request, &world, &settings)
            .ok_or(UndecidedReview::UndecidedReason(UndecidedReason::Panic))
    }

    /// Decides for at most `time`, and remembers where that was not kept.
    fn decide_within(
        &self,
        total: u64,
        time: Duration,
        deadline: Instant,
    ) -> Result<Decision, UndecidedReview> {
        let begun = Instant::now();
        let decision = self.decide(total, deadline.min(begun + time));
        if begun.elapsed() > time + OVERRUN_TIME {
            self.state.metrics.count(MetricId::ReviewOverruns);
            self.state.overruns.mark(&self.hook, &self.review.request.kind.kind);
        }
        decision
    }

    fn is_marked(&self) -> bool {
        self.state.overruns.is_marked(&self.hook, &self.review.request.kind.kind)
    }
}

/// Decides `case` before `deadline`.
pub(super) async fn decide_review(
    mut case: PendingReview,
    deadline: Instant,
) -> Result<(AdmissionReview, Decision), UndecidedReview> {
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
                (case, decision) = decide_in_lanes(case, deadline).await?;
                decision
            }
        };
        round += 1;
        // If lookups are not possible, a rule with an open query keeps its error.
        let is_open = !decision.queries.is_empty() && case.state.lookup.is_there();
        if !is_open || round > MAX_LOOKUP_ROUNDS + 2 {
            return Ok((case.review, decision));
        }
        for query in decision.queries {
            let found = if round >= MAX_LOOKUP_ROUNDS || case.asked >= MAX_LOOKUPS_PER_REVIEW {
                Err("too many lookups".to_owned())
            } else {
                look_up_query(&case, &query, deadline).await
            };
            case.asked += 1;
            match found {
                Ok(answer) => case.answers.learn(query, answer),
                Err(failure) => case.answers.fail(query, failure),
            }
        }
    }
}

/// Decides without lookups.
pub(super) fn decide_without_lookups(
    snapshot: &Snapshot,
    hook: &str,
    request: &AdmissionRequest,
    world: &dyn World,
) -> Option<Decision> {
    let settings =
        DecisionSettings { total: Some(MAX_REVIEW_STEPS), leaves_out_passes: true, ..review_settings() };
    decide_safely(snapshot, hook, request, world, &settings).filter(|decision| !decision.is_unfinished)
}

/// Decides apart from the other reviews: for a while with those that are not quick, then with those that are slow.
async fn decide_in_lanes(
    mut case: PendingReview,
    deadline: Instant,
) -> Result<(PendingReview, Decision), UndecidedReview> {
    let state = Arc::clone(&case.state);
    state.metrics.count(MetricId::SlowReviews);
    if !case.is_marked() {
        let decision;
        (case, decision) = decide_in_lane(&state.medium, case, Some(MEDIUM_TIME), deadline).await?;
        if !decision.is_unfinished {
            return Ok((case, decision));
        }
    }
    let (case, decision) = decide_in_lane(&state.slow, case, None, deadline).await?;
    match decision.is_unfinished {
        false => Ok((case, decision)),
        true if Instant::now() >= deadline => {
            Err(UndecidedReview::UndecidedReason(UndecidedReason::Deadline))
        }
        true => Err(UndecidedReview::UndecidedReason(UndecidedReason::Steps)),
    }
}

/// Decides in `lane`, for as long as `slice` says or until `deadline`.
async fn decide_in_lane(
    lane: &Lane,
    case: PendingReview,
    slice: Option<Duration>,
    deadline: Instant,
) -> Result<(PendingReview, Decision), UndecidedReview> {
    let work = move || {
        let decision = match slice {
            Some(slice) => case.decide_within(MEDIUM_STEPS, slice, deadline),
            None => case.decide(MAX_REVIEW_STEPS, deadline),
        };
        decision.map(|decision| (case, decision))
    };
    match lane.run(work, deadline).await {
        Ok(decided) => decided,
        Err(LaneError::Full) => Err(UndecidedReview::OverloadReason),
        Err(LaneError::Deadline) => Err(UndecidedReview::UndecidedReason(UndecidedReason::Deadline)),
    }
}

async fn look_up_query(
    case: &PendingReview,
    query: &Query,
    deadline: Instant,
) -> Result<Option<Value>, String> {
    let (state, query) = (Arc::clone(&case.state), query.clone());
    let looking = async move {
        state.metrics.count(MetricId::Lookups);
        let looking = state.lookup.look_up(&query, deadline);
        let found = tokio::time::timeout_at(deadline.into(), looking).await;
        found.unwrap_or_else(|_| Err("the lookup timed out".to_owned()))
    };
    match &case.home {
        None => looking.await,
        // Connections to the cluster live where nothing large keeps them waiting.
        Some(home) => {
            home.spawn(looking).await.unwrap_or_else(|_| Err("the lookup was cancelled".to_owned()))
        }
    }
}

/// Returns what all reviews are decided with.
fn review_settings() -> DecisionSettings {
    DecisionSettings {
        evaluation_mode: Some(EvaluationMode::Admission),
        keeps_identity: true,
        abridges_patches: true,
        leaves_out_reasons: true,
        leaves_out_places: true,
        ..DecisionSettings::default()
    }
}

/// Nothing a rule contains should panic; where it does, it is the error of this review and of no other.
fn decide_safely(
    snapshot: &Snapshot,
    hook: &str,
    request: &AdmissionRequest,
    world: &dyn World,
    settings: &DecisionSettings,
) -> Option<Decision> {
    static NO_RULES: LazyLock<Engine> = LazyLock::new(Engine::default);
    let engine = snapshot.engine(hook).unwrap_or_else(|| &NO_RULES);
    catch_unwind(AssertUnwindSafe(|| engine.decide(request, world, settings))).ok()
}

/// What is known of the cluster, and what was learnt for this review.
struct ReviewWorld<'a> {
    known: &'a dyn World,
    learnt: Option<&'a OpenWorld>,
}

impl World for ReviewWorld<'_> {
    fn get(&self, query: &Query) -> QueryAnswer {
        match self.learnt.map(|learnt| learnt.get(query)) {
            None | Some(QueryAnswer::Unknown) => self.known.get(query),
            Some(answer) => answer,
        }
    }

    fn overrides(&self, rule: &kubewright_engine::RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        self.known.overrides(rule, request)
    }
}
