//! The admission webhook: rules that live in a cluster, asked by its API server.
//!
//! A review is parsed, decided by the engine with the rules of the current [`Snapshot`], and answered; everything else in
//! this crate reconciles that snapshot, the certificates and the webhook configurations.
//! No rule language is named here: a language describes its needs in a cluster itself ([`ClusterSupport`]).
//!
//! [`ClusterSupport`]: kubewright_engine::ClusterSupport

pub mod access;
pub mod admission_policies;
pub mod binding;
pub mod blocked;
mod cache_health;
pub mod certificates;
pub mod clock;
pub mod dry_run;
mod events;
pub mod guard;
pub mod handover;
pub mod health;
mod http;
mod ignored_namespaces;
mod lane;
pub mod log;
mod lookup;
pub mod metrics;
mod notice;
mod offline;
mod random;
mod reconcile;
mod registry;
mod registry_client;
mod reread;
pub mod review;
mod roles;
mod rules;
mod run;
mod server;
mod services;
mod settings;
mod shared;
mod shorten;
mod snapshot;
mod state;
mod status_writer;
mod statuses;
mod stores;
pub mod traces;
pub mod validate;
pub mod webhooks;
mod world;

pub use cache_health::monitor_caches;
pub use certificates::Certificates;
pub use events::{EVENT_RULE_ANNOTATION, EventQueue, Regarding, is_secret};
pub use kubewright_dialects::{AdmittedExceptions, admitted_exceptions};
pub use lookup::ClusterLookup;
pub use notice::{EventWording, Notice, NoticeKind};
pub use offline::run_offline;
pub use random::random_bytes;
pub use registry_client::{RegistryClient, StoredLayer};
pub use roles::RoleIndex;
pub use rules::spawn_rule_compiler;
pub use run::{make_namespace, run_in_cluster, start_server};
pub use server::{ServeError, WebhookServer, asked_to_stop, log_panics};
pub use settings::{ServeSettings, workers};
pub use snapshot::{Hook, RuleState, Snapshot, cluster_dialects};
pub use state::{Looking, Lookup, NoCluster, Roles, ServerState};
pub use status_writer::run_status_writer;
pub use stores::Stores;
pub use world::CachedWorld;

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
