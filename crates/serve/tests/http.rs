//! The server over the network, in this process, asked by a small client.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "http/crowds.rs"]
mod crowds;
#[path = "http/drain.rs"]
mod drain;
#[path = "http/error_kinds.rs"]
mod error_kinds;
#[path = "http/hostile.rs"]
mod hostile;
#[path = "http/long.rs"]
mod long;
#[path = "http/namespaced.rs"]
mod namespaced;
#[path = "http/old_object.rs"]
mod old_object;
#[path = "http/programs.rs"]
mod programs;
#[path = "http/review.rs"]
mod review;
#[path = "http/secrets.rs"]
mod secrets;
#[path = "http/server.rs"]
mod server;
#[path = "http/slow.rs"]
mod slow;
#[path = "http/stopping.rs"]
mod stopping;
#[path = "http/unreadable.rs"]
mod unreadable;
