//! The clients of `kubewright-cluster`.

use std::path::Path;
use std::sync::Arc;

use kubewright_cluster::{
    Client, Config, GroupVersionResource, InitialListStrategy, ResourceEvent, ResourceWatch, Store,
    WatchPolicy, run_reflector, watch_resource,
};
use kubewright_k8s::ApiPath;
use kubewright_value::Value;

use crate::client_process::Progress;

/// Events over a channel; objects are dropped.
pub(crate) async fn watch(name: &str, kubeconfig: &Path, mut progress: Progress) {
    let initial_list = match name.ends_with("pages") {
        true => InitialListStrategy::ListWatch,
        false => InitialListStrategy::StreamingList,
    };
    let is_metadata_only = name.ends_with("metadata");
    let watch = ResourceWatch {
        initial_list,
        is_metadata_only,
        trim: remove_managed_fields,
        ..ResourceWatch::new(pods())
    };
    let (sender, mut events) = tokio::sync::mpsc::channel(64);
    tokio::spawn(watch_resource(client(kubeconfig), watch, sender));
    while let Some(event) = events.recv().await {
        match event {
            ResourceEvent::InitialListStarted => {}
            ResourceEvent::InitialObject(_) => progress.listed(),
            ResourceEvent::InitialListEnded => progress.synced().await,
            ResourceEvent::Applied(_) | ResourceEvent::Deleted(_) => progress.changed(1),
            ResourceEvent::Failed(error) => panic!("{error}"),
        }
    }
}

/// A store, which drops managed fields.
pub(crate) async fn store(kubeconfig: &Path, mut progress: Progress) {
    let store = Arc::new(Store::default());
    let mut changes = store.changes();
    tokio::spawn(run_reflector(client(kubeconfig), pods(), Arc::clone(&store), WatchPolicy::default()));
    changes.changed().await.expect("the store lives");
    let mut seen = *changes.borrow_and_update();
    for _ in 0..store.len() {
        progress.listed();
    }
    progress.synced().await;
    loop {
        changes.changed().await.expect("the store lives");
        let now = *changes.borrow_and_update();
        progress.changed(usize::try_from(now - seen).expect("few changes"));
        seen = now;
    }
}

fn pods() -> ApiPath {
    GroupVersionResource::new("", "v1", "pods").all()
}

fn client(kubeconfig: &Path) -> Client {
    let config = Config::of_files(&[kubeconfig.to_owned()], None).expect("a kubeconfig");
    Client::new(config).expect("a client")
}

fn remove_managed_fields(object: &mut Value) {
    if let Some(metadata) =
        object.as_object_mut().and_then(|map| map.get_mut("metadata")).and_then(Value::as_object_mut)
    {
        metadata.remove("managedFields");
    }
}
