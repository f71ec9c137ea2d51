//! Talks to a Kubernetes API server: calls, watches and what they leave in memory. Decides nothing.
//!
//! ```no_run
//! # async fn example() -> Result<(), kubewright_cluster::Error> {
//! use kubewright_cluster::{Client, Config, Resource};
//!
//! let client = Client::new(Config::find(None, None)?)?;
//! let namespaces = client.list(&Resource::new("", "v1", "namespaces").all()).await?;
//! # Ok(()) }
//! ```

mod client;
mod config;
mod discovery;
mod error;
mod resource;
mod store;
mod watch;

pub use client::{Client, Limits, Lines, List, Patch};
pub use config::{Config, Exec, Identity, Login, Pem};
pub use discovery::{ApiResource, Discovery, Resources, Subresource};
pub use error::{Error, Status};
pub use resource::Resource;
pub use store::{Event, Store};
pub use watch::{Pace, keep};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
