//! Traits: bundles of patches with parameters, and the resources that they are rendered with.

pub mod schema;
