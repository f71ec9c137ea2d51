//! One admission review: read, decide, respond, observe.
//!
//! A review that cannot be decided is an HTTP error, so that the API server applies the failurePolicy of the webhook; it
//! is never answered with "allowed".

mod decide;
mod observe;
mod overruns;
mod read;
mod response;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use kubewright_engine::Decision;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::Text;

use crate::http::{HttpResponse, WebhookCall, error_response, json_response};
use crate::metrics::{MetricId, OverloadReason, UndecidedReason};
use crate::{ServerState, Snapshot};
pub(crate) use overruns::Overruns;
pub use read::{AdmissionReview, BadReview};
pub use response::AdmissionResponse;

/// How long is waited before it is looked again whether something is known.
const ROLES_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Why a review was not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UndecidedReview {
    UndecidedReason(UndecidedReason),
    OverloadReason,
}

/// Answers the review of `call`.
pub(crate) async fn answer_review(state: &Arc<ServerState>, mut call: WebhookCall) -> HttpResponse {
    let begun = Instant::now();
    let deadline = call.deadline;
    if !state.readiness.is_loaded() {
        return undecided_response(
            state,
            &call.hook,
            "",
            UndecidedReview::UndecidedReason(UndecidedReason::Unsynced),
        );
    }
    // The body is freed before the rules are evaluated, because large reviews take memory twice otherwise.
    let bytes = std::mem::take(&mut call.bytes);
    let hook = call.hook.as_str();
    let snapshot = state.snapshot.load_full();
    let mut review = match snapshot.read_review(hook, &bytes) {
        Ok(review) => review,
        Err(BadReview(message)) => {
            state.metrics.count(MetricId::BadRequests);
            return error_response(StatusCode::BAD_REQUEST, &message);
        }
    };
    drop(bytes);
    if snapshot.needs.role_bindings {
        let Some(roles) = roles_of(state, &review, deadline).await else {
            return undecided_response(
                state,
                hook,
                &review.request.uid,
                UndecidedReview::UndecidedReason(UndecidedReason::Unsynced),
            );
        };
        (review.request.roles, review.request.cluster_roles) = roles;
    }
    let uid = review.request.uid.clone();
    let case = decide::PendingReview::new(state, &snapshot, &call, review);
    match decide::decide_review(case, deadline).await {
        Ok((review, decision)) => {
            let responding = || AdmissionResponse::of(&snapshot, &review, &decision);
            let Ok(response) = catch_unwind(AssertUnwindSafe(responding)) else {
                return undecided_response(
                    state,
                    hook,
                    &uid,
                    UndecidedReview::UndecidedReason(UndecidedReason::Panic),
                );
            };
            let body = response.to_review(&review.request.uid);
            let observer = observe::ReviewObserver { state, snapshot: &snapshot, hook, review: &review };
            observer.observe(&decision, &response, begun.elapsed());
            if state.traces.is_on() {
                observer.trace(&decision, call.parent, begun.elapsed());
            }
            json_response(body)
        }
        Err(reason) => undecided_response(state, hook, &uid, reason),
    }
}

/// Returns that a review for `hook` was not answered in time.
pub(crate) fn review_timed_out(state: &ServerState, hook: &str) -> HttpResponse {
    undecided_response(state, hook, "", UndecidedReview::UndecidedReason(UndecidedReason::Deadline))
}

/// Returns the roles of the requesting user. Right after the first rule that needs roles, this waits for the watch.
async fn roles_of(
    state: &ServerState,
    review: &AdmissionReview,
    deadline: Instant,
) -> Option<(Vec<Text>, Vec<Text>)> {
    let AdmissionRequest { user, namespace, .. } = &review.request;
    loop {
        match state.roles.of(user, namespace) {
            None if Instant::now() < deadline => tokio::time::sleep(ROLES_POLL_INTERVAL).await,
            roles => return roles,
        }
    }
}

fn undecided_response(state: &ServerState, hook: &str, uid: &str, reason: UndecidedReview) -> HttpResponse {
    let (status, message) = match reason {
        UndecidedReview::OverloadReason => {
            state.metrics.overloaded(OverloadReason::SlowLane);
            (StatusCode::TOO_MANY_REQUESTS, "too many slow reviews are under way")
        }
        UndecidedReview::UndecidedReason(trouble) => {
            state.metrics.undecided(trouble);
            match trouble {
                UndecidedReason::Panic => (StatusCode::INTERNAL_SERVER_ERROR, "the review panicked"),
                UndecidedReason::Deadline => (StatusCode::INTERNAL_SERVER_ERROR, "the rules took too long"),
                UndecidedReason::Steps => {
                    (StatusCode::INTERNAL_SERVER_ERROR, "the rules took too many steps")
                }
                UndecidedReason::Unsynced => {
                    (StatusCode::SERVICE_UNAVAILABLE, "the rules are not loaded yet")
                }
            }
        }
    };
    let line = state.log.line(crate::log::LogLevel::Error, "review could not be decided");
    line.text("uid", uid).text("webhook", hook).text("reason", message).write();
    error_response(status, message)
}

/// Returns whether an answer may change the object.
fn may_patch(review: &AdmissionReview, decision: &Decision) -> bool {
    decision.is_allowed
        && review.has_object
        && matches!(review.request.operation, Operation::Create | Operation::Update)
}

/// Returns the answer to `bytes`, an AdmissionReview, by the rules behind `hook` of `snapshot`, without lookups; `None` if
/// it could not be decided.
///
/// # Errors
/// When it is not an AdmissionReview.
pub fn decide_offline(snapshot: &Snapshot, hook: &str, bytes: &[u8]) -> Result<Option<String>, BadReview> {
    let review = snapshot.read_review(hook, bytes)?;
    let world = kubewright_engine::ClosedWorld::default();
    let Some(decision) = decide::decide_without_lookups(snapshot, hook, &review.request, &world) else {
        return Ok(None);
    };
    let response = AdmissionResponse::of(snapshot, &review, &decision);
    Ok(Some(response.to_review(&review.request.uid)))
}

#[cfg(test)]
mod tests;
