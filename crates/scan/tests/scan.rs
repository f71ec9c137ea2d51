//! Scans of simulated clusters.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "scan/behaviour.rs"]
mod behaviour;
#[path = "scan/cluster.rs"]
mod cluster;
#[path = "scan/owners.rs"]
mod owners;
#[path = "scan/property.rs"]
mod property;
#[path = "scan/rules.rs"]
mod rules;
#[path = "scan/writing.rs"]
mod writing;
