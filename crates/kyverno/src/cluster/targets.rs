//! The webhook rules of a policy: the kinds that its rules name, and those of the controllers for which they are
//! rewritten.

use std::collections::BTreeMap;

use kubewright_engine::{KindOrResource, WebhookRule};
use kubewright_golib::glob;
use kubewright_k8s::{Operation, Operations};
use kubewright_value::{Budget, Text};

use crate::autogen::AutogenRule;
use crate::matching::kind;
use crate::source::{Match, Method, PolicySource, ResourceFilter, RuleSource};

/// Returns the webhook rules of `policy` and of the rules `generated` from it, without the rule called `without`; rules
/// generated from that rule count.
pub(super) fn webhook_rules_of(
    policy: &PolicySource,
    generated: &[AutogenRule],
    without: Option<&str>,
) -> Vec<WebhookRule> {
    let mut kinds = BTreeMap::new();
    let is_judging = |rule: &&RuleSource| !matches!(rule.validate.method, Method::Generate(_));
    let rules = policy.rules.iter().filter(is_judging);
    for rule in rules.filter(|rule| Some(rule.name.value.as_str()) != without) {
        collect_matched_kinds(&mut kinds, &rule.matching, rule.exclude.as_ref());
    }
    for rule in generated {
        collect_matched_kinds(&mut kinds, &rule.matching, rule.exclude.as_ref());
    }
    for rule in &policy.broken {
        if let Some(matching) = &rule.matching {
            collect_matched_kinds(&mut kinds, matching, rule.exclude.as_ref());
        }
    }
    let mut targets: Vec<WebhookRule> =
        kinds.iter().flat_map(|(kind, operations)| webhook_rules_of_kind(kind, *operations)).collect();
    targets.sort();
    targets.dedup();
    targets
}

/// Returns the resources that one `match` without its `exclude` is about.
pub(crate) fn matched_resources(matching: &Match, exclude: Option<&Match>) -> Vec<WebhookRule> {
    let mut kinds = BTreeMap::new();
    collect_matched_kinds(&mut kinds, matching, exclude);
    kinds.iter().flat_map(|(kind, operations)| webhook_rules_of_kind(kind, *operations)).collect()
}

/// Adds the kinds and operations of one rule, as they are written.
fn collect_matched_kinds(kinds: &mut BTreeMap<Text, Operations>, matching: &Match, exclude: Option<&Match>) {
    let mut own: BTreeMap<&Text, Operations> = BTreeMap::new();
    let every = Text::new_static("*");
    let must_hold = || matching.flat.iter().chain(&matching.all);
    let is_said = must_hold().any(|filter| !filter.kinds.is_empty());
    // An entry without kinds matches every object, unless another required entry names kinds.
    for filter in must_hold().filter(|_| !is_said).chain(&matching.any) {
        if filter.kinds.is_empty() {
            let all = own.entry(&every).or_insert(Operations::NONE);
            *all = all.and(filter_operations(filter));
        }
    }
    for filter in must_hold().chain(&matching.any) {
        for kind in &filter.kinds {
            let all = own.entry(&kind.value).or_insert(Operations::NONE);
            *all = all.and(filter_operations(filter));
        }
    }
    for filter in exclude.iter().flat_map(|exclude| &exclude.any).filter(|filter| is_of_kinds(filter)) {
        let is_meant =
            |kind: &Text| filter.kinds.is_empty() || filter.kinds.iter().any(|one| one.value == *kind);
        for (_, all) in own.iter_mut().filter(|(kind, _)| is_meant(kind)) {
            *all = operations_without(*all, filter_operations(filter));
        }
    }
    for (kind, operations) in own {
        let all = kinds.entry(kind.clone()).or_insert(Operations::NONE);
        *all = all.and(operations);
    }
}

/// Returns whether a filter has only kinds and operations.
fn is_of_kinds(filter: &ResourceFilter) -> bool {
    filter.name.is_none()
        && filter.names.is_empty()
        && filter.namespaces.is_empty()
        && filter.annotations.is_empty()
        && filter.selector.is_none()
        && filter.namespace_selector.is_none()
        && filter.subjects.is_empty()
        && filter.roles.is_empty()
        && filter.cluster_roles.is_empty()
}

fn filter_operations(filter: &ResourceFilter) -> Operations {
    match filter.operations.as_slice() {
        [] => Operations::ALL,
        some => some.iter().copied().collect(),
    }
}

fn operations_without(all: Operations, some: Operations) -> Operations {
    Operation::ALL.into_iter().filter(|one| all.contains(*one) && !some.contains(*one)).collect()
}

/// Returns the resources of a kind as a policy writes it. A rule for Pods also covers subresources of Pods.
fn webhook_rules_of_kind(written: &str, operations: Operations) -> Vec<WebhookRule> {
    if operations == Operations::NONE {
        return Vec::new();
    }
    let [group, version, kind, subresource] = kind::kind_parts(written);
    let name = match kind {
        "*" => KindOrResource::Resource("*".into()),
        kind => KindOrResource::Kind(kind.into()),
    };
    let whole = WebhookRule {
        group: group.into(),
        version: version.into(),
        name,
        subresource: subresource.into(),
        operations,
    };
    let fits = |pattern: &str, text: &str| {
        glob::matches_wildcard(pattern, text, &mut Budget::default()).unwrap_or(true)
    };
    let is_pod = subresource.is_empty() && fits(kind, "Pod") && fits(version, "v1") && fits(group, "");
    let parts = kind::PARTS_OF_PODS.iter().filter(|_| is_pod).map(|part| WebhookRule {
        group: "".into(),
        version: "v1".into(),
        name: KindOrResource::Resource("pods".into()),
        subresource: (*part).into(),
        operations,
    });
    let parts: Vec<WebhookRule> = parts.collect();
    std::iter::once(whole).chain(parts).collect()
}
