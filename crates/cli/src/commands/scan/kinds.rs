//! The kinds that a scan lists: those that a rule or a pattern reads, each stored object once.

use std::collections::HashSet;

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_engine::{KindScope, Rule};
use kubewright_scan::{is_quiet_kind, preferred_group};
use kubewright_value::CompactSort as _;
use kubewright_value::Text;
use std::sync::Arc;

/// A kind that is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct ScanKind {
    /// Where its objects are.
    pub(in crate::commands) resource: ApiResource,
    /// Whether rules judge its objects.
    pub(in crate::commands) is_judged: bool,
    /// Whether patterns read its objects.
    pub(in crate::commands) is_in_graph: bool,
}

/// Which kinds rules and patterns read.
pub(in crate::commands) struct KindReaders<'r> {
    /// The rules.
    pub(in crate::commands) rules: &'r [Arc<Rule>],
    /// Returns whether patterns read objects of a group and kind.
    pub(in crate::commands) patterns: &'r dyn Fn(&str, &str) -> bool,
}

/// Returns the kinds of `served` that `readers` read, sorted as the lines of `-o jsonl` are.
pub(in crate::commands) fn scan_kinds(
    served: &DiscoveredResources,
    readers: &KindReaders<'_>,
) -> Vec<ScanKind> {
    let mut known: HashSet<(Text, Text)> = HashSet::new();
    let mut kinds = Vec::new();
    for resource in served.iter().filter(|resource| resource.can("list")) {
        // The preferred version comes first.
        if is_served_elsewhere(resource, served)
            || !known.insert((resource.group.clone(), resource.resource.clone()))
        {
            continue;
        }
        let is_judged = is_resource_judged(resource, readers.rules);
        let is_in_graph = (readers.patterns)(&resource.group, &resource.kind);
        if is_judged || is_in_graph {
            kinds.push(ScanKind { resource: resource.clone(), is_judged, is_in_graph });
        }
    }
    kinds.compact_sort_by_cached_key(|kind| format!("{}/", kind.resource.full_name()));
    kinds
}

fn is_served_elsewhere(resource: &ApiResource, served: &DiscoveredResources) -> bool {
    preferred_group(&resource.group, &resource.resource)
        .is_some_and(|group| served.of_resource(group, &resource.resource).is_some())
}

fn is_resource_judged(resource: &ApiResource, rules: &[Arc<Rule>]) -> bool {
    let is_quiet = is_quiet_kind(&resource.group, &resource.kind);
    rules.iter().any(|rule| match &rule.scope.kinds {
        KindScope::Any => !is_quiet,
        KindScope::Named(kinds) => kinds.contains(&resource.kind),
    })
}

#[cfg(test)]
mod tests {
    use kubewright_scan::{ScanRuleOptions, ScanRules};
    use kubewright_value::{Source, yaml};

    use super::*;

    /// Returns the kinds that a rule about `kinds` reads in a cluster that serves `served`, written `resource.group/version
    /// Kind`.
    fn listed(kinds: &str, served: &[&str]) -> Vec<String> {
        let policy =
            include_str!("../../../../kubewright/tests/scan/rules/about-kinds.yaml").replace("KINDS", kinds);
        let documents = yaml::read(&Source::new("p.yaml", policy)).documents;
        let (rules, _) = ScanRules::compile(&documents, &[], &ScanRuleOptions::default());
        let served = served.iter().filter_map(|text| served_resource(text)).collect();
        let readers = KindReaders { rules: &rules.all_rules(), patterns: &|_, _| false };
        let kinds = scan_kinds(&DiscoveredResources::of(served), &readers);
        kinds.iter().map(|kind| format!("{}/{}", kind.resource.full_name(), kind.resource.version)).collect()
    }

    fn served_resource(text: &str) -> Option<ApiResource> {
        let (name, kind) = text.split_once(' ')?;
        let (name, version) = name.split_once('/')?;
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        Some(ApiResource {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
            kind: kind.into(),
            verbs: vec!["list".into()],
            ..ApiResource::default()
        })
    }

    #[test]
    fn each_kind_is_listed_in_its_preferred_version() {
        let served = [
            "horizontalpodautoscalers.autoscaling/v2 HorizontalPodAutoscaler",
            "horizontalpodautoscalers.autoscaling/v1 HorizontalPodAutoscaler",
            "pods/v1 Pod",
        ];
        assert_eq!(listed("[HorizontalPodAutoscaler]", &served), ["horizontalpodautoscalers.autoscaling/v2"]);
    }

    #[test]
    fn quiet_kinds_are_listed_only_where_a_rule_names_them() {
        let served = ["secrets/v1 Secret", "leases.coordination.k8s.io/v1 Lease", "pods/v1 Pod"];
        assert_eq!(listed("['*']", &served), ["pods/v1"]);
        assert_eq!(listed("[Secret]", &served), ["secrets/v1"]);
    }

    #[test]
    fn stored_objects_are_listed_once_and_resources_sorted_as_lines_are() {
        let served =
            ["events.events.k8s.io/v1 Event", "pods/v1 Pod", "pods.metrics.k8s.io/v1 Pod", "events/v1 Event"];
        assert_eq!(listed("[Event, Pod]", &served), ["events/v1", "pods.metrics.k8s.io/v1", "pods/v1"]);
    }
}
