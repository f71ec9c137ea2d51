//! `match` and `exclude` as lists of resources and selectors alone, which is how Kyverno writes them.
//!
//! Kyverno puts the entries of a `match` into lists that know nothing of each other, so that some policies would
//! become wider or narrower on the way. Those are left to [`super::matching`], which writes conditions as well.

use kubewright_golib::glob::has_wildcard;
use kubewright_k8s::Operation;
use kubewright_value::Text;

use super::constraints::{Constraints, ResourceRule, namespaces_named, selector};
use super::resources::{self, Found, Resource, Scoped};
use kubewright_kyverno::source::{ExceptionSource, Match, ResourceFilter, RuleSource};

/// What is meant where no operation is named, in Kyverno's order.
const OPERATIONS: [Operation; 4] =
    [Operation::Create, Operation::Update, Operation::Connect, Operation::Delete];

/// Returns what `rule` is about in lists alone; nothing when they would say something else than the rule.
pub(super) fn constraints(rule: &RuleSource, exceptions: &[&ExceptionSource]) -> Option<Constraints> {
    let matched: Vec<&ResourceFilter> = entries(&rule.matching).collect();
    let excluded = rule.exclude.iter().chain(exceptions.iter().map(|exception| &exception.matching));
    let excluded: Vec<&ResourceFilter> = excluded.flat_map(entries).collect();
    let is_same = is_same_in_lists(&matched) && are_exclusions_kept(&excluded);
    is_same.then(|| {
        // Of several entries the last one has the word about namespaces and labels.
        let last = matched.last();
        let namespaces = last.map(|filter| texts(filter)).unwrap_or_default();
        Constraints {
            rules: rules(&matched),
            excluded: rules(&excluded),
            namespace_selector: match namespaces.is_empty() {
                false => Some(namespaces_named(&namespaces)),
                true => last.and_then(|filter| filter.namespace_selector.as_ref()).map(selector),
            },
            object_selector: last.and_then(|filter| filter.selector.as_ref()).map(selector),
            conditions: Vec::new(),
        }
    })
}

fn entries(matching: &Match) -> impl Iterator<Item = &ResourceFilter> {
    matching.flat.iter().chain(&matching.any).chain(&matching.all)
}

fn texts(filter: &ResourceFilter) -> Vec<Text> {
    filter.namespaces.iter().map(|text| text.value.clone()).collect()
}

/// Returns whether a `match` means the same when it is written in lists.
fn is_same_in_lists(filters: &[&ResourceFilter]) -> bool {
    let [first, rest @ ..] = filters else { return false };
    filters.iter().all(|filter| is_same_alone(filter))
        && rest.iter().all(|filter| texts(filter) == texts(first))
        && are_rules_apart(filters)
}

/// Returns whether one entry of a `match` means the same when it is written in lists.
fn is_same_alone(filter: &ResourceFilter) -> bool {
    let scopes: Vec<Scoped> = found(filter).map(|resource| resource.scope).collect();
    let has_two_names = filter.name.is_some() && !filter.names.is_empty();
    // The API server does not ask for the namespace of objects that have none.
    let are_namespaces_kept = filter.namespaces.is_empty()
        || scopes.iter().all(|scope| matches!(scope, Scoped::Namespaced | Scoped::Namespace));
    let is_selector_kept =
        filter.namespace_selector.is_none() || scopes.iter().all(|scope| *scope == Scoped::Namespaced);
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

/// Returns whether entries that share a list also share what is said about names and operations.
fn are_rules_apart(filters: &[&ResourceFilter]) -> bool {
    let mut seen: Vec<(Resource, &ResourceFilter)> = Vec::new();
    for filter in filters {
        for resource in found(filter) {
            let shared = seen
                .iter()
                .filter(|(other, _)| (&other.group, &other.version) == (&resource.group, &resource.version));
            if shared
                .into_iter()
                .any(|(_, other)| names(other) != names(filter) || operations(other) != operations(filter))
            {
                return false;
            }
            seen.push((resource, filter));
        }
    }
    true
}

fn rules(filters: &[&ResourceFilter]) -> Vec<ResourceRule> {
    let mut rules: Vec<ResourceRule> = Vec::new();
    for filter in filters {
        for resource in found(filter) {
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
                None => rules.push(ResourceRule {
                    groups: vec![resource.group.clone()],
                    versions: vec![resource.version.clone()],
                    resources: named,
                    operations: operations(filter),
                    names: names(filter),
                }),
            }
        }
    }
    rules
}

fn names(filter: &ResourceFilter) -> Vec<Text> {
    filter.names.iter().chain(&filter.name).map(|name| name.value.clone()).collect()
}

fn operations(filter: &ResourceFilter) -> Vec<Operation> {
    if filter.operations.is_empty() { OPERATIONS.to_vec() } else { filter.operations.clone() }
}

fn found(filter: &ResourceFilter) -> impl Iterator<Item = Resource> {
    filter.kinds.iter().flat_map(|kind| match resources::find(&kind.value) {
        Found::Known(resources) => resources,
        Found::Guessed(resource) => vec![resource],
        Found::Wild => Vec::new(),
    })
}
