//! Kyverno's policies on a real control plane.

#[path = "kyverno_cluster/actions.rs"]
mod actions;
#[path = "kyverno_cluster/definitions.rs"]
mod definitions;
#[path = "kyverno_cluster/serving.rs"]
mod serving;
