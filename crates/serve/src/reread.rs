//! Refreshes an object in a store after a conflict, without waiting for the watch.

use kubewright_cluster::{Client, Error, Store, WatchEvent};
use kubewright_k8s::ApiPath;

/// Puts the object at `path` into `store` as it is now.
///
/// # Errors
/// When the API server does not say.
pub(crate) async fn refresh_object(client: &Client, path: &ApiPath, store: &Store) -> Result<(), Error> {
    match client.get(path).await {
        Ok(object) => {
            store.apply(WatchEvent::Set(object));
        }
        Err(error) if error.is_not_found() => {
            if let Some(gone) = store.get(&path.namespace, &path.name) {
                store.apply(WatchEvent::Removed(gone));
            }
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
