//! Kyverno's policies on a real control plane.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "kyverno_cluster/actions.rs"]
mod actions;
#[path = "kyverno_cluster/definitions.rs"]
mod definitions;
#[path = "kyverno_cluster/exceptions.rs"]
mod exceptions;
#[path = "kyverno_cluster/generated.rs"]
mod generated;
#[path = "kyverno_cluster/handed_requests.rs"]
mod handed_requests;
#[path = "kyverno_cluster/lookups.rs"]
mod lookups;
#[path = "kyverno_cluster/parts.rs"]
mod parts;
#[path = "kyverno_cluster/serving.rs"]
mod serving;
