//! `match` and `exclude` as lists of resources and selectors alone, which is how Kyverno writes them.
//!
//! Kyverno puts the entries of a `match` into lists that know nothing of each other, so that some policies would
//! become wider or narrower on the way. Those are left to [`super::matching`], which writes conditions as well.

use kubewright_golib::glob::has_wildcard;
use kubewright_k8s::Operation;
use kubewright_value::Text;

use super::constraints::{MatchConstraints, TargetResourceRule, namespace_selector_value, selector_value};
use super::resources::{self, KindLookup, ResourceScope, ServedResource};
use kubewright_kyverno::source::{ExceptionSource, Match, ResourceFilter, RuleSource};

/// The operations of a rule that names none, in Kyverno's order.
const DEFAULT_OPERATIONS: [Operation; 4] =
    [Operation::Create, Operation::Update, Operation::Connect, Operation::Delete];

/// Returns the match constraints of `rule` as lists alone; `None` when the lists would match other requests.
pub(super) fn listed_constraints(
    rule: &RuleSource,
    exceptions: &[&ExceptionSource],
) -> Option<MatchConstraints> {
    let matched: Vec<&ResourceFilter> = match_entries(&rule.matching).collect();
    let excluded = rule.exclude.iter().chain(exceptions.iter().map(|exception| &exception.matching));
    let excluded: Vec<&ResourceFilter> = excluded.flat_map(match_entries).collect();
    let is_same = is_same_in_lists(&matched) && are_exclusions_kept(&excluded);
    is_same.then(|| {
        // Of several entries the last one decides namespaces and labels.
        let last = matched.last();
        let namespaces = last.map(|filter| name_texts(filter)).unwrap_or_default();
        MatchConstraints {
            rules: listed_resource_rules(&matched),
            excluded: listed_resource_rules(&excluded),
            namespace_selector: match namespaces.is_empty() {
                false => Some(namespace_selector_value(&namespaces)),
                true => last.and_then(|filter| filter.namespace_selector.as_ref()).map(selector_value),
            },
            object_selector: last.and_then(|filter| filter.selector.as_ref()).map(selector_value),
            conditions: namespaced_condition(&matched).into_iter().collect(),
        }
    })
}

fn match_entries(matching: &Match) -> impl Iterator<Item = &ResourceFilter> {
    matching.flat.iter().chain(&matching.any).chain(&matching.all)
}

fn name_texts(filter: &ResourceFilter) -> Vec<Text> {
    filter.namespaces.iter().map(|text| text.value.clone()).collect()
}

/// Returns whether a `match` means the same when it is written in lists.
fn is_same_in_lists(filters: &[&ResourceFilter]) -> bool {
    let [first, rest @ ..] = filters else { return false };
    filters.iter().all(|filter| is_same_alone(filter))
        && rest.iter().all(|filter| name_texts(filter) == name_texts(first))
        && are_rules_apart(filters)
}

/// Returns whether one entry of a `match` means the same when it is written in lists.
fn is_same_alone(filter: &ResourceFilter) -> bool {
    let scopes: Vec<ResourceScope> = filter_resources(filter).map(|resource| resource.scope).collect();
    let has_two_names = filter.name.is_some() && !filter.names.is_empty();
    let are_namespaces_kept = filter.namespaces.is_empty() || !scopes.contains(&ResourceScope::Cluster);
    let is_selector_kept =
        filter.namespace_selector.is_none() || scopes.iter().all(|scope| *scope == ResourceScope::Namespaced);
    let selectors = filter.selector.iter().chain(&filter.namespace_selector);
    let has_wild_labels = selectors
        .flat_map(|selector| &selector.labels)
        .any(|(key, value)| has_wildcard(key) || has_wildcard(value));
    let has_two_selections = filter.namespace_selector.is_some() && !filter.namespaces.is_empty();
    let has_any_version = filter.kinds.iter().any(|kind| resources::is_any_version(&kind.value));
    !filter.kinds.is_empty()
        && !has_any_version
        && !has_two_names
        && !has_two_selections
        && !has_wild_labels
        && are_namespaces_kept
        && is_selector_kept
}

/// Returns the condition that leaves out objects without a namespace, where any kind in some namespaces is meant: the API
/// server does not check the namespaces of such objects.
fn namespaced_condition(filters: &[&ResourceFilter]) -> Option<(Text, String)> {
    let is_any = |filter: &&ResourceFilter| {
        !filter.namespaces.is_empty()
            && filter_resources(filter).any(|resource| resource.scope == ResourceScope::Unknown)
    };
    let condition = r#"has(request.namespace) || request.kind.kind == "Namespace""#;
    filters.iter().any(is_any).then(|| (Text::new_static("namespaces"), condition.to_owned()))
}

/// Returns whether nothing that is excluded gets lost in lists of resources.
fn are_exclusions_kept(filters: &[&ResourceFilter]) -> bool {
    let is_kept = |filter: &&ResourceFilter| {
        !filter.kinds.is_empty()
            && !filter.kinds.iter().any(|kind| resources::is_any_version(&kind.value))
            && filter.namespaces.is_empty()
            && filter.selector.is_none()
            && filter.namespace_selector.is_none()
            && (filter.name.is_none() || filter.names.is_empty())
    };
    filters.iter().all(is_kept) && are_rules_apart(filters)
}

/// Returns whether entries that share a list also share names and operations.
fn are_rules_apart(filters: &[&ResourceFilter]) -> bool {
    let mut seen: Vec<(ServedResource, &ResourceFilter)> = Vec::new();
    for filter in filters {
        for resource in filter_resources(filter) {
            let shared = seen
                .iter()
                .filter(|(other, _)| (&other.group, &other.version) == (&resource.group, &resource.version));
            if shared.into_iter().any(|(_, other)| {
                filter_names(other) != filter_names(filter)
                    || operations_or_default(other) != operations_or_default(filter)
            }) {
                return false;
            }
            seen.push((resource, filter));
        }
    }
    true
}

fn listed_resource_rules(filters: &[&ResourceFilter]) -> Vec<TargetResourceRule> {
    let mut rules: Vec<TargetResourceRule> = Vec::new();
    for filter in filters {
        for resource in filter_resources(filter) {
            let mut named = vec![resource.name.clone()];
            if resource.name == "pods" {
                named.push("pods/ephemeralcontainers".into());
            }
            let is_any = resource.name == "*";
            let shared = rules.iter_mut().find(|rule| {
                !is_any && rule.groups.contains(&resource.group) && rule.versions.contains(&resource.version)
            });
            match shared {
                Some(rule) => {
                    rule.resources.extend(named);
                    rule.resources.sort();
                }
                None => rules.push(TargetResourceRule {
                    groups: vec![resource.group.clone()],
                    versions: vec![resource.version.clone()],
                    resources: named,
                    operations: operations_or_default(filter),
                    names: filter_names(filter),
                }),
            }
        }
    }
    rules
}

fn filter_names(filter: &ResourceFilter) -> Vec<Text> {
    filter.names.iter().chain(&filter.name).map(|name| name.value.clone()).collect()
}

fn operations_or_default(filter: &ResourceFilter) -> Vec<Operation> {
    if filter.operations.is_empty() { DEFAULT_OPERATIONS.to_vec() } else { filter.operations.clone() }
}

fn filter_resources(filter: &ResourceFilter) -> impl Iterator<Item = ServedResource> {
    filter.kinds.iter().flat_map(|kind| match resources::find_resources(&kind.value) {
        KindLookup::Known(resources) => resources,
        KindLookup::Guessed(resource) => vec![resource],
        KindLookup::Wild => Vec::new(),
    })
}
