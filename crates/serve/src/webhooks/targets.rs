//! From what rules are about to what a webhook configuration can say: API groups, versions and resources.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_engine::{KindOrResource, WebhookRule};
use kubewright_golib::glob::WildcardPattern;
use kubewright_k8s::{Operation, Operations};
use kubewright_value::{Budget, Limits, Text, Value};

use super::exempt::Exemptions;
use super::json_object;

/// The parts of pods that hold containers, which are about pods as much as the pods are.
const POD_SUBRESOURCES: [&str; 2] = ["ephemeralcontainers", "resize"];

/// The rules of a webhook, by group, version and operations.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct WebhookRules(BTreeMap<(Text, Text, Operations), BTreeSet<Text>>);

impl WebhookRules {
    /// Returns the rules for `targets`, those of a `failurePolicy: Fail` webhook and those that are exempt from it.
    pub(super) fn of(
        targets: &[WebhookRule],
        discovery: &DiscoveredResources,
        exemptions: &Exemptions<'_>,
    ) -> (Self, Self) {
        let (mut asked, mut kept_apart) = (Self::default(), Self::default());
        let mut add = |group: &Text, version: &Text, resource: &str, subresource: &str, operations| {
            let rules = if exemptions.has(group, resource) { &mut kept_apart } else { &mut asked };
            rules.add(group, version, resource, subresource, operations);
        };
        for target in targets {
            match &target.name {
                KindOrResource::Resource(name) if is_wildcard_free(target) => {
                    add(&target.group, &target.version, name, &target.subresource, target.operations);
                }
                KindOrResource::Kind(kind) if kind == "*" && is_wildcard_free(target) => {
                    add(&target.group, &target.version, "*", &target.subresource, target.operations);
                    if target.subresource.is_empty() && matches!(target.group.as_str(), "*" | "") {
                        for part in POD_SUBRESOURCES {
                            add(&"".into(), &"v1".into(), "pods", part, target.operations);
                        }
                    }
                }
                _ => {
                    for (resource, subresource) in discovered_resources(target, discovery) {
                        let version = if has_wildcards(&target.version) && target.version != "*" {
                            &resource.version
                        } else {
                            &target.version
                        };
                        add(&resource.group, version, &resource.resource, &subresource, target.operations);
                    }
                }
            }
        }
        (asked, kept_apart)
    }

    /// Adds the rules of `other`.
    pub(super) fn extend(&mut self, other: &Self) {
        for (key, resources) in &other.0 {
            self.0.entry(key.clone()).or_default().extend(resources.iter().cloned());
        }
    }

    pub(super) fn add(
        &mut self,
        group: &Text,
        version: &Text,
        resource: &str,
        subresource: &str,
        operations: Operations,
    ) {
        if operations == Operations::NONE {
            return;
        }
        let name =
            if subresource.is_empty() { resource.into() } else { format!("{resource}/{subresource}").into() };
        self.0.entry((group.clone(), version.clone(), operations)).or_default().insert(name);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn value(&self, scope: &str) -> Value {
        let rule =
            |((group, version, operations), resources): (&(Text, Text, Operations), &BTreeSet<Text>)| {
                let one = |text: &Text| Value::array(vec![text.clone().into()]);
                json_object([
                    ("apiGroups", one(group)),
                    ("apiVersions", one(version)),
                    ("operations", operation_names(*operations)),
                    (
                        "resources",
                        Value::array(without_covered(resources).cloned().map(Value::from).collect()),
                    ),
                    ("scope", scope.into()),
                ])
            };
        Value::array(self.0.iter().map(rule).collect())
    }
}

/// The API server takes no list in which a wildcard stands beside what it has already.
fn without_covered(resources: &BTreeSet<Text>) -> impl Iterator<Item = &Text> {
    resources.iter().filter(|resource| {
        let has = |wildcard: &str| wildcard != resource.as_str() && resources.contains(wildcard);
        let is_had = match resource.split_once('/') {
            None => has("*"),
            Some((name, part)) => has(&format!("{name}/*")) || has(&format!("*/{part}")),
        };
        !is_had && !has("*/*")
    })
}

fn operation_names(operations: Operations) -> Value {
    if operations == Operations::ALL {
        return Value::array(vec!["*".into()]);
    }
    let all = Operation::ALL.into_iter().filter(|operation| operations.contains(*operation));
    Value::array(all.map(|operation| operation.name().into()).collect())
}

/// Whether the API server knows group, version and part as they are written.
fn is_wildcard_free(target: &WebhookRule) -> bool {
    [&target.group, &target.version, &target.subresource]
        .into_iter()
        .all(|text| text == "*" || !has_wildcards(text))
}

fn has_wildcards(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Returns the resources and their parts that a target is about, in every version that it wants.
fn discovered_resources<'d>(
    target: &WebhookRule,
    discovery: &'d DiscoveredResources,
) -> Vec<(&'d ApiResource, Text)> {
    let (group, version) = (WildcardPattern::parse(&target.group), WildcardPattern::parse(&target.version));
    let part = WildcardPattern::parse(&target.subresource);
    let is_meant = |resource: &&ApiResource| {
        glob_fits(&group, &resource.group) && glob_fits(&version, &resource.version)
    };
    let (name, is_kind) = match &target.name {
        KindOrResource::Kind(name) => (WildcardPattern::parse(name), true),
        KindOrResource::Resource(name) => (WildcardPattern::parse(name), false),
    };
    let mut found = Vec::new();
    for resource in discovery.iter().filter(is_meant) {
        if !glob_fits(&name, if is_kind { &resource.kind } else { &resource.resource }) {
            continue;
        }
        if target.subresource.is_empty() {
            found.push((resource, Text::default()));
            let is_pod = is_kind && resource.group.is_empty() && resource.resource == "pods";
            found.extend(POD_SUBRESOURCES.into_iter().filter(|_| is_pod).map(|part| (resource, part.into())));
        } else if target.subresource == "*" {
            found.push((resource, "*".into()));
        } else {
            let parts = resource.subresources.iter().filter(|other| glob_fits(&part, &other.name));
            found.extend(parts.map(|other| (resource, other.name.clone())));
        }
    }
    if found.is_empty() && is_kind && target.subresource.is_empty() {
        found = parts_of_kind(&name, &group, &version, discovery);
    }
    found
}

/// Returns the parts that are sent objects of a kind of their own, such as `pods/exec` with its `PodExecOptions`.
fn parts_of_kind<'d>(
    kind: &WildcardPattern,
    group: &WildcardPattern,
    version: &WildcardPattern,
    discovery: &'d DiscoveredResources,
) -> Vec<(&'d ApiResource, Text)> {
    let parts =
        discovery.iter().flat_map(|resource| resource.subresources.iter().map(move |part| (resource, part)));
    let parts = parts.filter(|(_, part)| {
        glob_fits(kind, &part.kind) && glob_fits(group, &part.group) && glob_fits(version, &part.version)
    });
    parts.map(|(resource, part)| (resource, part.name.clone())).collect()
}

/// A name that takes more than is reasonable to compare is taken for one that is meant: to be asked once too often
/// does no harm.
fn glob_fits(glob: &WildcardPattern, text: &str) -> bool {
    glob.matches(text, &mut Budget::new(Limits::default())).unwrap_or(true)
}
