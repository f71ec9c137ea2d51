//! The clients of the crate `kube`.

use std::fmt::Debug;
use std::hash::Hash;
use std::path::Path;
use std::pin::pin;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::Lookup;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{Config, Error, Event};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, ResourceExt};

use crate::client_process::Progress;

/// Runs the client of this name. Like ours, all drop managed fields, and those without a store drop every object.
pub(crate) async fn watch(name: &str, kubeconfig: &Path, progress: Progress) {
    let client = client(kubeconfig).await;
    let pods = ApiResource::erase::<Pod>(&());
    let dynamic: Api<DynamicObject> = Api::all_with(client.clone(), &pods);
    let streamed = Config::default().streaming_lists();
    match name {
        "kube watcher" => count(trimmed(watcher(dynamic, streamed)), progress).await,
        "kube watcher, pages" => count(trimmed(watcher(dynamic, Config::default())), progress).await,
        "kube watcher, metadata" => {
            let metadata: Api<PartialObjectMeta<Pod>> = Api::all(client);
            count(trimmed(watcher(metadata, streamed)), progress).await;
        }
        "kube Store<DynamicObject>" => {
            let writer = Writer::<DynamicObject>::new(pods);
            keep(writer, watcher(dynamic, streamed), progress).await;
        }
        "kube Store<Pod>" => {
            let typed: Api<Pod> = Api::all(client);
            keep(Writer::<Pod>::new(()), watcher(typed, streamed), progress).await;
        }
        other => panic!("`{other}` is not a client"),
    }
}

async fn client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a config")).expect("a client")
}

fn trimmed<K: ResourceExt + 'static>(
    events: impl Stream<Item = Result<Event<K>, Error>> + Send,
) -> impl Stream<Item = Result<Event<K>, Error>> + Send {
    events.modify(|object| object.managed_fields_mut().clear())
}

async fn keep<K>(
    writer: Writer<K>,
    events: impl Stream<Item = Result<Event<K>, Error>> + Send,
    progress: Progress,
) where
    K: ResourceExt + Lookup + Clone + Debug + Send + Sync + 'static,
    <K as Lookup>::DynamicType: Eq + Hash + Clone,
{
    let _store = writer.as_reader();
    count(reflector(writer, trimmed(events)), progress).await;
}

async fn count<K>(events: impl Stream<Item = Result<Event<K>, Error>>, mut progress: Progress) {
    let mut events = pin!(events);
    while let Some(event) = events.next().await {
        match event.expect("the API server answers") {
            Event::Init => {}
            Event::InitApply(_) => progress.listed(),
            Event::InitDone => progress.synced().await,
            Event::Apply(_) | Event::Delete(_) => progress.changed(1),
        }
    }
}
