//! Who answers what.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::bounds::{LARGE_BODY, Place};
use super::{Answer, beside, body, problem};
use crate::State;
use crate::review;
use crate::traces::Parent;

/// What the API server waits when it does not say.
const TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How much earlier we are.
const MARGIN: Duration = Duration::from_millis(500);

/// Where rule objects are checked, pods that are bound told of, labels of namespaces guarded, and rules tried out.
const RULES: &str = "rules";
const BINDING: &str = "binding";
const GUARD: &str = "guard";
const DRY_RUN: &str = "v1/dryrun";

/// Answers `request`.
pub(super) async fn answer(state: &Arc<State>, request: Request<Incoming>) -> Answer {
    let begun = Instant::now();
    let path = request.uri().path().to_owned();
    let Some(hook) = path.strip_prefix('/').filter(|hook| is_hook(hook)) else {
        state.metrics.refused_request();
        return problem(StatusCode::NOT_FOUND, "there is nothing here");
    };
    let method = if hook == DRY_RUN { Method::PUT } else { Method::POST };
    if request.method() != method {
        state.metrics.refused_request();
        return problem(StatusCode::METHOD_NOT_ALLOWED, &format!("this is asked with {method}"));
    }
    let deadline = begun + time_left(request.uri().query().unwrap_or_default());
    let parent = state.traces.is_on().then(|| parent(&request)).flatten();
    let (bytes, _room) = match body::read(state, request).await {
        Ok(read) => read,
        Err(answer) => {
            state.metrics.refused_request();
            return answer;
        }
    };
    let Some(_place) = Place::take(state) else {
        return too_many();
    };
    let _large = match bytes.len() > LARGE_BODY {
        true => match tokio::time::timeout_at(deadline.into(), state.bounds.large.acquire()).await {
            Ok(Ok(turn)) => Some(turn),
            _ => return problem(StatusCode::TOO_MANY_REQUESTS, "too many large requests are under way"),
        },
        false => None,
    };
    match hook {
        RULES => beside::rules(state, &bytes),
        GUARD => beside::guard(state, &bytes),
        BINDING => beside::binding(state, &bytes, deadline).await,
        DRY_RUN => beside::dry_run(state, bytes, deadline).await,
        hook => review::answer(state, hook, &bytes, deadline, parent).await,
    }
}

/// What is answered to what is over the bound.
pub(super) fn too_many() -> Answer {
    problem(StatusCode::TOO_MANY_REQUESTS, "too many reviews are under way")
}

fn parent<B>(request: &Request<B>) -> Option<Parent> {
    request.headers().get("traceparent").and_then(|header| header.to_str().ok()).and_then(Parent::read)
}

/// Returns whether a webhook configuration of ours may name `path`. One that no rule is behind any more is still asked
/// until the API server has heard of it.
fn is_hook(path: &str) -> bool {
    match path.split_once('/') {
        None => matches!(path, "mutate" | "validate" | RULES | BINDING | GUARD),
        Some(("mutate" | "validate", rest)) => {
            matches!(rest, "fail" | "ignore")
                || rest.strip_prefix("own/").is_some_and(|name| !name.is_empty())
        }
        Some(_) => path == DRY_RUN,
    }
}

/// Returns how long may be taken for a request with this `query`.
fn time_left(query: &str) -> Duration {
    let given = query.split('&').find_map(|pair| pair.strip_prefix("timeout="));
    let given = given.and_then(|text| kubewright_value::duration::Duration::parse(text).ok());
    let given = given.and_then(|given| u64::try_from(given.nanoseconds()).ok()).map(Duration::from_nanos);
    let given = given.filter(|given| !given.is_zero()).unwrap_or(TIMEOUT).min(LONGEST_TIMEOUT);
    given.checked_sub(MARGIN).filter(|left| *left > MARGIN / 5).unwrap_or(given / 2)
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
