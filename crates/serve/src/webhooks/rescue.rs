//! The door opened: our webhook configurations away, whoever runs and whatever state the installation is in.

use kubewright_cluster::{Client, Error, Resource};
use kubewright_value::Value;

use crate::Snapshot;

/// By what our configurations are known.
const SELECTOR: &str = "app.kubernetes.io/name=kubewright,app.kubernetes.io/component=webhooks";

/// Returns the resources of webhook configurations.
fn resources() -> [Resource; 2] {
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
        .map(|plural| Resource::new("admissionregistration.k8s.io", "v1", plural))
}

/// Deletes the webhook configurations that are ours by their labels, and nothing else. Returns them, each as
/// `resource/name`.
///
/// A replica that runs makes them again, unless its ClusterRole says [`WEBHOOKS`](super::WEBHOOKS)`: off`.
///
/// # Errors
/// When the API server does not let them be listed or deleted.
pub async fn rescue(client: &Client) -> Result<Vec<String>, Error> {
    let mut deleted = Vec::new();
    for resource in resources() {
        let mut path = resource.all();
        path.query.push(("labelSelector".into(), SELECTOR.into()));
        for object in client.list(&path).await?.items {
            let Some(name) = object.at(&["metadata", "name"]).and_then(Value::as_str) else { continue };
            match client.delete(&resource.named("", name)).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => deleted.push(format!("{}/{name}", resource.name)),
            }
        }
    }
    Ok(deleted)
}

/// Returns the webhook configurations of the programs that the languages of `snapshot` come from, by name. One that we
/// may not read is not found.
pub async fn originals(client: &Client, snapshot: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for name in snapshot.languages().flat_map(|language| language.originals()) {
        for resource in resources() {
            let is_new = !found.iter().any(|other| other == name);
            if is_new && client.get(&resource.named("", name)).await.is_ok() {
                found.push((*name).to_owned());
            }
        }
    }
    found
}
