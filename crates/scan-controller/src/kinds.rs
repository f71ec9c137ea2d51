//! Which kinds are watched: those that rules judge, and those that rules only look up.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_scan::{KindKey, ScanRules, WatchedInput};

/// Kinds that are never watched, because they hold credentials.
const CREDENTIAL_KINDS: [(&str, &str); 1] = [("", "Secret")];

/// Kinds that change all the time. They are watched only where a rule names them.
const BUSY_KINDS: [(&str, &str); 6] = [
    ("", "Event"),
    ("events.k8s.io", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("", "Endpoints"),
    ("", "ComponentStatus"),
];

/// Groups whose objects are measurements or results of scans.
const RESULT_GROUPS: [&str; 6] = [
    "metrics.k8s.io",
    "custom.metrics.k8s.io",
    "external.metrics.k8s.io",
    "wgpolicyk8s.io",
    "openreports.io",
    "reports.kyverno.io",
];

/// Resources that another group serves too, from the same stored objects: the resource, the group that is left out, and
/// the group that is watched.
const SERVED_TWICE: [(&str, &str, &str); 2] =
    [("events", "events.k8s.io", ""), ("ingresses", "extensions", "networking.k8s.io")];

/// A kind that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchedKind {
    pub(crate) resource: ApiResource,
    /// Whether rules judge its objects; otherwise only changes of them matter.
    pub(crate) is_judged: bool,
}

/// Returns the kinds of `served` that are watched for `rules`, whose decisions looked up `inputs`.
pub(crate) fn watched_kinds(
    served: &DiscoveredResources,
    rules: &ScanRules,
    inputs: &BTreeSet<WatchedInput>,
) -> BTreeMap<KindKey, WatchedKind> {
    let mut kinds = BTreeMap::new();
    for resource in served.iter().filter(|resource| resource.can("list") && resource.can("watch")) {
        let key = KindKey { group: resource.group.clone(), kind: resource.kind.clone() };
        // The preferred version comes first.
        if kinds.contains_key(&key) || is_credential(resource) || is_served_twice(resource, served) {
            continue;
        }
        let is_judged = is_judged(resource, rules);
        if is_judged || is_input(resource, inputs) {
            kinds.insert(key, WatchedKind { resource: resource.clone(), is_judged });
        }
    }
    kinds
}

fn is_credential(resource: &ApiResource) -> bool {
    CREDENTIAL_KINDS.contains(&(resource.group.as_str(), resource.kind.as_str()))
}

fn is_judged(resource: &ApiResource, rules: &ScanRules) -> bool {
    let ApiResource { group, kind, is_namespaced, .. } = resource;
    let is_quiet =
        BUSY_KINDS.contains(&(group.as_str(), kind.as_str())) || RESULT_GROUPS.contains(&group.as_str());
    rules.reads_kind(group, kind, *is_namespaced) && (!is_quiet || rules.names_kind(kind))
}

fn is_input(resource: &ApiResource, inputs: &BTreeSet<WatchedInput>) -> bool {
    inputs.iter().any(|input| match input {
        WatchedInput::Kind(kind) => kind.group == resource.group && kind.kind == resource.kind,
        WatchedInput::Resource { group, resource: name } => {
            *group == resource.group && *name == resource.resource
        }
        WatchedInput::Shared(_) => false,
    })
}

fn is_served_twice(resource: &ApiResource, served: &DiscoveredResources) -> bool {
    SERVED_TWICE.iter().any(|(name, left_out, watched)| {
        resource.resource == *name
            && resource.group == *left_out
            && served.of_resource(watched, name).is_some()
    })
}
