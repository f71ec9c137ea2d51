//! The server of the page: assets, security, and bounds. What the page asks for is answered by a [`PageApi`].
//!
//! One request passes these steps, in this order: the `Host` header (DNS rebinding), the method and the path, for POST the
//! origin and the content type, the body (size and time), a place among the running answers, the answer with its deadline.
//! A panic in an answer is a 500 for that request alone.

mod answers;
mod api;
mod assets;
mod body;
mod check;
mod events;
mod headers;
mod nonce;
mod routes;
mod server;
mod slow;

pub use api::{PageAnswer, PageApi, PageContent, PageMethod, PageRequest, PageRoute};
pub use body::{PageBody, PageText, TEXT_ROLES, TextRole, bad_request, read_object};
pub use events::{PageEvent, PageEventSender, page_events};
pub use server::{PageSettings, run_page, spawn_page};

/// The path below which the API is.
pub const API_PREFIX: &str = "/api/v1";

/// The maximum size of the body of a request.
pub const MAX_PAGE_REQUEST_BYTES: usize = 2 << 20;

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
