//! Reading a body that may be too large, too slow, or of the wrong type.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Request, StatusCode};

use super::bounds::{BodyPermit, MAX_BODY_BYTES, UnfinishedBody};
use super::turns::ConnectionTurns;
use super::{HttpResponse, error_response};
use crate::ServerState;

/// How long a body may take in any case.
const MAX_BODY_TIME: Duration = Duration::from_secs(10);

/// How long a body may take to begin, and how fast it must come then: an API server sends it at once.
const FIRST_BYTES_TIME: Duration = Duration::from_secs(2);
const MIN_BYTES_PER_SECOND: u32 = 64 << 10;

/// How long a connection that was just woken gets to read what there is.
const TURN_TIME: Duration = Duration::from_millis(10);

/// How much memory is reserved for what a client announces.
const MAX_RESERVED: usize = 256 << 10;

/// Reads the body of `request`, which must be JSON.
pub(super) async fn read_body(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
    turns: &ConnectionTurns,
) -> Result<(Bytes, BodyPermit), HttpResponse> {
    if !is_json(request.headers()) {
        let message = "a body of the content type application/json is expected";
        return Err(error_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body = request.into_body();
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(body_too_large());
    }
    let Some(_unfinished) = UnfinishedBody::begin(state) else {
        return Err(error_response(StatusCode::TOO_MANY_REQUESTS, "too many requests are being read"));
    };
    let mut room = BodyPermit::new(state);
    let bytes = collect_body(body, &mut room, turns).await?;
    if bytes.is_empty() {
        return Err(error_response(StatusCode::BAD_REQUEST, "the body is empty"));
    }
    Ok((bytes, room))
}

async fn collect_body(
    mut body: Incoming,
    room: &mut BodyPermit,
    turns: &ConnectionTurns,
) -> Result<Bytes, HttpResponse> {
    let deadline = BodyDeadline { begun: Instant::now(), late: turns.late(), turns };
    let mut received = 0;
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = next_frame(&mut body, &deadline, received).await? {
        let frame = frame.map_err(|_| error_response(StatusCode::BAD_REQUEST, "the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        received += data.len();
        if !room.grow(data.len()) {
            return Err(error_response(
                StatusCode::TOO_MANY_REQUESTS,
                "too many large requests are under way",
            ));
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        // Most bodies are one frame, which is taken as it is.
        if all.is_empty() {
            // Not more than was announced, and not all of that: it may never come.
            let expected = usize::try_from(body.size_hint().lower()).unwrap_or(0).min(MAX_RESERVED);
            all.reserve(first.len() + data.len() + expected);
            all.extend_from_slice(&first);
            first = Bytes::new();
        }
        all.extend_from_slice(&data);
        if all.len() > MAX_BODY_BYTES {
            return Err(body_too_large());
        }
    }
    if all.is_empty() { Ok(first) } else { Ok(all.freeze()) }
}

/// Returns what comes next of `body`, of which `received` bytes are there, or that it has taken too long.
async fn next_frame(
    body: &mut Incoming,
    deadline: &BodyDeadline<'_>,
    received: usize,
) -> Result<Option<hyper::Result<Frame<Bytes>>>, HttpResponse> {
    let mut frame = pin!(body.frame());
    // Most bodies are there when the request is, and need no timer.
    let at_once = poll_fn(|context| Poll::Ready(frame.as_mut().poll(context))).await;
    if let Poll::Ready(frame) = at_once {
        return Ok(frame);
    }
    while let Some(left) = deadline.left(received) {
        if let Ok(frame) = tokio::time::timeout(left, frame.as_mut()).await {
            return Ok(frame);
        }
    }
    Err(error_response(StatusCode::REQUEST_TIMEOUT, "the body took too long"))
}

/// Until when more of a body must have come. The time in which it may have come, and the connection waited for its turn to
/// read it, does not count: that is ours.
struct BodyDeadline<'t> {
    begun: Instant,
    /// What turns of the connection had taken then.
    late: Duration,
    turns: &'t ConnectionTurns,
}

impl BodyDeadline<'_> {
    /// Returns how long is to be waited before this is asked again; nothing if the body has taken too long.
    fn left(&self, received: usize) -> Option<Duration> {
        let ours = self.turns.late().saturating_sub(self.late);
        let left =
            (max_body_time(received) + ours).checked_sub(self.begun.elapsed()).filter(|left| !left.is_zero());
        left.or_else(|| self.turns.is_waited_for().then_some(TURN_TIME))
    }
}

/// Returns how long a body may take of which `received` bytes are there.
fn max_body_time(received: usize) -> Duration {
    let received = u32::try_from(received).unwrap_or(u32::MAX);
    let earned = Duration::from_secs(1) * received / MIN_BYTES_PER_SECOND;
    (FIRST_BYTES_TIME + earned).min(MAX_BODY_TIME)
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn body_too_large() -> HttpResponse {
    error_response(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 7 MiB")
}

#[cfg(test)]
mod tests {
    use std::task::Waker;
    use std::thread;

    use super::*;

    #[test]
    fn the_time_in_which_a_connection_waits_for_its_turn_is_not_that_of_the_body() {
        let turns = ConnectionTurns::new(&Arc::default());
        let (waker, late) = (Waker::from(Arc::clone(&turns)), turns.late());
        let left = |received| {
            let begun = Instant::now().checked_sub(FIRST_BYTES_TIME)?;
            BodyDeadline { begun, late, turns: &turns }.left(received)
        };
        assert_eq!(left(0), None, "it has taken too long");
        assert!(left(1 << 20).is_some_and(|left| left > Duration::from_secs(7)), "much has come");
        turns.begin(Waker::noop());
        assert!(!turns.end());
        waker.wake_by_ref();
        assert!(left(0).is_some(), "it may be there");
        thread::sleep(Duration::from_millis(20));
        turns.begin(Waker::noop());
        assert!(left(0).is_some_and(|left| left > Duration::from_millis(10)), "we were late");
        thread::sleep(Duration::from_millis(1));
        assert!(!turns.end());
        assert!(BodyDeadline { begun: Instant::now(), late, turns: &turns }.left(0) > Some(FIRST_BYTES_TIME));
    }
}
