//! Traits: reusable bundles of patches with parameters.

pub mod functions;
