//! The cluster side of a rule language: data and pure functions, so that the server names no language.
//!
//! What one document needs in a cluster (webhooks, watches, lookups) is part of its
//! [`CompiledPolicy`](crate::CompiledPolicy); the traits here are about a language as a whole.

mod access;
mod admission_policy;
mod event;
mod extensions;
mod report;
mod resources;
mod response;
mod webhook;

pub use access::{MissingAccess, ResourceAccess, policy_rules};
pub use admission_policy::{AdmissionPolicy, AdmissionPolicyState, GENERATED_LABEL, NativeRule};
pub use event::{BLOCKED_ACTION, EventOccasion, EventWords, NoticeKind};
pub use extensions::{ClusterExtensions, KindScopes, SharedDataSource};
pub use report::{RuleFailure, RuleReport};
pub use resources::{ClusterResources, IgnoredNamespace, Needs, PolicyRule, WatchRole, WatchedResource};
pub use response::{ResponseParts, ResponseWording};
pub use webhook::{AdmissionPhase, FailurePolicy, KindOrResource, WebhookPlan, WebhookRule};

/// A rule language whose rules run in a cluster.
pub trait ClusterSupport: ClusterResources + ResponseWording + ClusterExtensions {}

impl<T: ClusterResources + ResponseWording + ClusterExtensions> ClusterSupport for T {}
