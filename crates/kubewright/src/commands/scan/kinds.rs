//! The kinds that a scan lists: those that a rule or a pattern reads, each stored object once.

use std::collections::HashSet;

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_engine::{KindScope, Rule};
use kubewright_value::Text;
use std::sync::Arc;

/// Kinds that change all the time or hold credentials. They are listed only where a rule names them.
const QUIET_KINDS: [(&str, &str); 7] = [
    ("", "Secret"),
    ("", "Event"),
    ("events.k8s.io", "Event"),
    ("coordination.k8s.io", "Lease"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("", "Endpoints"),
    ("", "ComponentStatus"),
];

/// Groups whose objects are measurements or results of scans.
const QUIET_GROUPS: [&str; 6] = [
    "metrics.k8s.io",
    "custom.metrics.k8s.io",
    "external.metrics.k8s.io",
    "wgpolicyk8s.io",
    "openreports.io",
    "reports.kyverno.io",
];

/// Resources that another group serves too, from the same stored objects: the resource, the group that is left out, and
/// the group that is listed.
const SERVED_TWICE: [(&str, &str, &str); 2] =
    [("events", "events.k8s.io", ""), ("ingresses", "extensions", "networking.k8s.io")];

/// A kind that is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanKind {
    /// Where its objects are.
    pub(super) resource: ApiResource,
    /// Whether rules judge its objects.
    pub(super) is_judged: bool,
    /// Whether patterns read its objects.
    pub(super) is_in_graph: bool,
}

/// Which kinds rules and patterns read.
pub(super) struct KindReaders<'r> {
    /// The rules.
    pub(super) rules: &'r [Arc<Rule>],
    /// Returns whether patterns read objects of a group and kind.
    pub(super) patterns: &'r dyn Fn(&str, &str) -> bool,
}

/// Returns the kinds of `served` that `readers` read, sorted as the lines of `-o jsonl` are.
pub(super) fn scan_kinds(served: &DiscoveredResources, readers: &KindReaders<'_>) -> Vec<ScanKind> {
    let mut known: HashSet<(Text, Text)> = HashSet::new();
    let mut kinds = Vec::new();
    for resource in served.iter().filter(|resource| resource.can("list")) {
        // The preferred version comes first.
        if is_served_twice(resource, served)
            || !known.insert((resource.group.clone(), resource.resource.clone()))
        {
            continue;
        }
        let is_judged = is_judged(resource, readers.rules);
        let is_in_graph = (readers.patterns)(&resource.group, &resource.kind);
        if is_judged || is_in_graph {
            kinds.push(ScanKind { resource: resource.clone(), is_judged, is_in_graph });
        }
    }
    kinds.sort_by_cached_key(|kind| format!("{}/", kind.resource.full_name()));
    kinds
}

/// Returns whether a kind is listed only where a rule names it.
pub(super) fn is_quiet(group: &str, kind: &str) -> bool {
    QUIET_KINDS.contains(&(group, kind)) || QUIET_GROUPS.contains(&group)
}

fn is_served_twice(resource: &ApiResource, served: &DiscoveredResources) -> bool {
    SERVED_TWICE.iter().any(|(name, left_out, listed)| {
        resource.resource == *name
            && resource.group == *left_out
            && served.of_resource(listed, name).is_some()
    })
}

fn is_judged(resource: &ApiResource, rules: &[Arc<Rule>]) -> bool {
    let is_quiet = is_quiet(&resource.group, &resource.kind);
    rules.iter().any(|rule| match &rule.scope.kinds {
        KindScope::Any => !is_quiet,
        KindScope::Named(kinds) => kinds.contains(&resource.kind),
    })
}
