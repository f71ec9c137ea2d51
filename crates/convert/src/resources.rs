//! The API resources of the kinds that a policy names. Without a cluster only built-in kinds are known, and the
//! plural of any other is guessed.

use kubewright_golib::glob::{WildcardPattern, has_wildcard};
use kubewright_k8s::{BUILT_IN_KINDS, GroupVersionKind, is_cluster_scoped, resource_name};
use kubewright_value::{Budget, Text};

use kubewright_kyverno::matching::kind::kind_parts;

/// A resource that the API server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServedResource {
    pub(crate) group: Text,
    pub(crate) version: Text,
    /// The plural, with `/subresource` if there is one.
    pub(crate) name: Text,
    pub(crate) scope: ResourceScope,
}

/// Whether objects have a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceScope {
    Namespaced,
    Cluster,
    /// A Namespace, which counts as being in itself.
    Namespace,
    /// Any kind.
    Unknown,
}

/// The kinds that a policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KindLookup {
    /// Those that every cluster has, at least one.
    Known(Vec<ServedResource>),
    /// A kind that the cluster may have: the plural is a guess.
    Guessed(ServedResource),
    /// Wildcards that cannot be replaced by a list of names.
    Wild,
}

/// The parts that have a name of their own, by resource; `status` is one of most.
const SUBRESOURCES: &[(&str, &[&str])] = &[
    (
        "pods",
        &[
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
            "status",
        ],
    ),
    ("services", &["proxy", "status"]),
    ("nodes", &["proxy", "status"]),
    ("namespaces", &["finalize", "status"]),
    ("serviceaccounts", &["token"]),
    ("replicationcontrollers", &["scale", "status"]),
    ("deployments", &["scale", "status"]),
    ("replicasets", &["scale", "status"]),
    ("statefulsets", &["scale", "status"]),
    ("certificatesigningrequests", &["approval", "status"]),
    ("daemonsets", &["status"]),
    ("jobs", &["status"]),
    ("cronjobs", &["status"]),
    ("persistentvolumes", &["status"]),
    ("persistentvolumeclaims", &["status"]),
    ("resourcequotas", &["status"]),
    ("horizontalpodautoscalers", &["status"]),
    ("ingresses", &["status"]),
    ("poddisruptionbudgets", &["status"]),
    ("customresourcedefinitions", &["status"]),
    ("apiservices", &["status"]),
];

/// Returns the resources of `selector`, a kind as a policy names it.
pub(crate) fn find_resources(selector: &str) -> KindLookup {
    let [group, version, kind, part] = kind_parts(selector);
    if [group, version, kind, part] == ["*", "*", "*", ""] {
        return KindLookup::Known(vec![ServedResource {
            group: "*".into(),
            version: "*".into(),
            name: "*".into(),
            scope: ResourceScope::Unknown,
        }]);
    }
    let known: Vec<ServedResource> = BUILT_IN_KINDS
        .iter()
        .filter(|(in_group, in_version, _)| {
            matches_kind_part(group, in_group) && matches_kind_part(version, in_version)
        })
        .flat_map(|(in_group, in_version, kinds)| {
            let kinds = kinds.iter().filter(|name| matches_kind_part(kind, name));
            kinds.flat_map(|name| known_resources(in_group, in_version, name, part)).collect::<Vec<_>>()
        })
        .collect();
    if !known.is_empty() {
        return KindLookup::Known(known);
    }
    if kind.is_empty() || has_wildcard(kind) || has_wildcard(part) || (has_wildcard(group) && group != "*") {
        return KindLookup::Wild;
    }
    if has_wildcard(version) && version != "*" {
        return KindLookup::Wild;
    }
    let plural = resource_name(kind);
    let name = if part.is_empty() { plural } else { format!("{plural}/{part}") };
    KindLookup::Guessed(ServedResource {
        group: group.into(),
        version: version.into(),
        name: name.into(),
        scope: ResourceScope::Namespaced,
    })
}

/// Returns whether `selector` names every version explicitly, and does not merely leave it out.
pub(crate) fn is_any_version(selector: &str) -> bool {
    let [_, version, kind, _] = kind_parts(selector);
    version == "*" && kind != "*" && (selector.contains("*/") || selector.contains(".*."))
}

fn known_resources(group: &str, version: &str, kind: &str, part: &str) -> Vec<ServedResource> {
    let plural = resource_name(kind);
    let scope = match kind {
        "Namespace" => ResourceScope::Namespace,
        _ if is_cluster_scoped(&GroupVersionKind {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }) =>
        {
            ResourceScope::Cluster
        }
        _ => ResourceScope::Namespaced,
    };
    let resource = |name: String| ServedResource {
        group: group.into(),
        version: version.into(),
        name: name.into(),
        scope,
    };
    if part.is_empty() {
        return vec![resource(plural)];
    }
    let known = SUBRESOURCES.iter().find(|(name, _)| *name == plural).map_or(&[][..], |(_, parts)| parts);
    known
        .iter()
        .filter(|name| matches_kind_part(part, name))
        .map(|name| resource(format!("{plural}/{name}")))
        .collect()
}

fn matches_kind_part(pattern: &str, text: &str) -> bool {
    // Both are short: names of kinds and groups.
    WildcardPattern::parse(pattern).matches(text, &mut Budget::default()).unwrap_or(false)
}
