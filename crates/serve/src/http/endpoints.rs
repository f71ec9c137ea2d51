//! The endpoints beside object reviews: rule objects, namespace labels, pod bindings, and dry runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use kubewright_cluster::DiscoveredResources;

use super::{HttpResponse, WebhookCall, error_response, json_response};
use crate::access::ask_access;
use crate::binding::PodBindingResult;
use crate::lane::LaneError;
use crate::log::LogLevel;
use crate::metrics::{MetricId, OverloadReason, UndecidedReason};
use crate::review::{AdmissionResponse, AdmissionReview, BadReview};
use crate::validate::{CheckedRuleObject, ServedKinds};
use crate::{ServerState, binding, clock, dry_run, guard, validate};

/// How large a review of a rule object may be, and a dry run. A cluster stores no rule of more than 1.5 MiB, and a review
/// may have it twice.
const MAX_RULE_REVIEW_BYTES: usize = 4 << 20;
const MAX_DRY_RUN_BYTES: usize = 2 << 20;

/// How often kinds are asked for again that a rule object names and discovery does not know, and after which pause.
const MAX_DISCOVERY_RETRIES: usize = 2;
const DISCOVERY_PAUSE: Duration = Duration::from_millis(1100);

/// Answers a review about a rule object. It is compiled in the side lane, because that may take long.
pub(super) async fn review_rule_object(state: &Arc<ServerState>, call: WebhookCall) -> HttpResponse {
    if call.bytes.len() > MAX_RULE_REVIEW_BYTES {
        state.metrics.count(MetricId::BadRequests);
        return error_response(StatusCode::PAYLOAD_TOO_LARGE, "the review of a rule is larger than 4 MiB");
    }
    let call = Arc::new(call);
    let known = match &state.discovery {
        Some(discovery) => discovery.resources().await.unwrap_or_default(),
        None => Arc::default(),
    };
    let (mut checked, mut is_missing) = match checked_in_lane(state, &call, known).await {
        Ok(checked) => checked,
        Err(error) => return lane_unavailable(state, error),
    };
    // A definition may be newer than what is known, and is served a moment after it is there.
    for _ in 0..MAX_DISCOVERY_RETRIES {
        let Some(discovery) = state.discovery.as_ref().filter(|_| is_missing) else { break };
        tokio::time::sleep(DISCOVERY_PAUSE).await;
        let newer = tokio::time::timeout_at(call.deadline.into(), discovery.refreshed()).await;
        let Ok(Ok(newer)) = newer else { break };
        (checked, is_missing) = match checked_in_lane(state, &call, newer).await {
            Ok(checked) => checked,
            Err(error) => return lane_unavailable(state, error),
        };
    }
    let (review, checked) = match checked {
        Ok(checked) => checked,
        Err(response) => return *response,
    };
    let response = with_access_checked(state, checked, call.deadline).await;
    if !response.is_allowed {
        let line = state.log.line(LogLevel::Info, "rule object refused").text("uid", &review.request.uid);
        line.text("object", &review.request.subject()).text("reason", &response.message).write();
    }
    review_response(&review, &response)
}

/// Returns the response after the API server was asked whether the controller may do what the rules ask of it.
async fn with_access_checked(
    state: &ServerState,
    checked: CheckedRuleObject,
    deadline: Instant,
) -> AdmissionResponse {
    let (Some(account), Some(client)) = (&state.settings.background_account, &state.client) else {
        return checked.response;
    };
    if checked.background.is_empty() {
        return checked.response;
    }
    let answers = ask_access(client, account, &checked.background, deadline).await;
    checked.with_answers(&state.snapshot.load_full(), account, &answers)
}

/// A review about a rule object that was checked, or the response to what is none.
type CheckedReview = Result<(AdmissionReview, CheckedRuleObject), Box<HttpResponse>>;

/// Checks a rule object with the kinds in `resources`. Returns also whether it names another.
async fn checked_in_lane(
    state: &Arc<ServerState>,
    call: &Arc<WebhookCall>,
    resources: Arc<DiscoveredResources>,
) -> Result<(CheckedReview, bool), LaneError> {
    let (there, call, deadline) = (Arc::clone(state), Arc::clone(call), call.deadline);
    let check = move || {
        let served = ServedKinds::of(resources);
        let response = checked_rule_object(&there, &call, &served);
        (response, served.is_missing())
    };
    state.side.run(check, deadline).await
}

fn checked_rule_object(state: &ServerState, call: &WebhookCall, served: &ServedKinds) -> CheckedReview {
    let review =
        AdmissionReview::read(&call.bytes).map_err(|bad| Box::new(unreadable_review(state, &bad)))?;
    let snapshot = state.snapshot.load_full();
    let checked =
        catch_unwind(AssertUnwindSafe(|| validate::check_rule_object(&snapshot, served, &review.raw)));
    checked.map(|checked| (review, checked)).map_err(|_| Box::new(panicked(state)))
}

/// Answers a review about a namespace that is given a label that exempts it from all rules.
pub(super) fn review_namespace_label(state: &ServerState, bytes: &[u8]) -> HttpResponse {
    let review = match AdmissionReview::read(bytes) {
        Ok(review) => review,
        Err(bad) => return unreadable_review(state, &bad),
    };
    let response =
        guard::review_guarded_label(&state.snapshot.load(), &state.settings.guard_exempt, &review.raw);
    if !response.is_allowed {
        let line =
            state.log.line(LogLevel::Warn, "label of a namespace refused").text("uid", &review.request.uid);
        line.text("namespace", &review.request.name).text("reason", &response.message).write();
    }
    review_response(&review, &response)
}

/// Answers a review about the binding of a pod.
pub(super) async fn review_pod_binding(state: &ServerState, bytes: &[u8], deadline: Instant) -> HttpResponse {
    let review = match AdmissionReview::read(bytes) {
        Ok(review) => review,
        Err(bad) => return unreadable_review(state, &bad),
    };
    let snapshot = state.snapshot.load_full();
    let bound = binding::review_binding(&snapshot, state.client.as_ref(), &review.raw, deadline).await;
    let reason = match bound {
        PodBindingResult::Unneeded | PodBindingResult::Annotated => None,
        PodBindingResult::Late => {
            Some("the API server is slow; the write goes on in the background".to_owned())
        }
        PodBindingResult::Failed(why) => Some(why),
    };
    if let Some(reason) = reason {
        let line = state.log.line(LogLevel::Warn, "could not annotate pod with its node");
        line.text("uid", &review.request.uid)
            .text("namespace", &review.request.namespace)
            .text("name", &review.request.name)
            .text("reason", &reason)
            .write();
    }
    review_response(&review, &AdmissionResponse::allowed())
}

/// Answers a dry run, in the side lane, where the work ends at the deadline.
pub(super) async fn answer_dry_run(state: &Arc<ServerState>, call: WebhookCall) -> HttpResponse {
    if call.bytes.len() > MAX_DRY_RUN_BYTES {
        state.metrics.count(MetricId::BadRequests);
        return error_response(StatusCode::PAYLOAD_TOO_LARGE, "a dry run is larger than 2 MiB");
    }
    let deadline = call.deadline;
    let Ok(_waiting) = state.waiting_dry_runs.try_acquire() else {
        return lane_unavailable(state, LaneError::Full);
    };
    let turn = Arc::clone(&state.dry_runs).acquire_owned();
    let Ok(Ok(turn)) = tokio::time::timeout_at(deadline.into(), turn).await else {
        return lane_unavailable(state, LaneError::Full);
    };
    let snapshot = state.snapshot.load_full();
    let tried = move || {
        let _turn = turn;
        catch_unwind(AssertUnwindSafe(|| {
            dry_run::run_dry_run(&snapshot, &call.bytes, Some(clock::engine_deadline(call.deadline)))
        }))
        .ok()
    };
    match state.side.run(tried, deadline).await {
        Ok(Some((status, body))) => {
            let mut answer = json_response(body);
            *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            answer
        }
        Ok(None) => panicked(state),
        Err(error) => lane_unavailable(state, error),
    }
}

/// Returns the error for work that the side lane did not do.
fn lane_unavailable(state: &ServerState, error: LaneError) -> HttpResponse {
    match error {
        LaneError::Full => {
            state.metrics.overloaded(OverloadReason::SlowLane);
            error_response(StatusCode::TOO_MANY_REQUESTS, "too many slow requests are under way")
        }
        LaneError::Deadline => error_response(StatusCode::GATEWAY_TIMEOUT, "the rules took too long"),
    }
}

fn unreadable_review(state: &ServerState, BadReview(message): &BadReview) -> HttpResponse {
    state.metrics.count(MetricId::BadRequests);
    error_response(StatusCode::BAD_REQUEST, message)
}

fn review_response(review: &AdmissionReview, response: &AdmissionResponse) -> HttpResponse {
    json_response(response.to_review(&review.request.uid))
}

pub(super) fn panicked(state: &ServerState) -> HttpResponse {
    state.metrics.undecided(UndecidedReason::Panic);
    error_response(StatusCode::INTERNAL_SERVER_ERROR, "the request panicked")
}
