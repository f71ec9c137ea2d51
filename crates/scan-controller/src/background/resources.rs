//! From the kinds that rules name to the resources that the cluster serves.

use std::collections::BTreeMap;

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_engine::{KindOrResource, WebhookRule};
use kubewright_golib::glob::matches_wildcard;
use kubewright_scan::{KindKey, is_quiet_kind, preferred_group};
use kubewright_value::{Budget, Limits, Text, Value};

/// Returns the resources of `served` that `rules` name, each in its preferred version. Kinds that change all the time are
/// there only if they are named.
pub(crate) fn named_resources(
    rules: &[WebhookRule],
    served: &DiscoveredResources,
) -> BTreeMap<KindKey, ApiResource> {
    let mut found = BTreeMap::new();
    for resource in served.iter().filter(|resource| resource.can("list") && resource.can("watch")) {
        let key = KindKey { group: resource.group.clone(), kind: resource.kind.clone() };
        let is_named = rules.iter().any(|rule| is_resource_of(rule, resource));
        if is_named && !found.contains_key(&key) && !is_served_twice(resource, served) {
            found.insert(key, resource.clone());
        }
    }
    found
}

/// Returns whether `rule` is about objects of `resource` themselves.
pub(crate) fn is_resource_of(rule: &WebhookRule, resource: &ApiResource) -> bool {
    let is_whole = matches!(rule.subresource.as_str(), "" | "*");
    let is_named = match &rule.name {
        KindOrResource::Kind(kind) => {
            let is_any = kind == "*" && is_quiet_kind(&resource.group, &resource.kind);
            !is_any && is_match(kind, &resource.kind)
        }
        KindOrResource::Resource(name) => match name.as_str() {
            "*" | "*/*" => !is_quiet_kind(&resource.group, &resource.kind),
            name => name == resource.resource.as_str(),
        },
    };
    // Objects are read in the preferred version, whichever the rule names.
    is_whole && is_named && is_match(&rule.group, &resource.group)
}

/// Returns the resource of an object that is to be written.
pub(crate) fn resource_of_object<'s>(
    object: &Value,
    served: &'s DiscoveredResources,
) -> Option<&'s ApiResource> {
    let (group, version) = group_and_version(object.str_at(&["apiVersion"]));
    let kind = object.str_at(&["kind"]);
    let of_kind = || served.iter().filter(|resource| resource.group == group && resource.kind == kind);
    of_kind().find(|resource| resource.version == version).or_else(|| of_kind().next())
}

/// Returns the group and the version of an `apiVersion`.
pub(crate) fn group_and_version(api_version: &str) -> (Text, Text) {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    (group.into(), version.into())
}

fn is_served_twice(resource: &ApiResource, served: &DiscoveredResources) -> bool {
    preferred_group(&resource.group, &resource.resource)
        .is_some_and(|group| served.of_resource(group, &resource.resource).is_some())
}

fn is_match(pattern: &str, text: &str) -> bool {
    matches_wildcard(pattern, text, &mut Budget::new(Limits::default())).unwrap_or_default()
}
