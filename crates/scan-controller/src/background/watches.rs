//! The watches of the worker: triggers as whole objects, downstreams and inputs with their metadata only.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_cluster::{
    ApiResource, Client, DiscoveredResources, ResourceEvent, ResourceWatch, watch_resource,
};
use kubewright_engine::{DownstreamTemplate, GenerateProgram};
use kubewright_k8s::ApiPath;
use kubewright_scan::{KindKey, WatchedInput};
use kubewright_value::Text;
use tokio::sync::mpsc::{self, Sender};
use tokio::task::AbortHandle;

use super::labels::{MANAGED_BY_LABEL, RULE_MANAGER};
use super::policies::BackgroundPolicies;
use super::resources::{group_and_version, named_resources};
use super::state::WatchPurpose;

/// How many events of one kind wait before they are tagged with their kind.
const MAX_WAITING_EVENTS: usize = 8;

/// An event of a watch of the worker.
#[derive(Debug)]
pub(crate) struct TaggedEvent {
    pub(crate) purpose: WatchPurpose,
    pub(crate) kind: KindKey,
    /// The number of the watch: events of one that has ended do not count.
    pub(crate) watch: u64,
    pub(crate) event: ResourceEvent,
}

/// Which kinds are watched, and why.
pub(crate) type WantedWatches = BTreeMap<(WatchPurpose, KindKey), ApiResource>;

/// The watches that run.
#[derive(Debug)]
pub(crate) struct BackgroundWatches {
    client: Client,
    events: Sender<TaggedEvent>,
    running: BTreeMap<(WatchPurpose, KindKey), RunningKindWatch>,
    started: u64,
}

#[derive(Debug)]
struct RunningKindWatch {
    resource: ApiResource,
    number: u64,
    tasks: [AbortHandle; 2],
}

impl Drop for RunningKindWatch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl BackgroundWatches {
    pub(crate) fn new(client: Client, events: Sender<TaggedEvent>) -> Self {
        Self { client, events, running: BTreeMap::new(), started: 0 }
    }

    /// Watches `wanted` from now on and nothing else. Returns what is not watched any more.
    pub(crate) fn reconcile(&mut self, wanted: WantedWatches) -> Vec<(WatchPurpose, KindKey)> {
        let is_wanted = |key: &(WatchPurpose, KindKey), running: &RunningKindWatch| {
            wanted.get(key) == Some(&running.resource)
        };
        let ended: Vec<_> = self
            .running
            .iter()
            .filter(|(key, running)| !is_wanted(key, running))
            .map(|(key, _)| key.clone())
            .collect();
        ended.iter().for_each(|key| drop(self.running.remove(key)));
        for (key, resource) in wanted {
            if !self.running.contains_key(&key) {
                let watch = self.begin(&key, resource);
                self.running.insert(key, watch);
            }
        }
        ended
    }

    /// Returns whether an event comes from a watch that runs.
    pub(crate) fn is_current(&self, event: &TaggedEvent) -> bool {
        let key = (event.purpose, event.kind.clone());
        self.running.get(&key).is_some_and(|running| running.number == event.watch)
    }

    fn begin(
        &mut self,
        (purpose, kind): &(WatchPurpose, KindKey),
        resource: ApiResource,
    ) -> RunningKindWatch {
        self.started += 1;
        let number = self.started;
        let mut path = resource.address().all();
        if *purpose == WatchPurpose::Downstreams {
            path = labelled(path);
        }
        let mut watch = ResourceWatch::new(path);
        watch.is_metadata_only = *purpose != WatchPurpose::Triggers;
        watch.has_managed_fields = false;
        let (sender, mut received) = mpsc::channel(MAX_WAITING_EVENTS);
        let (events, purpose, kind) = (self.events.clone(), *purpose, kind.clone());
        let watching = tokio::spawn(watch_resource(self.client.clone(), watch, sender));
        let tagging = tokio::spawn(async move {
            while let Some(event) = received.recv().await {
                let event = TaggedEvent { purpose, kind: kind.clone(), watch: number, event };
                if events.send(event).await.is_err() {
                    return;
                }
            }
        });
        RunningKindWatch { resource, number, tasks: [watching.abort_handle(), tagging.abort_handle()] }
    }
}

/// Returns the address of what rules made.
pub(crate) fn labelled(mut path: ApiPath) -> ApiPath {
    path.query.push(("labelSelector".into(), format!("{MANAGED_BY_LABEL}={RULE_MANAGER}").into()));
    path
}

/// Returns what is to be watched for `policies`. `made` are the kinds of objects that rules have made, `inputs` is what rules
/// have looked up.
pub(crate) fn wanted_watches(
    policies: &BackgroundPolicies,
    served: &DiscoveredResources,
    made: &BTreeSet<KindKey>,
    inputs: &BTreeSet<WatchedInput>,
) -> WantedWatches {
    let mut wanted = WantedWatches::new();
    for (_, rule) in policies.rules() {
        for (kind, resource) in named_resources(rule.triggers(), served) {
            wanted.insert((WatchPurpose::Triggers, kind), resource);
        }
    }
    let templates = policies.rules().filter_map(|(_, rule)| rule.generate()).flat_map(template_kinds);
    for kind in templates.chain(made.iter().cloned()) {
        if let Some(resource) = watchable(served.of_kind(&kind.group, &kind.kind)) {
            wanted.insert((WatchPurpose::Downstreams, kind), resource);
        }
    }
    for input in inputs {
        let resource = match input {
            WatchedInput::Kind(kind) => served.of_kind(&kind.group, &kind.kind),
            WatchedInput::Resource { group, resource } => served.of_resource(group, resource),
            WatchedInput::Shared(_) => None,
        };
        if let Some(resource) = watchable(resource) {
            let kind = KindKey { group: resource.group.clone(), kind: resource.kind.clone() };
            wanted.insert((WatchPurpose::Inputs, kind), resource);
        }
    }
    wanted
}

/// Returns the kinds that a rule makes, as far as its policy says.
pub(crate) fn template_kinds(program: &GenerateProgram) -> Vec<KindKey> {
    let kind_of = |template: &DownstreamTemplate| {
        let kind: Text = template.kind.clone()?;
        let group = group_and_version(template.api_version.as_ref()?).0;
        Some(KindKey { group, kind })
    };
    program.downstreams.iter().filter_map(kind_of).collect()
}

fn watchable(resource: Option<&ApiResource>) -> Option<ApiResource> {
    resource.filter(|resource| resource.can("list") && resource.can("watch")).cloned()
}
