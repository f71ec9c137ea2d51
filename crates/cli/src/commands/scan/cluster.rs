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
    runtime: Arc<Runtime>,
}

impl ScanCluster {
    /// Connects to the cluster and asks what it serves.
    ///
    /// # Errors
    /// When it is not known where the cluster is, or it does not answer.
    pub(in crate::commands) fn connect(arguments: &ClusterArguments) -> Result<Self, CommandFailure> {
        let unasked = Self::unasked(live::find_client(arguments)?)?;
        unasked.runtime.spawn(stop_on_signal(Arc::clone(&unasked.stop)));
        unasked.asked().map_err(|error| CommandFailure::usage(format!("cannot reach the cluster: {error}")))
    }

    /// Returns the cluster of `client`, of which it is not known yet what it serves.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(in crate::commands) fn unasked(client: Client) -> Result<Self, CommandFailure> {
        let runtime = Builder::new_multi_thread().worker_threads(NETWORK_THREADS).enable_all().build()?;
        let discovery = Arc::new(Discovery::new(client.clone()));
        let (resources, stop) = (Arc::new(DiscoveredResources::of(Vec::new())), Arc::default());
        Ok(Self { client, discovery, resources, stop, runtime: Arc::new(runtime) })
    }

    /// Returns this cluster with what it serves now.
    ///
    /// # Errors
    /// When it does not answer.
    pub(in crate::commands) fn asked(&self) -> Result<Self, Error> {
        Ok(Self {
            client: self.client.clone(),
            discovery: Arc::clone(&self.discovery),
            resources: self.block_on(self.discovery.refreshed())?,
            stop: Arc::clone(&self.stop),
            runtime: Arc::clone(&self.runtime),
        })
    }

    /// Waits for `call`. Not from within a task.
    pub(in crate::commands) fn block_on<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    /// Reads the object at `path`.
    ///
    /// # Errors
    /// When there is none, or no answer.
    pub(in crate::commands) fn get(&self, path: &ApiPath) -> Result<Value, Error> {
        self.block_on(self.client.get(path))
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
