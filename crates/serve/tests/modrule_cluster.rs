//! ModRules on a real control plane.

#[path = "modrule_cluster/contract.rs"]
mod contract;
#[path = "modrule_cluster/definition.rs"]
mod definition;
