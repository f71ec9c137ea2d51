//! The last step of an installation: system namespaces get the label by which rules leave them alone.
//!
//! Done once, when a server starts, and only if a namespace does not have the label: another value of it opts in to rules.
//! It is not part of the manifests, because deleting them would then delete `kube-system` too.

use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Error, GroupVersionResource, PatchType, jitter};
use kubewright_value::{Map, Text, Value};
use tokio::time::sleep;

use crate::ServerState;
use crate::log::LogLevel;

/// How often labelling a namespace is tried, if the API server does not answer or the write conflicts.
const MAX_TRIES: u32 = 8;

/// The pause after the first try; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Labels the namespaces of all rule languages of this server.
pub(crate) async fn label_missing(state: Arc<ServerState>, client: Client) {
    let snapshot = state.snapshot.load_full();
    let wanted = snapshot.languages().filter_map(|language| {
        let label = language.ignore_label()?;
        Some(language.ignored_namespaces().iter().map(move |namespace| (namespace.name, label)))
    });
    for (name, label) in wanted.flatten().collect::<Vec<_>>() {
        // Replicas start together; mostly one of them writes.
        sleep(jitter(FIRST_PAUSE)).await;
        let (level, what) = match label_namespace(&client, name, label).await {
            Ok(false) => continue,
            Ok(true) => (LogLevel::Info, "namespace labelled: rules leave it alone".to_owned()),
            Err(error) => (LogLevel::Warn, format!("could not label namespace: {error}")),
        };
        state.log.line(level, &what).text("namespace", name).text("label", label.0).write();
    }
}

/// Gives the namespace the label if it is there and has none; returns whether it did.
async fn label_namespace(client: &Client, name: &str, label: (&str, &str)) -> Result<bool, Error> {
    let mut pause = FIRST_PAUSE;
    let mut tries = 1;
    loop {
        match try_to_label(client, name, label).await {
            Err(error) if tries < MAX_TRIES && !error.is_forbidden() => {
                sleep(pause).await;
                pause *= 2;
                tries += 1;
            }
            done => return done,
        }
    }
}

async fn try_to_label(client: &Client, name: &str, (key, value): (&str, &str)) -> Result<bool, Error> {
    let path = GroupVersionResource::new("", "v1", "namespaces").named("", name);
    let namespace = match client.get(&path).await {
        Err(error) if error.is_not_found() => return Ok(false),
        found => found?,
    };
    if namespace.at(&["metadata", "labels", key]).is_some() {
        return Ok(false);
    }
    // With the resourceVersion that was read, so that a concurrent change is not overwritten.
    let version = namespace.at(&["metadata", "resourceVersion"]).cloned().unwrap_or_default();
    let labels: Map = [(Text::from(key), Value::from(value))].into_iter().collect();
    let metadata = Map::from([("resourceVersion", version), ("labels", labels.into())]);
    client.patch(&path, PatchType::Merge, &Map::from([("metadata", metadata.into())]).into()).await?;
    Ok(true)
}
