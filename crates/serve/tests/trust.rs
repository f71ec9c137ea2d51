//! Certificates and webhook configurations on a real control plane.
//!
//! Each test has a cluster of its own: a webhook with `failurePolicy: Fail` matches everything.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "trust/certificates.rs"]
mod certificates;
#[path = "trust/clients.rs"]
mod clients;
#[path = "trust/guard.rs"]
mod guard;
#[path = "trust/handshake.rs"]
mod handshake;
#[path = "trust/replica.rs"]
mod replica;
#[path = "trust/webhooks.rs"]
mod webhooks;
