//! The watches of all kinds, each a task that sends its events to the scan thread.

use std::collections::BTreeMap;
use std::time::Instant;

use kubewright_cluster::{Client, ResourceWatch, watch_resource};
use kubewright_scan::KindKey;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Sender};
use tokio::task::AbortHandle;

use crate::kinds::WatchedKind;
use crate::scan_input::ScanInput;

/// How many events of one kind wait before they are tagged with their kind.
const MAX_WAITING_EVENTS: usize = 8;

/// The watches of all kinds.
#[derive(Debug)]
pub(crate) struct KindWatches {
    client: Client,
    runtime: Handle,
    inputs: Sender<ScanInput>,
    running: BTreeMap<KindKey, RunningWatch>,
    started: u64,
}

#[derive(Debug)]
struct RunningWatch {
    kind: WatchedKind,
    number: u64,
    tasks: [AbortHandle; 2],
}

impl Drop for RunningWatch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl KindWatches {
    pub(crate) fn new(client: Client, runtime: Handle, inputs: Sender<ScanInput>) -> Self {
        Self { client, runtime, inputs, running: BTreeMap::new(), started: 0 }
    }

    /// Watches `wanted` from now on and nothing else. Returns the kinds whose watch has begun, and those whose has ended.
    pub(crate) fn reconcile(
        &mut self,
        wanted: BTreeMap<KindKey, WatchedKind>,
    ) -> (Vec<KindKey>, Vec<KindKey>) {
        let is_wanted = |key: &KindKey, running: &RunningWatch| wanted.get(key) == Some(&running.kind);
        let ended: Vec<KindKey> = self
            .running
            .iter()
            .filter(|(key, running)| !is_wanted(key, running))
            .map(|(key, _)| key.clone())
            .collect();
        ended.iter().for_each(|key| drop(self.running.remove(key)));
        let mut begun = Vec::new();
        for (key, kind) in wanted {
            if !self.running.contains_key(&key) {
                let watch = self.begin(&key, kind);
                self.running.insert(key.clone(), watch);
                begun.push(key);
            }
        }
        (begun, ended)
    }

    /// Returns the kind, if the watch called `number` is the one that runs.
    pub(crate) fn current(&self, key: &KindKey, number: u64) -> Option<&WatchedKind> {
        self.running.get(key).filter(|running| running.number == number).map(|running| &running.kind)
    }

    /// Returns a kind that is watched.
    pub(crate) fn kind(&self, key: &KindKey) -> Option<&WatchedKind> {
        self.running.get(key).map(|running| &running.kind)
    }

    /// Returns the kinds whose objects are judged.
    pub(crate) fn judged(&self) -> impl Iterator<Item = &KindKey> {
        self.running.iter().filter(|(_, running)| running.kind.is_judged).map(|(key, _)| key)
    }

    fn begin(&mut self, key: &KindKey, kind: WatchedKind) -> RunningWatch {
        self.started += 1;
        let number = self.started;
        let mut watch = ResourceWatch::new(kind.resource.address().all());
        watch.is_metadata_only = !kind.is_judged;
        watch.has_managed_fields = kind.has_managed_fields;
        let (sender, mut events) = mpsc::channel(MAX_WAITING_EVENTS);
        let (inputs, key) = (self.inputs.clone(), key.clone());
        let watching = self.runtime.spawn(watch_resource(self.client.clone(), watch, sender));
        let tagging = self.runtime.spawn(async move {
            while let Some(event) = events.recv().await {
                let since = Instant::now();
                let input = ScanInput::Watched { kind: key.clone(), watch: number, event, since };
                if inputs.send(input).await.is_err() {
                    return;
                }
            }
        });
        RunningWatch { kind, number, tasks: [watching.abort_handle(), tagging.abort_handle()] }
    }
}
