//! Reviews over HTTPS: who may connect, how much may be sent, how fast, and how many at once.
//!
//! Over every bound there is an answer at once, and never a queue.

mod answer;
mod body;
mod bounds;
mod connections;
mod endpoints;
mod listener;
mod observer;
mod routes;
mod streams;
mod tls;
mod turns;

pub(crate) use answer::ResponseBody;
pub(crate) use bounds::{Bounds, RequestResources};
pub(crate) use connections::{ConnectionTable, RequestGuard};
pub(crate) use listener::{ListenerPhase, run_listener};
pub(crate) use routes::WebhookCall;
pub(crate) use tls::server_tls_config;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use kubewright_value::json;

/// What is sent back.
pub(crate) type HttpResponse = Response<Bytes>;

/// Returns `body`, which is JSON.
pub(crate) fn json_response(body: String) -> HttpResponse {
    let mut answer = Response::new(Bytes::from(body));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Returns that what was asked for cannot be done, and why.
pub(crate) fn error_response(status: StatusCode, message: &str) -> HttpResponse {
    let mut answer = json_response(format!("{{\"error\":{}}}\n", json::quote(message)));
    *answer.status_mut() = status;
    if status == StatusCode::TOO_MANY_REQUESTS {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}
