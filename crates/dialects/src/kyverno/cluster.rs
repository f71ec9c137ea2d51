//! Kyverno's policies in a cluster.

pub(super) mod admission_policy;
mod blocked;
mod needs;
mod shared;
mod targets;

use std::sync::LazyLock;

use kubewright_engine::{
    AdmissionPolicy, Door, InCluster, Needs, Outcome, Reply, Right, RuleReport, Shared, Status, WatchRole,
    Watched, Webhook,
};
use kubewright_k8s::AdmissionRequest;
use kubewright_lang::cel::Timestamp;
use kubewright_value::duration::Duration;
use kubewright_value::{Document, Map, Text, Value};

use super::{Kyverno, check, source};

const CLUSTER_POLICIES: &str = include_str!("cluster/definitions/clusterpolicies.yaml");
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
    let lines = CLUSTER_POLICIES.lines().skip_while(|line| line.starts_with('#'));
    let text = lines.fold(String::new(), |text, line| text + line + "\n");
    names.iter().fold(text, |text, (from, to)| text.replace(from, to))
});

/// How long the API server waits, in seconds, where a policy does not say.
const TIMEOUT: i64 = 5;
/// How long it can wait at all.
const LONGEST_TIMEOUT: i64 = 30;

/// The label, made for all objects, that says when one of them goes away.
const LIFE: &str = "cleanup.kyverno.io/ttl";

impl InCluster for Kyverno {
    fn definitions(&self) -> Vec<&'static str> {
        vec![CLUSTER_POLICIES, POLICIES.as_str(), EXCEPTIONS, ENTRIES]
    }

    fn watched(&self) -> &'static [Watched] {
        const fn of(
            version: &'static str,
            resource: &'static str,
            kind: &'static str,
            role: WatchRole,
        ) -> Watched {
            Watched { group: "kyverno.io", version, resource, kind, role }
        }
        const WATCHED: [Watched; 4] = [
            of("v1", "clusterpolicies", "ClusterPolicy", WatchRole::Rule),
            of("v1", "policies", "Policy", WatchRole::Rule),
            of("v2", "policyexceptions", "PolicyException", WatchRole::Exception),
            of("v2beta1", "globalcontextentries", "GlobalContextEntry", WatchRole::Shared),
        ];
        &WATCHED
    }

    fn webhook(&self, document: &Document) -> Webhook {
        webhook(document, None)
    }

    fn webhook_without(&self, document: &Document, rule: &str) -> Webhook {
        webhook(document, Some(rule))
    }

    fn admission_policy(&self, document: &Document) -> Option<Result<AdmissionPolicy, String>> {
        admission_policy::of(document, &self.exceptions, &self.functions)
    }

    fn needs(&self, document: &Document) -> Needs {
        needs::of(document, &self.exceptions)
    }

    fn goes_stale(&self, document: &Document) -> bool {
        const OF_THE_MOMENT: [&str; 3] = ["time_now", "time_since", "random("];
        has_text(&document.value, &|text| OF_THE_MOMENT.iter().any(|function| text.contains(function)))
    }

    fn rights(&self) -> &'static [Right] {
        &[
            Right {
                group: "",
                resources: &["configmaps"],
                verbs: &["get", "list", "watch"],
                why: "ConfigMaps that rules name in their context",
            },
            Right {
                group: "rbac.authorization.k8s.io",
                resources: &["rolebindings", "clusterrolebindings"],
                verbs: &["get", "list", "watch"],
                why: "the roles of the one who asks",
            },
            Right {
                group: "authorization.k8s.io",
                resources: &["subjectaccessreviews"],
                verbs: &["create"],
                why: "whether somebody may do something, for rules that ask; nothing is stored",
            },
        ]
    }

    fn reply(&self, request: &AdmissionRequest, outcomes: &[&Outcome]) -> Reply {
        Reply {
            message: blocked::message(request, outcomes),
            warnings: warnings(outcomes),
            annotations: annotations(outcomes),
            ..Reply::default()
        }
    }

    fn expires(&self, document: &Document) -> Option<i128> {
        expires(document)
    }

    fn shared(&self, document: &Document) -> Result<Shared, String> {
        shared::source(document)
    }

    fn projected(&self, document: &Document, root: &Value) -> Result<Vec<(Text, Value)>, String> {
        shared::projected(document, root, &self.functions)
    }

    /// As the original writes it; what it generates, changes and verifies is none of ours.
    fn status(&self, report: &RuleReport) -> Value {
        let rules = i64::try_from(report.rules).unwrap_or(i64::MAX);
        let none = Value::from(0_i64);
        let counts = Map::from([
            ("validate", Value::from(rules)),
            ("mutate", none.clone()),
            ("generate", none.clone()),
            ("verifyimages", none),
        ]);
        let mut status = report.status();
        if let Some(map) = status.as_object_mut() {
            map.insert("ready".into(), report.is_ready.into());
            map.insert("rulecount".into(), counts.into());
            if let Some(state) = &report.admission_policy {
                map.insert("validatingadmissionpolicy".into(), admission_policy::status(state));
            }
        }
        status
    }

    fn originals(&self) -> &'static [&'static str] {
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

/// Returns when `document` is asked, apart from the rule called `without`.
fn webhook(document: &Document, without: Option<&str>) -> Webhook {
    let spec = |path: &[&str]| document.value.at(&[&["spec"], path].concat());
    let timeout = spec(&["webhookConfiguration", "timeoutSeconds"]).or(spec(&["webhookTimeoutSeconds"]));
    let timeout = timeout.and_then(Value::as_i64).unwrap_or(TIMEOUT).clamp(1, LONGEST_TIMEOUT);
    let mut webhook = Webhook {
        door: Door::Validate,
        fails: true,
        own: None,
        timeout: u8::try_from(timeout).unwrap_or_default(),
        conditions: Vec::new(),
        namespaces: Value::Null,
        objects: Value::Null,
        targets: Vec::new(),
    };
    let Some(mut policy) = source::read(document).0 else { return webhook };
    check::check(document, &mut policy);
    webhook.fails = policy.settings.is_fail_closed;
    if policy.settings.is_admission {
        webhook.targets = targets::of(&policy, without);
    }
    let conditions = policy.settings.match_conditions.iter();
    webhook.conditions =
        conditions.map(|one| (one.name.value.clone(), one.expression.value.clone())).collect();
    if !webhook.conditions.is_empty() {
        // Namespaces have no dots in their names.
        let name = &policy.name.value;
        webhook.own = Some(match &policy.namespace {
            None => format!("cpol.{name}").into(),
            Some(namespace) => format!("pol.{namespace}.{name}").into(),
        });
        if let Some(namespace) = &policy.namespace {
            let labels = Map::from([("kubernetes.io/metadata.name", Value::from(namespace.as_str()))]);
            webhook.namespaces = Map::from([("matchLabels", Value::from(labels))]).into();
        }
    }
    webhook
}

/// Returns whether `is_it` is so of a text in `value`. Policies are as deep as readers let them be.
fn has_text(value: &Value, is_it: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_it(text),
        Value::Array(_) => value.as_array().unwrap_or_default().iter().any(|item| has_text(item, is_it)),
        Value::Object(_) => {
            value.as_object().is_some_and(|map| map.iter().any(|(_, value)| has_text(value, is_it)))
        }
        _ => false,
    }
}

/// Returns when `document`, an exception, ends, in nanoseconds since 1970: when it says so itself, or when it is going
/// to be removed. What cannot be read has ended.
pub(super) fn expires(document: &Document) -> Option<i128> {
    let text = |path: &[&str]| document.value.at(path).and_then(Value::as_str);
    let moment = |text: &str| Timestamp::parse(text).map(Timestamp::nanoseconds);
    if let Some(end) = text(&["spec", "expiresAt"]) {
        return Some(moment(end).unwrap_or(i128::MIN));
    }
    let life = text(&["metadata", "labels", LIFE])?;
    // A label cannot hold a time as it is usually written.
    let written = moment(life).or_else(|| moment(&format!("{life}T00:00:00Z")));
    let since = || {
        let made = moment(text(&["metadata", "creationTimestamp"])?)?;
        Some(made + i128::from(Duration::parse(life).ok()?.nanoseconds()))
    };
    Some(written.or_else(since).unwrap_or(i128::MIN))
}

/// Returns what the one who asks is warned of: violations that are let pass, of policies that want it told.
fn warnings(outcomes: &[&Outcome]) -> Vec<String> {
    if outcomes.iter().any(|outcome| outcome.is_refusal) {
        return Vec::new();
    }
    let told = outcomes.iter().filter(|outcome| outcome.about.emits_warning && is_objection(outcome));
    told.map(|outcome| format!("policy {}: {}", dotted(outcome), outcome.message)).collect()
}

/// Returns what the audit log says of requests that are let pass all the same.
fn annotations(outcomes: &[&Outcome]) -> Vec<(Text, Text)> {
    let named = |key: &str, is_one: &dyn Fn(&Outcome) -> bool| {
        let names: Vec<String> = outcomes.iter().filter(|one| is_one(one)).map(|one| dotted(one)).collect();
        (!names.is_empty()).then(|| (Text::new(key), Text::from(names.join(","))))
    };
    let all = [
        named("violations", &|one| !one.is_refusal && matches!(one.status, Status::Fail | Status::Warn)),
        named("errors", &|one| !one.is_refusal && one.status == Status::Error),
        named("exceptions", &|one| !one.exceptions.is_empty()),
    ];
    all.into_iter().flatten().collect()
}

fn is_objection(outcome: &Outcome) -> bool {
    matches!(outcome.status, Status::Fail | Status::Warn | Status::Error)
}

fn dotted(outcome: &Outcome) -> String {
    format!("{}.{}", policy_of(outcome), outcome.rule.rule)
}

/// Returns the name of the policy, without its namespace.
fn policy_of(outcome: &Outcome) -> &str {
    let policy = outcome.rule.policy.as_str();
    policy.rsplit_once('/').map_or(policy, |(_, name)| name)
}

#[cfg(test)]
mod tests;
