//! Kyverno's policies in a cluster.

pub(super) mod admission_policy;
pub(super) mod autogen_status;
mod blocked;
pub(super) mod needs;
mod shared;
mod storing;
pub(crate) mod targets;
mod updating;
pub(super) mod webhook;

use std::sync::LazyLock;

use kubewright_cel::Timestamp;
use kubewright_engine::{
    ClusterExtensions, ClusterResources, Diagnostic, KindScopes, MissingAccess, PolicyRule, ResponseParts,
    ResponseWording, RuleOutcome, RuleReport, RuleStatus, SharedDataSource, WatchRole, WatchedResource,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::duration::Duration;
use kubewright_value::{Document, Map, Text, Value};

use super::Kyverno;
use kubewright_engine::Dialect as _;

const CLUSTER_POLICIES: &str = include_str!("cluster/definitions/clusterpolicies.yaml");
const CLUSTER_CLEANUP_POLICIES: &str = include_str!("cluster/definitions/clustercleanuppolicies.yaml");
const EXCEPTIONS: &str = include_str!("cluster/definitions/policyexceptions.yaml");
const ENTRIES: &str = include_str!("cluster/definitions/globalcontextentries.yaml");

/// A `Policy` is a `ClusterPolicy` in a namespace.
static POLICIES: LazyLock<String> = LazyLock::new(|| {
    let names = [
        ("clusterpolicies", "policies"),
        ("clusterpolicy", "policy"),
        ("ClusterPolicy", "Policy"),
        ("[cpol]", "[pol]"),
        ("scope: Cluster", "scope: Namespaced"),
    ];
    namespaced_twin(CLUSTER_POLICIES, &names)
});

/// A `CleanupPolicy` is a `ClusterCleanupPolicy` in a namespace.
static CLEANUP_POLICIES: LazyLock<String> = LazyLock::new(|| {
    let names = [
        ("clustercleanuppolic", "cleanuppolic"),
        ("ClusterCleanupPolicy", "CleanupPolicy"),
        ("[ccleanpol]", "[cleanpol]"),
        ("scope: Cluster", "scope: Namespaced"),
    ];
    namespaced_twin(CLUSTER_CLEANUP_POLICIES, &names)
});

/// Returns a definition without its comment and with other names.
fn namespaced_twin(definition: &str, names: &[(&str, &str)]) -> String {
    let lines = definition.lines().skip_while(|line| line.starts_with('#'));
    let text = lines.fold(String::new(), |text, line| text + line + "\n");
    names.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// The label with the time at which an object is to be deleted.
const TTL_LABEL: &str = "cleanup.kyverno.io/ttl";

impl ClusterResources for Kyverno {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        vec![
            CLUSTER_POLICIES,
            POLICIES.as_str(),
            EXCEPTIONS,
            ENTRIES,
            CLUSTER_CLEANUP_POLICIES,
            CLEANUP_POLICIES.as_str(),
        ]
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        const fn of(
            version: &'static str,
            resource: &'static str,
            kind: &'static str,
            role: WatchRole,
        ) -> WatchedResource {
            WatchedResource { group: "kyverno.io", version, resource, kind, role }
        }
        const WATCHED: [WatchedResource; 6] = [
            of("v1", "clusterpolicies", "ClusterPolicy", WatchRole::Rule),
            of("v1", "policies", "Policy", WatchRole::Rule),
            of("v2", "clustercleanuppolicies", "ClusterCleanupPolicy", WatchRole::Rule),
            of("v2", "cleanuppolicies", "CleanupPolicy", WatchRole::Rule),
            of("v2", "policyexceptions", "PolicyException", WatchRole::Exception),
            of("v2beta1", "globalcontextentries", "GlobalContextEntry", WatchRole::Shared),
        ];
        &WATCHED
    }

    fn policy_rules(&self) -> &'static [PolicyRule] {
        &[
            PolicyRule {
                group: "",
                resources: &["configmaps"],
                verbs: &["get", "list", "watch"],
                why: "ConfigMaps that rules name in their context",
            },
            PolicyRule {
                group: "rbac.authorization.k8s.io",
                resources: &["rolebindings", "clusterrolebindings"],
                verbs: &["list", "watch"],
                why: "the roles of the requesting user",
            },
            PolicyRule {
                group: "authorization.k8s.io",
                resources: &["subjectaccessreviews"],
                verbs: &["create"],
                why: "permission checks in rules; nothing is stored",
            },
        ]
    }

    fn upstream_webhooks(&self) -> &'static [&'static str] {
        &[
            "kyverno-resource-validating-webhook-cfg",
            "kyverno-resource-mutating-webhook-cfg",
            "kyverno-policy-validating-webhook-cfg",
            "kyverno-policy-mutating-webhook-cfg",
            "kyverno-exception-validating-webhook-cfg",
            "kyverno-verify-mutating-webhook-cfg",
        ]
    }
}

impl ResponseWording for Kyverno {
    fn response(&self, request: &AdmissionRequest, outcomes: &[&RuleOutcome]) -> ResponseParts {
        ResponseParts {
            message: blocked::blocked_message(request, outcomes),
            warnings: admission_warnings(outcomes),
            annotations: audit_annotations(outcomes),
            ..ResponseParts::default()
        }
    }

    fn event_component(&self) -> Option<&'static str> {
        Some("kyverno-admission")
    }

    fn status(&self, report: &RuleReport) -> Value {
        // Programs wait for these words.
        let reason = if report.is_ready { "Succeeded" } else { "Failed" };
        let mut status = RuleReport { reason: reason.into(), ..report.clone() }.status();
        if let Some(map) = status.as_object_mut() {
            map.insert("ready".into(), report.is_ready.into());
            for (key, value) in report.fields.as_object().into_iter().flat_map(Map::iter) {
                map.insert(key.clone(), value.clone());
            }
            if let Some(state) = &report.admission_policy {
                map.insert(
                    "validatingadmissionpolicy".into(),
                    admission_policy::admission_policy_status(state),
                );
            }
        }
        status
    }
}

impl ClusterExtensions for Kyverno {
    fn storing_problems(&self, document: &Document) -> Vec<Diagnostic> {
        if crate::is_exception(document) {
            return storing::exception_problems(document);
        }
        if !self.claims(document) {
            return Vec::new();
        }
        let mut problems = storing::background_subresources(document);
        problems.extend(storing::rules_without_admission(document));
        problems
    }

    fn update_problems(&self, old: &Document, document: &Document) -> Vec<Diagnostic> {
        match self.claims(document) {
            true => updating::update_problems(old, document),
            false => Vec::new(),
        }
    }

    fn scope_problems(&self, document: &Document, is_namespaced: &KindScopes<'_>) -> Vec<Diagnostic> {
        match crate::is_policy(document) {
            true => storing::misplaced_downstreams(document, is_namespaced),
            false => Vec::new(),
        }
    }

    fn access_problem(&self, document: &Document, missing: &MissingAccess<'_>) -> Option<Diagnostic> {
        Some(storing::missing_access(document, missing))
    }

    fn exception_expiry(&self, document: &Document) -> Option<i128> {
        expires(document)
    }

    fn shared_data_source(&self, document: &Document) -> Result<SharedDataSource, String> {
        shared::global_context_source(document)
    }

    fn shared_data_parts(&self, document: &Document, root: &Value) -> Result<Vec<(Text, Value)>, String> {
        shared::projected(document, root, &self.functions)
    }
}

/// Returns when the exception in `document` expires, in nanoseconds since 1970: at its `expiresAt`, or when it is to be
/// deleted. A time that cannot be read_policy_document has passed.
pub(super) fn expires(document: &Document) -> Option<i128> {
    let text = |path: &[&str]| document.value.at(path).and_then(Value::as_str);
    let moment = |text: &str| Timestamp::parse(text).map(Timestamp::nanoseconds);
    if let Some(end) = text(&["spec", "expiresAt"]) {
        return Some(moment(end).unwrap_or(i128::MIN));
    }
    let life = text(&["metadata", "labels", TTL_LABEL])?;
    // A label cannot hold a time as it is usually written.
    let written = moment(life).or_else(|| moment(&format!("{life}T00:00:00Z")));
    let since = || {
        let made = moment(text(&["metadata", "creationTimestamp"])?)?;
        Some(made + i128::from(Duration::parse(life).ok()?.nanoseconds()))
    };
    Some(written.or_else(since).unwrap_or(i128::MIN))
}

/// Returns the admission_warnings: violations that are admitted, and changes, of policies with `emitWarning`.
fn admission_warnings(outcomes: &[&RuleOutcome]) -> Vec<String> {
    if outcomes.iter().any(|outcome| outcome.is_refusal) {
        return Vec::new();
    }
    let is_told = |outcome: &RuleOutcome| is_objection(outcome) || !outcome.patch.is_empty();
    let reported = outcomes.iter().filter(|outcome| outcome.metadata.emits_warning && is_told(outcome));
    reported.map(|outcome| format!("policy {}: {}", dotted_rule_name(outcome), outcome.message)).collect()
}

/// Returns the audit audit_annotations of requests that are admitted despite violations, errors or exceptions.
fn audit_annotations(outcomes: &[&RuleOutcome]) -> Vec<(Text, Text)> {
    let named = |key: &str, is_one: &dyn Fn(&RuleOutcome) -> bool| {
        let names: Vec<String> =
            outcomes.iter().filter(|one| is_one(one)).map(|one| dotted_rule_name(one)).collect();
        (!names.is_empty()).then(|| (Text::new(key), Text::from(names.join(","))))
    };
    let all = [
        named("violations", &|one| {
            !one.is_refusal && matches!(one.status, RuleStatus::Fail | RuleStatus::Warn)
        }),
        named("errors", &|one| !one.is_refusal && one.status == RuleStatus::Error),
        named("exceptions", &|one| !one.exceptions.is_empty()),
    ];
    all.into_iter().flatten().collect()
}

fn is_objection(outcome: &RuleOutcome) -> bool {
    matches!(outcome.status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error)
}

fn dotted_rule_name(outcome: &RuleOutcome) -> String {
    format!("{}.{}", policy_of(outcome), outcome.rule.rule)
}

/// Returns the name of the policy, without its namespace.
fn policy_of(outcome: &RuleOutcome) -> &str {
    let policy = outcome.rule.policy.as_str();
    policy.rsplit_once('/').map_or(policy, |(_, name)| name)
}

#[cfg(test)]
mod tests;
