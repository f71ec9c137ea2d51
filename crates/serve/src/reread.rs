//! Reads an object anew after somebody else was faster, without waiting for the watch to say so.

use kubewright_cluster::{Client, Error, Event, Store};
use kubewright_k8s::ApiPath;

/// Puts the object at `path` into `store` as it is now.
///
/// # Errors
/// When the API server does not say.
pub(crate) async fn reread(client: &Client, path: &ApiPath, store: &Store) -> Result<(), Error> {
    match client.get(path).await {
        Ok(object) => {
            store.apply(Event::Set(object));
        }
        Err(error) if error.is_not_found() => {
            if let Some(gone) = store.get(&path.namespace, &path.name) {
                store.apply(Event::Removed(gone));
            }
        }
        Err(error) => return Err(error),
    }
    Ok(())
}
