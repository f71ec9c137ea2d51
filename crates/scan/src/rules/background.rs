//! Policies that do something apart from admission: they are not judged by the scan, and a controller carries them out.

use std::sync::Arc;

use kubewright_engine::{BackgroundProgram, Rule};
use kubewright_value::Document;

use crate::ObjectKey;

/// A policy whose rules write objects in the background.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BackgroundPolicy {
    /// The policy.
    pub key: ObjectKey,
    /// The document that it was compiled from.
    pub document: Document,
    /// What it says, with its exceptions, as a number.
    pub digest: u64,
    /// The rules that write, in order.
    pub rules: Vec<Arc<Rule>>,
    /// What a controller has to know about them.
    pub programs: Vec<BackgroundProgram>,
}
