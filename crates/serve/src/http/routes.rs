//! Routes: which endpoint answers which path.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use tokio::runtime::Handle;

use super::bounds::{BodyPermit, InFlightPermit, MAX_SMALL_BODY_BYTES, MemoryPermit, RequestResources};
use super::connections::RequestGuard;
use super::turns::ConnectionTurns;
use super::{HttpResponse, body, endpoints, error_response};
use crate::ServerState;
use crate::metrics::MetricId;
use crate::review;
use crate::traces::TraceParent;

/// What the API server waits when it does not say.
const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How much earlier we are.
const ANSWER_MARGIN: Duration = Duration::from_millis(500);

/// Where rule objects are checked, pods that are bound told of, labels of namespaces guarded, and rules tried out.
const RULES_PATH: &str = "rules";
const BINDING_PATH: &str = "binding";
const GUARD_PATH: &str = "guard";
const DRY_RUN_PATH: &str = "v1/dryrun";

/// How long a path may be: no webhook of ours has a longer name.
const MAX_PATH_BYTES: usize = 300;

/// What was asked, with everything that it takes while it is under way.
pub(crate) struct WebhookCall {
    /// The path, without the slash before it.
    pub(crate) hook: String,
    pub(crate) bytes: Bytes,
    pub(crate) deadline: Instant,
    pub(crate) parent: Option<TraceParent>,
    pub(crate) held: Arc<RequestResources>,
    /// The runtime that serves connections, where this is answered in another one.
    pub(crate) home: Option<Handle>,
}

/// Answers `request`.
pub(super) async fn route_request(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
    under_way: &RequestGuard,
    turns: &ConnectionTurns,
) -> HttpResponse {
    let begun = Instant::now();
    let path = request.uri().path();
    let known = path.strip_prefix('/').filter(|hook| hook.len() <= MAX_PATH_BYTES && is_hook(hook));
    let Some(hook) = known.map(str::to_owned) else {
        state.metrics.count(MetricId::BadRequests);
        return error_response(StatusCode::NOT_FOUND, "not found");
    };
    let method = if hook == DRY_RUN_PATH { Method::PUT } else { Method::POST };
    if request.method() != method {
        state.metrics.count(MetricId::BadRequests);
        return error_response(StatusCode::METHOD_NOT_ALLOWED, &format!("use {method}"));
    }
    let deadline = begun + time_left(request.uri().query().unwrap_or_default());
    let parent = state.traces.is_on().then(|| trace_parent(&request)).flatten();
    let (bytes, room) = match body::read_body(state, request, turns).await {
        Ok(read) => read,
        Err(answer) => {
            state.metrics.count(MetricId::BadRequests);
            return answer;
        }
    };
    under_way.decides();
    let is_small = bytes.len() <= MAX_SMALL_BODY_BYTES;
    let Some(place) =
        InFlightPermit::take(state, is_small && !matches!(hook.as_str(), RULES_PATH | DRY_RUN_PATH))
    else {
        return too_many();
    };
    let pending = Pending { hook, bytes, deadline, parent, place, room };
    if is_small {
        return dispatch_call(state, pending.call(None, None)).await;
    }
    route_large_request(state, pending).await
}

/// A request whose body is there, and for which there is a place.
struct Pending {
    hook: String,
    bytes: Bytes,
    deadline: Instant,
    parent: Option<TraceParent>,
    place: InFlightPermit,
    room: BodyPermit,
}

impl Pending {
    fn call(self, memory: Option<MemoryPermit>, home: Option<Handle>) -> WebhookCall {
        let Self { hook, bytes, deadline, parent, place, room } = self;
        let held = Arc::new(RequestResources { _place: place, _room: room, _memory: memory });
        WebhookCall { hook, bytes, deadline, parent, held, home }
    }
}

/// Answers what is not small, apart from what is: reading it alone takes long enough to be felt by others.
async fn route_large_request(state: &Arc<ServerState>, pending: Pending) -> HttpResponse {
    let (home, hook) = (Handle::current(), pending.hook.clone());
    let runtime = state.large.handle().unwrap_or(&home).clone();
    let state_there = Arc::clone(state);
    let deadline = pending.deadline;
    let answered = runtime.spawn(async move {
        let state = state_there;
        match MemoryPermit::take(&state, &pending.bytes, pending.deadline).await {
            Some(memory) => dispatch_call(&state, pending.call(Some(memory), Some(home))).await,
            None => error_response(StatusCode::TOO_MANY_REQUESTS, "too many large requests are under way"),
        }
    });
    // The client gets an answer in time, whatever happens on the other runtime.
    match tokio::time::timeout_at((deadline + ANSWER_MARGIN / 5).into(), answered).await {
        Ok(answered) => answered.unwrap_or_else(|_| endpoints::panicked(state)),
        Err(_) => review::review_timed_out(state, &hook),
    }
}

async fn dispatch_call(state: &Arc<ServerState>, call: WebhookCall) -> HttpResponse {
    match call.hook.as_str() {
        RULES_PATH => endpoints::review_rule_object(state, call).await,
        GUARD_PATH => endpoints::review_namespace_label(state, &call.bytes),
        BINDING_PATH => endpoints::review_pod_binding(state, &call.bytes, call.deadline).await,
        DRY_RUN_PATH => endpoints::answer_dry_run(state, call).await,
        _ => review::answer_review(state, call).await,
    }
}

/// What is answered to what is over the bound.
pub(super) fn too_many() -> HttpResponse {
    error_response(StatusCode::TOO_MANY_REQUESTS, "too many reviews are under way")
}

fn trace_parent<B>(request: &Request<B>) -> Option<TraceParent> {
    request.headers().get("traceparent").and_then(|header| header.to_str().ok()).and_then(TraceParent::read)
}

/// Returns whether a webhook configuration of ours may name `path`. One that no rule is behind any more is still asked
/// until the API server has heard of it.
fn is_hook(path: &str) -> bool {
    match path.split_once('/') {
        None => matches!(path, "mutate" | "validate" | RULES_PATH | BINDING_PATH | GUARD_PATH),
        Some(("mutate" | "validate", rest)) => {
            let (first, name) = rest.split_once('/').unwrap_or((rest, ""));
            match first {
                "fail" | "ignore" => !rest.ends_with('/'),
                _ => first == "own" && !name.is_empty(),
            }
        }
        Some(_) => path == DRY_RUN_PATH,
    }
}

/// Returns how long may be taken for a request with this `query`.
fn time_left(query: &str) -> Duration {
    let given = query.split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let given = given.and_then(|text| kubewright_value::duration::Duration::parse(text).ok());
    let given = given.and_then(|given| u64::try_from(given.nanoseconds()).ok()).map(Duration::from_nanos);
    let given = given.filter(|given| !given.is_zero()).unwrap_or(DEFAULT_CALL_TIMEOUT).min(MAX_CALL_TIMEOUT);
    given.checked_sub(ANSWER_MARGIN).filter(|left| *left > ANSWER_MARGIN / 5).unwrap_or(given / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, milliseconds: u64) {
        assert_eq!(time_left(query), Duration::from_millis(milliseconds), "{query}");
    }

    #[test]
    fn we_answer_half_a_second_before_the_one_who_asks_gives_up() {
        check("timeout=5s", 4_500);
        check("a=b&timeout=1s&c", 500);
        check("timeout=1h", 29_500);
        check("", 9_500);
        check("timeout=x", 9_500);
        check("timeout=-3s", 9_500);
        check("timeout=500ms", 250);
    }
}
