//! Deciding requests with rules.
//!
//! Evaluation is a pure function of the request, the rules and the [`World`]: no
//! input, no output, no clock, no global state. What a rule asks for and the world does not
//! know comes back as a [`Query`]; the caller answers it and decides again.
//!
//! This crate knows no rule language. A language is a [`Dialect`] that turns documents into [`Rule`]s.

mod api_path;
mod decide;
mod diagnostic;
mod dialect;
mod fault;
mod in_cluster;
mod index;
mod kubernetes;
mod outcome;
mod request;
mod rule;
mod scope;
mod secrets;
mod trace;
mod world;

pub use api_path::ApiPath;
pub use decide::{Engine, Settings};
pub use diagnostic::{Code, Diagnostic, Severity, Subject, reading_codes};
pub use dialect::{Compiled, Dialect};
pub use fault::{Fault, invalid};
pub use in_cluster::{
    AdmissionPolicy, AdmissionPolicyState, Door, GENERATED_LABEL, IgnoredNamespace, InCluster, Needs, Reply,
    Right, RuleFailure, RuleReport, Shared, Target, TargetName, WatchRole, Watched, Webhook,
};
pub use index::RuleIndex;
pub use kubernetes::{fields, is_cluster_scoped, kind_of_resource, resource_name};
pub use kubewright_value::suggest::nearest_word;
pub use outcome::{Decision, EvalError, EvalErrorKind, Outcome, Status};
pub use request::{GroupVersionKind, Operation, Request};
pub use rule::{
    About, Applies, Branch, Effect, Evaluation, Memory, Occasion, Occasions, Phase, Program, Rule, RuleId,
};
pub use scope::{KindScope, NamespaceScope, Operations, Scope};
pub use secrets::SECRET_MARK;
pub use trace::{TraceNode, Tracer, Verdict};
pub use world::{
    Answer, ApiCall, ClosedWorld, ImageLookup, ObjectName, OpenWorld, Query, ServiceCall, World, WorldView,
};
