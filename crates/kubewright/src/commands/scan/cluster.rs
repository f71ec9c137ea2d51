//! The cluster that is scanned: a client, what it serves, and the signal to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_cluster::{Client, DiscoveredResources, Discovery, Error};
use kubewright_k8s::ApiPath;
use kubewright_value::Value;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::arguments::ClusterArguments;
use crate::failure::CommandFailure;
use crate::live;

/// The threads that wait for the API server. The work of a scan is done on other threads.
const NETWORK_THREADS: usize = 2;

/// The exit code of a process that a second signal ends.
const INTERRUPTED_CODE: i32 = 130;

/// The cluster that is scanned.
pub(in crate::commands) struct ScanCluster {
    /// Calls the API server.
    pub(in crate::commands) client: Client,
    /// Asks what the cluster serves.
    pub(in crate::commands) discovery: Arc<Discovery>,
    /// What the cluster serves.
    pub(in crate::commands) resources: Arc<DiscoveredResources>,
    /// Set by the first signal to stop.
    pub(in crate::commands) stop: Arc<AtomicBool>,
    runtime: Runtime,
}

impl ScanCluster {
    /// Connects to the cluster and asks what it serves.
    ///
    /// # Errors
    /// When it is not known where the cluster is, or it does not answer.
    pub(in crate::commands) fn connect(arguments: &ClusterArguments) -> Result<Self, CommandFailure> {
        let client = live::find_client(arguments)?;
        let runtime = Builder::new_multi_thread().worker_threads(NETWORK_THREADS).enable_all().build()?;
        let stop = Arc::new(AtomicBool::new(false));
        runtime.spawn(stop_on_signal(Arc::clone(&stop)));
        let discovery = Arc::new(Discovery::new(client.clone()));
        let resources = runtime
            .block_on(discovery.resources())
            .map_err(|error| CommandFailure::usage(format!("cannot reach the cluster: {error}")))?;
        Ok(Self { client, discovery, resources, stop, runtime })
    }

    /// Returns the handle on which calls are awaited.
    pub(in crate::commands) fn handle(&self) -> &Handle {
        self.runtime.handle()
    }

    /// Reads all objects at `path`.
    ///
    /// # Errors
    /// When there is no answer.
    pub(in crate::commands) fn list(&self, path: &ApiPath) -> Result<Vec<Value>, Error> {
        Ok(self.runtime.block_on(self.client.list(path))?.items)
    }
}

/// Lets the scan end with what it has at the first signal, and ends the process at the second.
async fn stop_on_signal(stop: Arc<AtomicBool>) {
    kubewright_serve::asked_to_stop().await;
    stop.store(true, Ordering::Relaxed);
    kubewright_serve::asked_to_stop().await;
    std::process::exit(INTERRUPTED_CODE);
}
