//! What is asked besides reviews of objects: rule objects, bindings, and what would happen.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use hyper::StatusCode;
use kubewright_value::{Map, Value, json};

use super::{Answer, Call, ok, problem};
use crate::binding::Bound;
use crate::lane::LaneError;
use crate::log::Level;
use crate::metrics::{Overload, Trouble};
use crate::review::{BadReview, Review};
use crate::{State, binding, clock, dry_run, guard, validate};

/// How large a review of a rule object may be, and a dry run. A cluster stores no rule of more than 1.5 MiB, and a review
/// may have it twice.
const MAX_RULES_BYTES: usize = 4 << 20;
const MAX_DRY_RUN_BYTES: usize = 2 << 20;

/// Answers a review about a rule object. It is compiled in the lane beside, because that may take long.
pub(super) async fn rules(state: &Arc<State>, call: Call) -> Answer {
    if call.bytes.len() > MAX_RULES_BYTES {
        state.metrics.refused_request();
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "the review of a rule is larger than 4 MiB");
    }
    let there = Arc::clone(state);
    let deadline = call.deadline;
    let checked = state.side.run(move || checked(&there, &call), deadline).await;
    checked.unwrap_or_else(|error| not_done(state, error))
}

fn checked(state: &State, call: &Call) -> Answer {
    let review = match Review::read(&call.bytes) {
        Ok(review) => review,
        Err(bad) => return unread(state, &bad),
    };
    let snapshot = state.snapshot.load_full();
    let checked = catch_unwind(AssertUnwindSafe(|| validate::review(&snapshot, &review.raw)));
    let Ok(response) = checked else { return failed(state) };
    if response.get("allowed").and_then(Value::as_bool) != Some(true) {
        let told = response.str_at(&["status", "message"]);
        let line = state.log.line(Level::Info, "rule object refused").text("uid", &review.request.uid);
        line.text("object", &review.request.subject()).text("reason", told).write();
    }
    answered(response)
}

/// Answers a review about a namespace that is given a label that takes it out of all rules.
pub(super) fn guard(state: &State, bytes: &[u8]) -> Answer {
    let review = match Review::read(bytes) {
        Ok(review) => review,
        Err(bad) => return unread(state, &bad),
    };
    let response = guard::review(&state.snapshot.load(), &state.settings.guard_exempt, &review.raw);
    if response.get("allowed").and_then(Value::as_bool) != Some(true) {
        let told = response.str_at(&["status", "message"]);
        let line =
            state.log.line(Level::Warn, "label of a namespace refused").text("uid", &review.request.uid);
        line.text("namespace", &review.request.name).text("reason", told).write();
    }
    answered(response)
}

/// Answers a review about the binding of a pod.
pub(super) async fn binding(state: &State, bytes: &[u8], deadline: Instant) -> Answer {
    let review = match Review::read(bytes) {
        Ok(review) => review,
        Err(bad) => return unread(state, &bad),
    };
    let snapshot = state.snapshot.load_full();
    let (response, bound) = binding::review(&snapshot, state.client.as_ref(), &review.raw, deadline).await;
    let reason = match bound {
        Bound::Nothing | Bound::Told => return answered(response),
        Bound::Late => "the API server takes long, it is still being tried".to_owned(),
        Bound::Failed(why) => why,
    };
    let line = state.log.line(Level::Warn, "a pod was not told of its node").text("uid", &review.request.uid);
    line.text("namespace", &review.request.namespace)
        .text("name", &review.request.name)
        .text("reason", &reason)
        .write();
    answered(response)
}

/// Answers what would happen, in the lane beside, where the work ends at the deadline.
pub(super) async fn dry_run(state: &Arc<State>, call: Call) -> Answer {
    if call.bytes.len() > MAX_DRY_RUN_BYTES {
        state.metrics.refused_request();
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "a dry run is larger than 2 MiB");
    }
    let deadline = call.deadline;
    let Ok(_waiting) = state.waiting_dry_runs.try_acquire() else {
        return not_done(state, LaneError::Full);
    };
    let turn = Arc::clone(&state.dry_runs).acquire_owned();
    let Ok(Ok(turn)) = tokio::time::timeout_at(deadline.into(), turn).await else {
        return not_done(state, LaneError::Full);
    };
    let snapshot = state.snapshot.load_full();
    let tried = move || {
        let _turn = turn;
        catch_unwind(AssertUnwindSafe(|| {
            dry_run::answer(&snapshot, &call.bytes, Some(clock::deadline(call.deadline)))
        }))
        .ok()
    };
    match state.side.run(tried, deadline).await {
        Ok(Some((status, body))) => {
            let mut answer = ok(body);
            *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            answer
        }
        Ok(None) => failed(state),
        Err(error) => not_done(state, error),
    }
}

/// Returns that the lane beside could not do what was asked.
fn not_done(state: &State, error: LaneError) -> Answer {
    match error {
        LaneError::Full => {
            state.metrics.overloaded(Overload::SlowLane);
            problem(StatusCode::TOO_MANY_REQUESTS, "too many slow requests are under way")
        }
        LaneError::Deadline => problem(StatusCode::GATEWAY_TIMEOUT, "the rules took too long"),
    }
}

fn unread(state: &State, BadReview(message): &BadReview) -> Answer {
    state.metrics.refused_request();
    problem(StatusCode::BAD_REQUEST, message)
}

fn answered(response: Value) -> Answer {
    let review = Map::from([
        ("apiVersion", "admission.k8s.io/v1".into()),
        ("kind", "AdmissionReview".into()),
        ("response", response),
    ]);
    ok(json::to_string(&review.into()))
}

pub(super) fn failed(state: &State) -> Answer {
    state.metrics.troubled(Trouble::Panic);
    problem(StatusCode::INTERNAL_SERVER_ERROR, "the program failed")
}
