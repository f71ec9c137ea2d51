//! Kyverno's policies on a real control plane.

#[path = "kyverno_cluster/definitions.rs"]
mod definitions;
