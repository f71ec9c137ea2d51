//! The admission webhook: rules that live in a cluster, asked by its API server.
//!
//! A review is parsed, decided by the engine with the rules of the [`Snapshot`] at hand, and answered; everything
//! else in this crate keeps that snapshot, the certificates and the webhook configurations as they should be.
//! No rule language is named here: what a language wants in a cluster it says itself ([`ClusterSupport`]).
//!
//! [`ClusterSupport`]: kubewright_engine::ClusterSupport

pub mod admission_policies;
pub mod binding;
pub mod certificates;
mod clock;
pub mod dry_run;
mod events;
mod exceptions;
pub mod guard;
pub mod health;
mod http;
mod ignored_namespaces;
mod jitter;
mod lane;
pub mod log;
mod lookup;
pub mod metrics;
mod notice;
mod offline;
mod registry;
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
mod statuses;
mod stores;
mod tell;
pub mod traces;
pub mod validate;
mod watchman;
pub mod webhooks;
mod world;

pub use certificates::Certificates;
pub use exceptions::{Admitted, admitted};
pub use lookup::Live;
pub use notice::{Notice, NoticeKind};
pub use offline::offline;
pub use roles::Bindings;
pub use rules::keep_compiled;
pub use run::{run, start};
pub use server::{ServeError, Server, asked_to_stop, log_panics};
pub use settings::{Settings, workers};
pub use snapshot::{Hook, RuleState, Snapshot, cluster_dialects};
pub use state::{Looking, Lookup, Nobody, Roles, State};
pub use stores::Stores;
pub use tell::run as tell;
pub use watchman::watch_over;
pub use world::Known;
