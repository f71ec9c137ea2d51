//! The programs that our languages come from, where they are installed beside us.

use kubewright_cluster::Client;

use super::webhook_resources;
use crate::Snapshot;

/// Returns the webhook configurations of the programs that the languages of `snapshot` come from, by name. One that we
/// may not read is not found.
pub async fn installed_upstream_webhooks(client: &Client, snapshot: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for name in snapshot.languages().flat_map(|language| language.upstream_webhooks()) {
        for resource in webhook_resources() {
            let is_new = !found.iter().any(|other| other == name);
            if is_new && client.get(&resource.named("", name)).await.is_ok() {
                found.push((*name).to_owned());
            }
        }
    }
    found
}
