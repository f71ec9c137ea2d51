//! The cluster that a command talks to, one call after the other.

use kubewright_cluster::{
    CallLimits, Client, Config, DiscoveredResources, Discovery, Error, GroupVersionResource, PatchType,
};
use kubewright_k8s::ApiPath;
use kubewright_value::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

use crate::arguments::ClusterArguments;
use crate::failure::CommandFailure;
use crate::output::print_stderr;

/// The timeout of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Returns the client of the cluster that `arguments` name. Nothing is sent yet.
///
/// # Errors
/// When it is not known where the cluster is or who asks.
pub(crate) fn find_client(arguments: &ClusterArguments) -> Result<Client, CommandFailure> {
    let wrong = |error: Error| {
        CommandFailure::usage(error.to_string())
            .help("name a kubeconfig with `--kubeconfig`, and a context of it with `--context`")
    };
    let config =
        Config::find(arguments.kubeconfig.as_deref(), arguments.context.as_deref()).map_err(wrong)?;
    for warning in config.warnings() {
        print_stderr(format_args!("warning: {warning}"));
    }
    Client::new(config).map_err(wrong)
}

/// A cluster.
pub(crate) struct LiveCluster {
    client: Client,
    runtime: Runtime,
}

impl LiveCluster {
    /// Finds the cluster. Nothing is asked yet.
    ///
    /// # Errors
    /// When it is not known where it is or who asks.
    pub(crate) fn find(arguments: &ClusterArguments) -> Result<Self, CommandFailure> {
        let client =
            find_client(arguments)?.limited(CallLimits { time: CALL_TIMEOUT, ..CallLimits::default() });
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client, runtime })
    }

    /// Returns the address of the API server.
    pub(crate) fn server(&self) -> &str {
        self.client.server()
    }

    /// Reads an object.
    pub(crate) fn get(&self, path: &ApiPath) -> Result<Value, Error> {
        self.runtime.block_on(self.client.get(path))
    }

    /// Reads an object that may be absent.
    pub(crate) fn find_one(
        &self,
        resource: &GroupVersionResource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Error> {
        match self.get(&resource.named(namespace, name)) {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads all objects at `path`, those that fit `labels` if it is not empty.
    pub(crate) fn list(&self, mut path: ApiPath, labels: &str) -> Result<Vec<Value>, Error> {
        if !labels.is_empty() {
            path.query.push(("labelSelector".into(), labels.into()));
        }
        Ok(self.runtime.block_on(self.client.list(&path))?.items)
    }

    /// Changes parts of an object.
    pub(crate) fn merge(&self, path: &ApiPath, body: &Value) -> Result<Value, Error> {
        self.runtime.block_on(self.client.patch(path, PatchType::Merge, body))
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, path: &ApiPath) -> Result<Value, Error> {
        self.runtime.block_on(self.client.delete(path))
    }

    /// Returns what resources there are.
    pub(crate) fn resources(&self) -> Result<Arc<DiscoveredResources>, Error> {
        self.runtime.block_on(Discovery::new(self.client.clone()).resources())
    }
}
