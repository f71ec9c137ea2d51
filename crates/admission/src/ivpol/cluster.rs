//! ImageValidatingPolicies in a cluster.

use kubewright_engine::{
    ClusterExtensions, ClusterResources, EventOccasion, EventWords, ResponseParts, ResponseWording,
    RuleOutcome, RuleReport, WatchRole, WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::Value;

use super::ImageValidatingPolicies;
use crate::vpol::cluster::{
    API_GROUP, READ_VERSION, UPSTREAM_WEBHOOKS, condition_status, image_policy_definitions, policy_response,
};

impl ClusterResources for ImageValidatingPolicies {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        image_policy_definitions()
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        const fn of(resource: &'static str, kind: &'static str, role: WatchRole) -> WatchedResource {
            WatchedResource { group: API_GROUP, version: READ_VERSION, resource, kind, role }
        }
        const WATCHED: [WatchedResource; 3] = [
            of("imagevalidatingpolicies", "ImageValidatingPolicy", WatchRole::Rule),
            of("namespacedimagevalidatingpolicies", "NamespacedImageValidatingPolicy", WatchRole::Rule),
            of("policyexceptions", "PolicyException", WatchRole::Exception),
        ];
        &WATCHED
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &UPSTREAM_WEBHOOKS
    }
}

impl ResponseWording for ImageValidatingPolicies {
    fn response(&self, _request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> ResponseParts {
        policy_response(outcomes)
    }

    fn event(&self, occasion: &EventOccasion<'_>) -> Option<EventWords> {
        Some(occasion.policy_words("kyverno-admission"))
    }

    fn status(&self, report: &RuleReport) -> Value {
        condition_status(report)
    }
}

impl ClusterExtensions for ImageValidatingPolicies {}
