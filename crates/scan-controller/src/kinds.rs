//! Which kinds are watched: those that rules judge, and those that rules only look up.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_scan::{KindKey, ScanRules, WatchedInput, is_credential_kind, is_quiet_kind, preferred_group};

/// A kind that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchedKind {
    pub(crate) resource: ApiResource,
    /// Whether rules judge its objects; otherwise only changes of them matter.
    pub(crate) is_judged: bool,
    /// Whether rules can read its managed fields, which are a large part of most objects.
    pub(crate) has_managed_fields: bool,
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
        // The preferred version comes first. Credentials are never watched.
        let is_credential = is_credential_kind(&resource.group, &resource.kind);
        if kinds.contains_key(&key) || is_credential || is_served_twice(resource, served) {
            continue;
        }
        let is_judged = is_judged(resource, rules);
        if is_judged || is_input(resource, inputs) {
            let has_managed_fields = is_judged && rules.reads_managed_fields(&resource.kind);
            kinds.insert(key, WatchedKind { resource: resource.clone(), is_judged, has_managed_fields });
        }
    }
    kinds
}

fn is_judged(resource: &ApiResource, rules: &ScanRules) -> bool {
    let ApiResource { group, kind, is_namespaced, .. } = resource;
    let is_quiet = is_quiet_kind(group, kind);
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
    preferred_group(&resource.group, &resource.resource)
        .is_some_and(|group| served.of_resource(group, &resource.resource).is_some())
}
