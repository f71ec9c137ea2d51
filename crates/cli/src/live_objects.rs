//! The objects of a cluster as an input: every kind is listed, page by page, several kinds at a time.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use kubewright_cluster::{ApiResource, Client, DiscoveredResources, Discovery, Error};
use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_files::{Input, NOT_LISTED, Progress, about_path};
use kubewright_k8s::ApiPath;
use kubewright_scan::{is_quiet_kind, preferred_group};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Source, SourceOrigins, Value};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::arguments::InputArguments;
use crate::failure::CommandFailure;
use crate::live;
use crate::manifest_inputs::CLUSTER_PREFIX;
use crate::progress::ProgressBar;

/// How many objects one page of a list has.
const PAGE_OBJECTS: u32 = 500;

/// How many kinds are listed at a time.
const PARALLEL_LISTS: usize = 8;

/// How often a list begins again because its pages have become old.
const MAX_LIST_RESTARTS: usize = 3;

/// How many kinds that cannot be listed are named.
const MAX_NAMED_KINDS: usize = 5;

/// The group whose objects are measured and not stored.
const METRICS_GROUP: &str = "metrics.k8s.io";

/// Reads the objects of the cluster, of all namespaces or of one, and reports which kinds cannot be listed.
///
/// # Errors
/// When there is no cluster, it does not answer, or it does not serve a kind that was asked for.
pub(crate) fn read_cluster(
    arguments: &InputArguments,
    namespace: Option<&str>,
) -> Result<(Input, Vec<Diagnostic>), CommandFailure> {
    let help = "name a kubeconfig with `--kubeconfig`, and a context of it with `--kube-context`";
    let client = live::find_client(&arguments.cluster()).map_err(|failure| failure.help(help))?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let unreachable = |error: Error| CommandFailure::usage(format!("cannot reach the cluster: {error}"));
        let served = Discovery::new(client.clone()).resources().await.map_err(unreachable)?;
        let kinds = wanted_kinds(&served, &arguments.kinds)?;
        let lists = kinds.iter().filter_map(|kind| Some((kind.full_name(), list_path(kind, namespace)?)));
        Ok(list_all(&client, lists.collect()).await)
    })
}

/// Returns the kinds to list: those that are called by one of `names`, or all that are worth it. Each stored object is listed
/// once, in the preferred version of its kind.
pub(crate) fn wanted_kinds(
    served: &DiscoveredResources,
    names: &[String],
) -> Result<Vec<ApiResource>, CommandFailure> {
    let is_called = |resource: &ApiResource, name: &str| {
        let full = resource.full_name();
        [resource.kind.as_str(), resource.resource.as_str(), full.as_str()]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    };
    for name in names {
        if !served.iter().any(|resource| is_called(resource, name)) {
            let near = nearest_word(name, served.iter().map(|resource| resource.kind.as_str()));
            let failure = CommandFailure::usage(format!("the cluster has no kind `{name}`"));
            return Err(match near {
                Some(near) => failure.help(did_you_mean(near)),
                None => failure,
            });
        }
    }
    let mut known = HashSet::new();
    let mut kinds: Vec<ApiResource> = Vec::new();
    for resource in served.iter().filter(|resource| resource.can("list")) {
        let is_wanted = match names {
            [] => !is_quiet_kind(&resource.group, &resource.kind) && resource.group != METRICS_GROUP,
            names => names.iter().any(|name| is_called(resource, name)),
        };
        let is_elsewhere = preferred_group(&resource.group, &resource.resource)
            .is_some_and(|group| served.of_resource(group, &resource.resource).is_some());
        // The preferred version comes first.
        if is_wanted && !is_elsewhere && known.insert((resource.group.clone(), resource.resource.clone())) {
            kinds.push(resource.clone());
        }
    }
    kinds.sort_by_cached_key(ApiResource::full_name);
    Ok(kinds)
}

/// Returns where the objects of a kind are; nothing for a cluster-wide kind if one namespace is read. The Namespace itself is
/// read too, because rules select by its labels.
pub(crate) fn list_path(kind: &ApiResource, namespace: Option<&str>) -> Option<ApiPath> {
    let address = kind.address();
    match namespace {
        None => Some(address.all()),
        Some(namespace) if kind.is_namespaced => Some(address.within(namespace)),
        Some(namespace) if kind.kind == "Namespace" && kind.group.is_empty() => {
            let mut path = address.all();
            path.query.push(("fieldSelector".into(), format!("metadata.name={namespace}").into()));
            Some(path)
        }
        Some(_) => None,
    }
}

/// Lists all `paths`, several at a time; the objects are in the order of the paths.
async fn list_all(client: &Client, paths: Vec<(String, ApiPath)>) -> (Input, Vec<Diagnostic>) {
    let count = paths.len();
    let mut lists: Vec<Vec<Value>> = Vec::new();
    lists.resize_with(count, Vec::new);
    let mut refused: Vec<(String, Error)> = Vec::new();
    let mut running = JoinSet::new();
    let mut waiting = paths.into_iter().enumerate();
    let mut bar = ProgressBar::new();
    let (mut done, mut objects) = (0usize, 0);
    loop {
        while running.len() < PARALLEL_LISTS {
            let Some((place, (name, path))) = waiting.next() else { break };
            let client = client.clone();
            running.spawn(async move { (place, name, list_kind(&client, &path).await) });
        }
        let Some(finished) = running.join_next().await else { break };
        let Ok((place, name, (listed, error))) = finished else { continue };
        done += 1;
        objects += listed.len();
        bar.show(Progress {
            objects,
            share: f64::from(u32::try_from(done * 100 / count).unwrap_or(0)) / 100.0,
        });
        refused.extend(error.map(|error| (name, error)));
        if let Some(list) = lists.get_mut(place) {
            *list = listed;
        }
    }
    bar.clear();
    refused.sort_by(|(one, _), (other, _)| one.cmp(other));
    let documents = lists.into_iter().flatten().map(live_document).collect();
    (Input::Objects(Arc::new(documents)), not_listed(&refused).into_iter().collect())
}

/// Lists one kind; what was read before an error counts.
async fn list_kind(client: &Client, path: &ApiPath) -> (Vec<Value>, Option<Error>) {
    let mut restarts = 0;
    loop {
        let mut objects = Vec::new();
        let visit = |object: Value| {
            objects.push(object);
            ControlFlow::<()>::Continue(())
        };
        match client.visit_list(path, PAGE_OBJECTS, false, visit).await {
            Ok(_) => return (objects, None),
            Err(error) if error.is_gone() && restarts < MAX_LIST_RESTARTS => restarts += 1,
            Err(error) => return (objects, Some(error)),
        }
    }
}

/// Returns an object of the cluster as a document that is called `cluster:KIND/NAMESPACE/NAME` and has no lines.
pub(crate) fn live_document(object: Value) -> Document {
    let text = |key: &str| object.str_at(&["metadata", key]);
    let parts = [object.str_at(&["kind"]), text("namespace"), text("name")];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let name = format!("{CLUSTER_PREFIX}{}", parts.join("/"));
    let whole = SourceOrigins::whole(Source::new(name.clone(), ""));
    Document::made(object, Source::new(name, "").made_from(whole))
}

/// Returns the diagnostic about all kinds that could not be listed.
fn not_listed(refused: &[(String, Error)]) -> Option<Diagnostic> {
    let (_, error) = refused.first()?;
    let names = refused.iter().map(|(name, _)| format!("`{name}`"));
    let mut shown = names.take(MAX_NAMED_KINDS).collect::<Vec<_>>().join(", ");
    if refused.len() > MAX_NAMED_KINDS {
        shown.push_str(&format!(" and {} other kinds", refused.len() - MAX_NAMED_KINDS));
    }
    let message = format!("the cluster does not list {shown}, so their objects are left out: {error}");
    let help = "allow the verb `list` on them, or name the kinds to read with `--kinds`";
    Some(about_path(&NOT_LISTED, CLUSTER_PREFIX, message).help(help))
}
