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
use super::{HttpResponse, error_response};
use crate::ServerState;

/// How long a body may take in any case.
const MAX_BODY_TIME: Duration = Duration::from_secs(10);

/// How long a body may take to begin, and how fast it must come then: an API server sends it at once.
const FIRST_BYTES_TIME: Duration = Duration::from_secs(2);
const MIN_BYTES_PER_SECOND: u32 = 64 << 10;

/// How much memory is reserved for what a client announces.
const MAX_RESERVED: usize = 256 << 10;

/// Reads the body of `request`, which must be JSON.
pub(super) async fn read_body(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
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
    let bytes = collect_body(body, &mut room).await?;
    if bytes.is_empty() {
        return Err(error_response(StatusCode::BAD_REQUEST, "the body is empty"));
    }
    Ok((bytes, room))
}

async fn collect_body(mut body: Incoming, room: &mut BodyPermit) -> Result<Bytes, HttpResponse> {
    let begun = Instant::now();
    let mut received = 0;
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = next_frame(&mut body, body_deadline(begun, received)).await? {
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

/// Returns what comes next of `body`, or that it has taken too long.
async fn next_frame(
    body: &mut Incoming,
    deadline: Instant,
) -> Result<Option<hyper::Result<Frame<Bytes>>>, HttpResponse> {
    let mut frame = pin!(body.frame());
    // Most bodies are there when the request is, and need no timer.
    let at_once = poll_fn(|context| Poll::Ready(frame.as_mut().poll(context))).await;
    if let Poll::Ready(frame) = at_once {
        return Ok(frame);
    }
    let waited = tokio::time::timeout_at(deadline.into(), frame).await;
    waited.map_err(|_| error_response(StatusCode::REQUEST_TIMEOUT, "the body took too long"))
}

/// Returns when more of a body must have come of which `received` bytes are there.
fn body_deadline(begun: Instant, received: usize) -> Instant {
    let received = u32::try_from(received).unwrap_or(u32::MAX);
    let earned = Duration::from_secs(1) * received / MIN_BYTES_PER_SECOND;
    begun + (FIRST_BYTES_TIME + earned).min(MAX_BODY_TIME)
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn body_too_large() -> HttpResponse {
    error_response(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 7 MiB")
}
