//! What is asked besides reviews of objects: rule objects, bindings, and what would happen.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::StatusCode;
use kubewright_value::{Map, Value, json};

use super::{Answer, ok, problem};
use crate::binding::Bound;
use crate::log::Level;
use crate::metrics::{Overload, Trouble};
use crate::review::{BadReview, Review};
use crate::{State, binding, dry_run, guard, validate};

/// Answers a review about a rule object.
pub(super) fn rules(state: &State, bytes: &[u8]) -> Answer {
    let review = match Review::read(bytes) {
        Ok(review) => review,
        Err(bad) => return unread(state, &bad),
    };
    let snapshot = state.snapshot.load();
    let checked = catch_unwind(AssertUnwindSafe(|| validate::review(&snapshot, &review.raw)));
    let Ok(response) = checked else { return failed(state) };
    if response.get("allowed").and_then(Value::as_bool) != Some(true) {
        let told = response.at(&["status", "message"]).and_then(Value::as_str).unwrap_or_default();
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
        let told = response.at(&["status", "message"]).and_then(Value::as_str).unwrap_or_default();
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

/// Answers what would happen. It may take as many steps as a slow review, and takes them beside those.
pub(super) async fn dry_run(state: &Arc<State>, bytes: Bytes, deadline: Instant) -> Answer {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let snapshot = state.snapshot.load_full();
    let work = Box::new(move || {
        let tried = catch_unwind(AssertUnwindSafe(|| dry_run::answer(&snapshot, &bytes)));
        // Who asked may be gone.
        let _ = sender.send(tried.ok());
    });
    if !state.tries.take(work, deadline) {
        state.metrics.overloaded(Overload::SlowLane);
        return problem(StatusCode::TOO_MANY_REQUESTS, "too many slow requests are under way");
    }
    match tokio::time::timeout_at(deadline.into(), receiver).await {
        Ok(Ok(Some((status, body)))) => {
            let mut answer = ok(body);
            *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            answer
        }
        Ok(_) => failed(state),
        Err(_) => problem(StatusCode::GATEWAY_TIMEOUT, "the rules took too long"),
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

fn failed(state: &State) -> Answer {
    state.metrics.troubled(Trouble::Panic);
    problem(StatusCode::INTERNAL_SERVER_ERROR, "the program failed")
}
