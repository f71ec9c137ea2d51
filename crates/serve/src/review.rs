//! One review: the bytes that the API server sends, and the bytes that it gets.
//!
//! Read, decide, say it in the words of the rules' languages, tell those who should know. What we ourselves cannot do
//! is an HTTP error, so that the API server does what the webhook's failure policy says; it is never "allowed".

mod decide;
mod overruns;
mod read;
mod tell;
mod verdict;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use kubewright_engine::Decision;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::Text;

use crate::http::{Answer, Call, ok, problem};
use crate::metrics::{Overload, Trouble};
use crate::{Snapshot, State};
pub(crate) use overruns::Overruns;
pub use read::{BadReview, Review};
pub use verdict::Verdict;

/// How long is waited before it is looked again whether something is known.
const MOMENT: Duration = Duration::from_millis(10);

/// Why a review was not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undecided {
    Trouble(Trouble),
    Overload,
}

/// Answers the review of `call`.
pub(crate) async fn answer(state: &Arc<State>, mut call: Call) -> Answer {
    let begun = Instant::now();
    let deadline = call.deadline;
    if !state.readiness.is_loaded() {
        return undecided(state, &call.hook, "", Undecided::Trouble(Trouble::Unsynced));
    }
    // The text is not needed while the rules are asked.
    let bytes = std::mem::take(&mut call.bytes);
    let mut review = match Review::read(&bytes) {
        Ok(review) => review,
        Err(BadReview(message)) => {
            state.metrics.refused_request();
            return problem(StatusCode::BAD_REQUEST, &message);
        }
    };
    drop(bytes);
    let hook = call.hook.as_str();
    let snapshot = state.snapshot.load_full();
    if snapshot.needs.role_bindings {
        let Some(roles) = roles_of(state, &review, deadline).await else {
            return undecided(state, hook, &review.request.uid, Undecided::Trouble(Trouble::Unsynced));
        };
        (review.request.roles, review.request.cluster_roles) = roles;
    }
    let uid = review.request.uid.clone();
    let case = decide::Case::new(state, &snapshot, &call, review);
    match decide::decided(case, deadline).await {
        Ok((review, decision)) => {
            let said = || Verdict::of(&snapshot, &review, &decision);
            let Ok(verdict) = catch_unwind(AssertUnwindSafe(said)) else {
                return undecided(state, hook, &uid, Undecided::Trouble(Trouble::Panic));
            };
            let body = verdict.written(&review.request.uid);
            let told = tell::Told { state, snapshot: &snapshot, hook, review: &review };
            told.tell(&decision, &verdict, begun.elapsed());
            if state.traces.is_on() {
                told.trace(&decision, call.parent, begun.elapsed());
            }
            ok(body)
        }
        Err(reason) => undecided(state, hook, &uid, reason),
    }
}

/// Returns that a review for `hook` was not answered in time.
pub(crate) fn late(state: &State, hook: &str) -> Answer {
    undecided(state, hook, "", Undecided::Trouble(Trouble::Deadline))
}

/// Returns the roles of the one who asks. Where a rule has only just come that needs them, they take a moment.
async fn roles_of(state: &State, review: &Review, deadline: Instant) -> Option<(Vec<Text>, Vec<Text>)> {
    let AdmissionRequest { user, namespace, .. } = &review.request;
    loop {
        match state.roles.of(user, namespace) {
            None if Instant::now() < deadline => tokio::time::sleep(MOMENT).await,
            roles => return roles,
        }
    }
}

fn undecided(state: &State, hook: &str, uid: &str, reason: Undecided) -> Answer {
    let (status, message) = match reason {
        Undecided::Overload => {
            state.metrics.overloaded(Overload::SlowLane);
            (StatusCode::TOO_MANY_REQUESTS, "too many slow reviews are under way")
        }
        Undecided::Trouble(trouble) => {
            state.metrics.troubled(trouble);
            match trouble {
                Trouble::Panic => (StatusCode::INTERNAL_SERVER_ERROR, "a rule made the program fail"),
                Trouble::Deadline => (StatusCode::INTERNAL_SERVER_ERROR, "the rules took too long"),
                Trouble::Steps => (StatusCode::INTERNAL_SERVER_ERROR, "the rules took too many steps"),
                Trouble::Unsynced => (StatusCode::SERVICE_UNAVAILABLE, "the rules are not loaded yet"),
            }
        }
    };
    let line = state.log.line(crate::log::Level::Error, "a review could not be decided");
    line.text("uid", uid).text("webhook", hook).text("reason", message).write();
    problem(status, message)
}

/// Returns whether an answer may change the object.
fn may_patch(review: &Review, decision: &Decision) -> bool {
    decision.is_allowed
        && review.has_object
        && matches!(review.request.operation, Operation::Create | Operation::Update)
}

/// Returns what `bytes`, an AdmissionReview, is answered with the rules behind `hook` of `snapshot`, where nobody can be
/// asked for anything; `None` where it could not be decided.
///
/// # Errors
/// When it is no review.
pub fn answered(snapshot: &Snapshot, hook: &str, bytes: &[u8]) -> Result<Option<String>, BadReview> {
    let review = Review::read(bytes)?;
    let world = kubewright_engine::ClosedWorld::default();
    let Some(decision) = decide::at_once(snapshot, hook, &review.request, &world) else { return Ok(None) };
    let verdict = Verdict::of(snapshot, &review, &decision);
    Ok(Some(verdict.written(&review.request.uid)))
}
