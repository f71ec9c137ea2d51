//! The kinds of a cluster whose objects are rules, exceptions from rules, or what rules rely on.
//!
//! No kind is named here: a kind is one of these if a rule language takes a document of it.

use std::collections::HashSet;

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_dialects::is_exception_document;
use kubewright_engine::{Dialect, WatchRole, WatchedResource};
use kubewright_value::{Document, Map, Source, Text, Value};

/// The rule language whose documents make manifests and judge none.
const TRAITS: &str = "trait";

/// A kind whose objects are documents of a rule language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleResource {
    /// Where the objects are.
    pub resource: ApiResource,
    /// What they are.
    pub role: RuleResourceRole,
}

/// What the objects of a kind are to a rule language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleResourceRole {
    /// Rules, patterns, bindings and references.
    Rule,
    /// Exceptions from rules.
    Exception,
    /// Cluster-wide shared data.
    Shared(WatchedResource),
}

/// Returns the kinds of `served` whose objects `dialects` take, each in the first version that they take.
pub fn rule_resources(served: &DiscoveredResources, dialects: &[Box<dyn Dialect>]) -> Vec<RuleResource> {
    let mut known: HashSet<(Text, Text)> = HashSet::new();
    let mut found = Vec::new();
    for resource in served.iter().filter(|resource| resource.can("list")) {
        let key = (resource.group.clone(), resource.resource.clone());
        let Some(role) = resource_role(resource, dialects).filter(|_| !known.contains(&key)) else {
            continue;
        };
        known.insert(key);
        found.push(RuleResource { resource: resource.clone(), role });
    }
    found
}

fn resource_role(resource: &ApiResource, dialects: &[Box<dyn Dialect>]) -> Option<RuleResourceRole> {
    let mut watched = dialects
        .iter()
        .filter_map(|dialect| dialect.cluster_support())
        .flat_map(|support| support.watched_resources());
    let shared = watched.find(|watched| {
        watched.role == WatchRole::Shared
            && (watched.group, watched.version, watched.resource)
                == (resource.group.as_str(), resource.version.as_str(), resource.resource.as_str())
    });
    if let Some(shared) = shared {
        return Some(RuleResourceRole::Shared(*shared));
    }
    let document = empty_document(resource);
    if is_exception_document(&document) {
        return Some(RuleResourceRole::Exception);
    }
    let mut judging = dialects.iter().filter(|dialect| dialect.name() != TRAITS);
    let is_taken = judging.any(|dialect| dialect.claims(&document) || dialect.is_auxiliary(&document));
    is_taken.then_some(RuleResourceRole::Rule)
}

/// Returns a document of the kind without content.
fn empty_document(resource: &ApiResource) -> Document {
    let version = match resource.group.as_str() {
        "" => resource.version.to_string(),
        group => format!("{group}/{}", resource.version),
    };
    let value = Map::from([("apiVersion", Value::from(version)), ("kind", resource.kind.clone().into())]);
    Document::made(value.into(), Source::new("", ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_dialects::{DialectOptions, all_dialects};

    fn served(group: &str, version: &str, kind: &str) -> ApiResource {
        ApiResource {
            group: group.into(),
            version: version.into(),
            resource: format!("{}s", kind.to_lowercase()).into(),
            kind: kind.into(),
            verbs: vec!["list".into()],
            ..ApiResource::default()
        }
    }

    #[track_caller]
    fn check(all: &[(&str, &str, &str)], want: &[&str]) {
        let all = all.iter().map(|(group, version, kind)| served(group, version, kind)).collect();
        let found = rule_resources(&DiscoveredResources::of(all), &all_dialects(&DialectOptions::default()));
        let found: Vec<String> =
            found.iter().map(|one| format!("{} {}", one.resource.version, one.resource.kind)).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn kinds_of_every_language_are_found() {
        check(
            &[
                ("", "v1", "Pod"),
                ("kyverno.io", "v1", "ClusterPolicy"),
                ("kyverno.io", "v2", "PolicyException"),
                ("policies.kyverno.io", "v1", "ValidatingPolicy"),
                ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"),
                ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"),
                ("api.kubemod.io", "v1beta1", "ModRule"),
                ("kubepattern.it", "v1", "Pattern"),
            ],
            &[
                "v1 ClusterPolicy",
                "v2 PolicyException",
                "v1 ValidatingPolicy",
                "v1 ValidatingAdmissionPolicy",
                "v1 ValidatingAdmissionPolicyBinding",
                "v1beta1 ModRule",
                "v1 Pattern",
            ],
        );
    }

    #[test]
    fn traits_judge_nothing_and_other_versions_are_read_once() {
        check(
            &[
                ("openchoreo.dev", "v1alpha1", "Trait"),
                ("kyverno.io", "v1", "ClusterPolicy"),
                ("kyverno.io", "v2beta1", "ClusterPolicy"),
            ],
            &["v1 ClusterPolicy"],
        );
    }
}
