//! Deciding requests with rules.
//!
//! Evaluation is a pure function of the request, the rules and the [`World`]: no
//! input, no output, no clock, no global state. What a rule asks for and the world does not
//! know comes back as a [`Query`]; the caller answers it and decides again.
//!
//! This crate knows no rule language. A language is a [`Dialect`] that turns documents into [`Rule`]s.

mod background;
mod cluster;
mod decide;
mod derived;
mod diagnostic;
mod dialect;
mod fault;
mod index;
mod outcome;
mod read_fields;
mod rule;
mod scope;
mod secrets;
mod trace;
mod world;

pub use background::{
    BackgroundProgram, CloneSource, DeleteProgram, DeletionPropagation, DownstreamTemplate, GenerateProgram,
    MutateProgram,
};
pub use cluster::{
    AdmissionPhase, AdmissionPolicy, AdmissionPolicyState, BLOCKED_ACTION, ClusterExtensions,
    ClusterResources, ClusterSupport, EventOccasion, EventWords, FailurePolicy, GENERATED_LABEL,
    IgnoredNamespace, KindOrResource, KindScopes, MissingAccess, NativeRule, Needs, NoticeKind, PolicyRule,
    ResourceAccess, ResponseParts, ResponseWording, RuleFailure, RuleReport, SharedDataSource, WatchRole,
    WatchedResource, WebhookPlan, WebhookRule, policy_rules,
};
pub use decide::{DecisionSettings, Engine};
pub use derived::{BudgetMark, DerivationCost, DerivedCache, DerivedName};
pub use diagnostic::{Code, Diagnostic, DiagnosticLevel, DiagnosticSubject, reading_codes};
pub use dialect::{CompiledPolicy, Dialect, Recompile, SetProgram, StatusFields};
pub use fault::{FieldError, invalid_object_message};
pub use index::RuleIndex;
pub use kubewright_value::suggest::nearest_word;
pub use outcome::{Decision, EvalError, EvalErrorKind, OutcomeReason, RuleAddress, RuleOutcome, RuleStatus};
pub use rule::{
    Applies, DecisionCache, Effect, Evaluation, EvaluationMode, EvaluationModes, ObjectWrite, Rule,
    RuleAction, RuleBranch, RuleId, RuleMetadata, RuleProgram, WriteVerb, WrittenPart, object_reference,
};
pub use scope::{KindScope, NamespaceScope, RuleScope, ScopePlaces};
pub use secrets::SECRET_MARK;
pub use trace::{TraceNode, TraceVerdict, Tracer};
pub use world::{
    ApiCall, ClosedWorld, ImageLookup, ImagePart, OpenWorld, Query, QueryAnswer, ServiceCall, World,
    WorldView,
};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
