//! MutatingPolicies in a cluster.

use kubewright_engine::{
    ClusterExtensions, ClusterResources, EventOccasion, EventWords, ResponseParts, ResponseWording,
    RuleOutcome, RuleReport, WatchRole, WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::Value;

use super::MutatingPolicies;
use crate::vpol::cluster::{
    API_GROUP, READ_VERSION, UPSTREAM_WEBHOOKS, condition_status, mutating_policy_definitions,
    policy_response,
};

impl ClusterResources for MutatingPolicies {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        mutating_policy_definitions()
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        const fn of(resource: &'static str, kind: &'static str, role: WatchRole) -> WatchedResource {
            WatchedResource { group: API_GROUP, version: READ_VERSION, resource, kind, role }
        }
        const WATCHED: [WatchedResource; 3] = [
            of("mutatingpolicies", "MutatingPolicy", WatchRole::Rule),
            of("namespacedmutatingpolicies", "NamespacedMutatingPolicy", WatchRole::Rule),
            of("policyexceptions", "PolicyException", WatchRole::Exception),
        ];
        &WATCHED
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &UPSTREAM_WEBHOOKS
    }
}

impl ResponseWording for MutatingPolicies {
    fn response(&self, _request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> ResponseParts {
        policy_response(outcomes)
    }

    fn event(&self, occasion: &EventOccasion<'_>) -> Option<EventWords> {
        Some(occasion.policy_words("kyverno-admission"))
    }

    /// Says also why there is no MutatingAdmissionPolicy.
    fn status(&self, report: &RuleReport) -> Value {
        let mut status = condition_status(report);
        let skipped = report.admission_policy.as_ref().map(|state| state.message.as_str());
        if let Some(why) = skipped.filter(|why| report.is_ready && !why.is_empty())
            && let Some(ready) = status.as_object_mut().and_then(|map| map.get_mut("conditionStatus"))
            && let Some(ready) = ready.as_object_mut()
        {
            ready.insert("message".into(), why.into());
        }
        status
    }
}

impl ClusterExtensions for MutatingPolicies {}
