//! Talks to a Kubernetes API server: calls, watches and what they leave in memory. Decides nothing.
//!
//! ```no_run
//! # async fn example() -> Result<(), kubewright_cluster::Error> {
//! use kubewright_cluster::{Client, Config, GroupVersionResource};
//!
//! let client = Client::new(Config::find(None, None)?)?;
//! let namespaces = client.list(&GroupVersionResource::new("", "v1", "namespaces").all()).await?;
//! # Ok(()) }
//! ```

mod client;
mod config;
mod discovery;
mod error;
mod jitter;
mod list_splitter;
mod reflector;
mod resource;
mod resource_watch;
mod store;
mod watcher;

pub use client::{CallLimits, Client, ListEnd, ObjectList, PatchType, WatchLines};
pub use config::{
    ClientIdentity, Config, Exec, Impersonation, InteractiveMode, Login, PemSource, ProxyScheme, ProxyServer,
};
pub use discovery::{ApiResource, ApiSubresource, DiscoveredResources, Discovery};
pub use error::{ApiStatus, Error};
pub use jitter::jitter;
pub use list_splitter::{ListPart, ListSplitter};
pub use reflector::{WatchPolicy, run_reflector};
pub use resource::GroupVersionResource;
pub use resource_watch::{InitialListStrategy, ResourceEvent, ResourceWatch, watch_resource};
pub use store::{Store, WatchEvent};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
