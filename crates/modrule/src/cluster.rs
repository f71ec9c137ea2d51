//! ModRules in a cluster.

use kubewright_engine::{
    AdmissionPhase, ClusterExtensions, ClusterResources, FailurePolicy, IgnoredNamespace, KindOrResource,
    PolicyRule, ResponseParts, ResponseWording, RuleOutcome, WatchRole, WatchedResource, WebhookPlan,
    WebhookRule,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Deadline, Value};

use super::binding::{PodBinding, cluster_binding_annotations};
use super::dry_run::run_dry_run_with;
use super::ignored::{IGNORE_LABEL, IGNORED_BY_DEFAULT, IGNORED_VALUE};
use super::resources::WebhookResource;
use super::{ModRule, denial_of};

impl ClusterResources for ModRule {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        vec![include_str!("crd.yaml")]
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        &[WatchedResource {
            group: "api.kubemod.io",
            version: "v1beta1",
            resource: "modrules",
            kind: "ModRule",
            role: WatchRole::Rule,
        }]
    }

    fn policy_rules(&self) -> &'static [PolicyRule] {
        &[
            PolicyRule {
                group: "",
                resources: &["nodes"],
                verbs: &["list", "watch"],
                why: "the node of a Pod (`syntheticRefs.node`)",
            },
            PolicyRule {
                group: "",
                resources: &["pods"],
                verbs: &["get", "patch"],
                why: "the annotation with the name of its node, for a Pod that requests it",
            },
        ]
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &["kubemod-mutating-webhook-configuration", "kubemod-validating-webhook-configuration"]
    }

    fn ignore_label(&self) -> Option<(&'static str, &'static str)> {
        Some((IGNORE_LABEL, IGNORED_VALUE))
    }

    fn ignored_namespaces(&self) -> &'static [IgnoredNamespace] {
        &IGNORED_BY_DEFAULT
    }
}

impl ResponseWording for ModRule {
    fn response(&self, _request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> ResponseParts {
        let message = denial_of(outcomes.iter().copied()).unwrap_or_default();
        ResponseParts { reason: message.clone(), message, ..ResponseParts::default() }
    }
}

impl ClusterExtensions for ModRule {
    fn observes_pod_bindings(&self) -> bool {
        true
    }

    fn pod_binding_patch(&self, binding: &Value, pod: &Value) -> Option<Value> {
        cluster_binding_annotations(&PodBinding::read(binding)?, pod)
    }

    fn dry_run(&self, request: &Value, deadline: Option<Deadline>) -> Option<Result<Value, String>> {
        request.get("modRules").or_else(|| request.get("resourceManifest"))?;
        Some(run_dry_run_with(self, request, deadline).map(|run| run.to_value()))
    }
}

/// Returns the webhook of every ModRule: KubeMod has one mutating webhook for rules of both types.
pub(super) fn webhook(resources: &[WebhookResource]) -> WebhookPlan {
    let operations = [Operation::Create, Operation::Update, Operation::Delete].into_iter().collect();
    let rule = |resource: &WebhookResource| WebhookRule {
        group: resource.group.clone(),
        version: "*".into(),
        name: KindOrResource::Resource(resource.name.clone()),
        subresource: resource.subresource.clone(),
        operations,
    };
    let rules = resources.iter().map(rule).collect();
    WebhookPlan::new(AdmissionPhase::Mutating, FailurePolicy::Ignore, rules)
}
