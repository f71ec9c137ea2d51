//! DeletingPolicies in a cluster. They run by schedule; a server only checks them and writes their statuses.

use kubewright_engine::{
    ClusterExtensions, ClusterResources, EventOccasion, EventWords, ResponseParts, ResponseWording,
    RuleOutcome, RuleReport, WatchRole, WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::Value;

use super::DeletingPolicies;
use crate::vpol::cluster::{
    API_GROUP, READ_VERSION, UPSTREAM_WEBHOOKS, condition_status, deleting_policy_definitions,
};

impl ClusterResources for DeletingPolicies {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        deleting_policy_definitions()
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        const fn of(resource: &'static str, kind: &'static str, role: WatchRole) -> WatchedResource {
            WatchedResource { group: API_GROUP, version: READ_VERSION, resource, kind, role }
        }
        const WATCHED: [WatchedResource; 3] = [
            of("deletingpolicies", "DeletingPolicy", WatchRole::Rule),
            of("namespaceddeletingpolicies", "NamespacedDeletingPolicy", WatchRole::Rule),
            of("policyexceptions", "PolicyException", WatchRole::Exception),
        ];
        &WATCHED
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &UPSTREAM_WEBHOOKS
    }
}

impl ResponseWording for DeletingPolicies {
    fn response(&self, _request: &AdmissionRequest, _outcomes: &[&RuleOutcome]) -> ResponseParts {
        ResponseParts::default()
    }

    fn event(&self, occasion: &EventOccasion<'_>) -> Option<EventWords> {
        Some(occasion.policy_words("kyverno-cleanup"))
    }

    fn status(&self, report: &RuleReport) -> Value {
        condition_status(report)
    }
}

impl ClusterExtensions for DeletingPolicies {}
