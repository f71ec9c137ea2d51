//! GeneratingPolicies in a cluster. They run in the background; a server only checks them and writes their statuses.

use kubewright_engine::{
    ClusterExtensions, ClusterResources, EventOccasion, EventWords, ResponseParts, ResponseWording,
    RuleOutcome, RuleReport, WatchRole, WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::Value;

use super::GeneratingPolicies;
use crate::vpol::cluster::{
    API_GROUP, READ_VERSION, UPSTREAM_WEBHOOKS, condition_status, generating_policy_definitions,
};

impl ClusterResources for GeneratingPolicies {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        generating_policy_definitions()
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        const fn of(resource: &'static str, kind: &'static str, role: WatchRole) -> WatchedResource {
            WatchedResource { group: API_GROUP, version: READ_VERSION, resource, kind, role }
        }
        const WATCHED: [WatchedResource; 3] = [
            of("generatingpolicies", "GeneratingPolicy", WatchRole::Rule),
            of("namespacedgeneratingpolicies", "NamespacedGeneratingPolicy", WatchRole::Rule),
            of("policyexceptions", "PolicyException", WatchRole::Exception),
        ];
        &WATCHED
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &UPSTREAM_WEBHOOKS
    }
}

impl ResponseWording for GeneratingPolicies {
    fn response(&self, _request: &AdmissionRequest, _outcomes: &[&RuleOutcome]) -> ResponseParts {
        ResponseParts::default()
    }

    fn event(&self, occasion: &EventOccasion<'_>) -> Option<EventWords> {
        Some(occasion.policy_words("kyverno-generate"))
    }

    /// Programs wait for the condition of the webhook, by which Kyverno learns of triggers. Here watches do that.
    fn status(&self, report: &RuleReport) -> Value {
        condition_status(&RuleReport { has_webhooks: true, ..report.clone() })
    }
}

impl ClusterExtensions for GeneratingPolicies {}
