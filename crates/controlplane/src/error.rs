//! Why there is no cluster.

use std::fmt::Display;
use std::path::Path;

/// Why a cluster, or a part of it, could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// This machine cannot have one: the programs are not there and cannot be built. Tests are skipped.
    #[error("{0}")]
    Unavailable(String),
    /// It should have started and did not. Tests fail.
    #[error("{0}")]
    Failed(String),
}

impl ClusterError {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        ClusterError::Failed(message.into())
    }

    /// For `map_err`: what was done, and with which file.
    pub(crate) fn at<E: Display>(what: &str, path: &Path) -> impl FnOnce(E) -> Self {
        let place = format!("cannot {what} `{}`", path.display());
        move |error| ClusterError::Failed(format!("{place}: {error}"))
    }
}
