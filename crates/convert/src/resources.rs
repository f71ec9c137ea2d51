//! What the API server calls the kinds that a policy names. Without a cluster only built-in kinds are known, and the
//! plural of any other is guessed.

use kubewright_golib::glob::{WildcardPattern, has_wildcard};
use kubewright_k8s::{BUILT_IN_KINDS, GroupVersionKind, is_cluster_scoped, resource_name};
use kubewright_value::{Budget, Text};

use kubewright_kyverno::matching::kind::kind_parts;

/// What the API server serves under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: Text,
    pub(crate) version: Text,
    /// The plural, with `/subresource` where that is meant.
    pub(crate) name: Text,
    pub(crate) scope: Scoped,
}

/// Whether objects have a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scoped {
    Namespaced,
    Cluster,
    /// A Namespace, which is taken to be in itself.
    Namespace,
    /// Any kind is meant.
    Unknown,
}

/// The kinds that a policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Those that every cluster has, at least one.
    Known(Vec<Resource>),
    /// A kind that the cluster may have: the plural is a guess.
    Guessed(Resource),
    /// Wildcards that no list of names can stand for.
    Wild,
}

/// The parts that have a name of their own, by resource; `status` is one of most.
const PARTS: &[(&str, &[&str])] = &[
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

/// Returns what `selector` means, which is a kind as a policy names it.
pub(crate) fn find(selector: &str) -> Found {
    let [group, version, kind, part] = kind_parts(selector);
    if [group, version, kind, part] == ["*", "*", "*", ""] {
        return Found::Known(vec![Resource {
            group: "*".into(),
            version: "*".into(),
            name: "*".into(),
            scope: Scoped::Unknown,
        }]);
    }
    let known: Vec<Resource> = BUILT_IN_KINDS
        .iter()
        .filter(|(in_group, in_version, _)| fits(group, in_group) && fits(version, in_version))
        .flat_map(|(in_group, in_version, kinds)| {
            let kinds = kinds.iter().filter(|name| fits(kind, name));
            kinds.flat_map(|name| resources(in_group, in_version, name, part)).collect::<Vec<_>>()
        })
        .collect();
    if !known.is_empty() {
        return Found::Known(known);
    }
    if kind.is_empty() || has_wildcard(kind) || has_wildcard(part) || (has_wildcard(group) && group != "*") {
        return Found::Wild;
    }
    if has_wildcard(version) && version != "*" {
        return Found::Wild;
    }
    let plural = resource_name(kind);
    let name = if part.is_empty() { plural } else { format!("{plural}/{part}") };
    Found::Guessed(Resource {
        group: group.into(),
        version: version.into(),
        name: name.into(),
        scope: Scoped::Namespaced,
    })
}

/// Returns whether `selector` says in so many words that every version is meant, and not merely none in particular.
pub(crate) fn is_any_version(selector: &str) -> bool {
    let [_, version, kind, _] = kind_parts(selector);
    version == "*" && kind != "*" && (selector.contains("*/") || selector.contains(".*."))
}

fn resources(group: &str, version: &str, kind: &str, part: &str) -> Vec<Resource> {
    let plural = resource_name(kind);
    let scope = match kind {
        "Namespace" => Scoped::Namespace,
        _ if is_cluster_scoped(&GroupVersionKind {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }) =>
        {
            Scoped::Cluster
        }
        _ => Scoped::Namespaced,
    };
    let resource =
        |name: String| Resource { group: group.into(), version: version.into(), name: name.into(), scope };
    if part.is_empty() {
        return vec![resource(plural)];
    }
    let known = PARTS.iter().find(|(name, _)| *name == plural).map_or(&[][..], |(_, parts)| parts);
    known.iter().filter(|name| fits(part, name)).map(|name| resource(format!("{plural}/{name}"))).collect()
}

fn fits(pattern: &str, text: &str) -> bool {
    // Both are short: names of kinds and groups.
    WildcardPattern::parse(pattern).matches(text, &mut Budget::default()).unwrap_or(false)
}
