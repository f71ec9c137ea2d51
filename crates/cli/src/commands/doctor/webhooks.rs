//! Whether the API server calls the webhook for the right requests, and gets an answer.

use kubewright_cluster::{DiscoveredResources, Error};
use kubewright_engine::{ClusterExtensions, ClusterResources, WatchRole};
use kubewright_report::text::plural;
use kubewright_serve::webhooks::{
    WEBHOOKS_ANNOTATION, WebhookAddress, WebhookInputs, desired_configurations,
};
use kubewright_value::Value;

use super::admission_policies;
use super::finding::DoctorFindings;
use super::selector::selector_selects_namespace;
use super::view::{ClusterView, view_text, webhooks_of};

/// Namespaces that a `failurePolicy: Fail` webhook must exclude, besides kubewright's own.
const EXEMPT_NAMESPACES: [&str; 2] = ["kube-system", "kube-node-lease"];

/// The compared fields of a webhook. The others depend on how the server was started, or are checked elsewhere.
const COMPARED_FIELDS: [&str; 5] =
    ["rules", "failurePolicy", "timeoutSeconds", "objectSelector", "matchPolicy"];

const RESTART: &str =
    "a running server repairs it within 5 s; see its log, and `kubewright rescue --resume` if it is held";

pub(super) fn check_webhooks(view: &ClusterView, findings: &mut DoctorFindings) {
    check_disabled(view, findings);
    let all = match &view.configurations {
        Ok(all) => all,
        Err(error) => return findings.unseen("webhooks", error),
    };
    if !all.iter().any(|one| view.is_ours(one)) {
        let why = format!("there is no webhook configuration `{}`: no rule is evaluated", view.name);
        return findings.bad("webhooks", why, RESTART);
    }
    compare_configurations(view, findings);
    check_owner(view, all, findings);
    check_exemptions(view, findings);
    check_answer(view, findings);
}

fn check_disabled(view: &ClusterView, findings: &mut DoctorFindings) {
    let Ok(Some(role)) = &view.role else { return };
    if view_text(role, &["metadata", "annotations", WEBHOOKS_ANNOTATION]) == "off" {
        let why = "the webhooks are held off by `rescue`: no rule is evaluated until they are resumed";
        findings.bad("held", why, "`kubewright rescue --resume`");
    }
}

/// Compares the actual configurations with those that the current rules need.
fn compare_configurations(view: &ClusterView, findings: &mut DoctorFindings) {
    let resources = match &view.resources {
        Ok(resources) => resources,
        Err(error) => return findings.unseen("webhooks", error),
    };
    if let Some(error) = view.kinds.iter().find_map(|kind| kind.objects.as_ref().err()) {
        return findings.unseen("webhooks", &format!("rules cannot be read: {error}"));
    }
    let wanted = wanted_configurations(view, resources);
    let wanted: Vec<(&str, &Value)> = wanted.iter().flat_map(webhooks_of).collect();
    let wrong = webhook_differences(&wanted, &view.webhooks());
    if wrong.is_empty() {
        let rules = view.rules(WatchRole::Rule).count();
        let webhooks = plural(wanted.len(), "webhook");
        findings.ok("webhooks", format!("{webhooks}, as needed by {}", plural(rules, "rule")));
    } else {
        findings.bad("webhooks", wrong.join("; "), RESTART);
    }
}

/// Returns the configurations that the current rules need.
pub(super) fn wanted_configurations(view: &ClusterView, resources: &DiscoveredResources) -> [Value; 2] {
    let snapshot = admission_policies::snapshot(view);
    let languages = || view.dialects.iter().filter_map(|dialect| dialect.cluster_support());
    // If the upstream program of a language is installed, kubewright does not validate its rule objects.
    let checked = languages().filter(|language| !view.has_configuration(language.upstream_webhooks()));
    let checked =
        checked.flat_map(ClusterResources::watched_resources).filter(|kind| kind.role != WatchRole::Shared);
    let wanted = WebhookInputs {
        name: &view.name,
        namespace: &view.namespace,
        address: WebhookAddress::Service { namespace: view.namespace.clone(), name: view.name.clone() },
        bundle: None,
        hooks: snapshot.webhooks().collect(),
        kinds: languages().flat_map(ClusterResources::watched_resources).copied().collect(),
        checked: checked.copied().collect(),
        labels: languages().filter_map(ClusterResources::ignore_label).collect(),
        observes_pod_bindings: languages().any(ClusterExtensions::observes_pod_bindings),
        exempt: &view.flag("guard-exempt"),
        owner: None,
        injected_from: None,
    };
    desired_configurations(&wanted, resources)
}

fn webhook_differences(wanted: &[(&str, &Value)], actual: &[(&str, &Value)]) -> Vec<String> {
    let name = |webhook: &Value| view_text(webhook, &["name"]).to_owned();
    let mut wrong = Vec::new();
    for (kind, webhook) in wanted {
        let same = actual.iter().find(|(other, one)| other == kind && name(one) == name(webhook));
        let Some((_, same)) = same else {
            wrong.push(format!("`{}` is missing", name(webhook)));
            continue;
        };
        let fields: Vec<&str> =
            COMPARED_FIELDS.into_iter().filter(|field| same.get(field) != webhook.get(field)).collect();
        if !fields.is_empty() {
            wrong.push(format!(
                "`{}` differs from what its rules need: {}",
                name(webhook),
                fields.join(", ")
            ));
        }
    }
    let extra = actual
        .iter()
        .filter(|(kind, one)| !wanted.iter().any(|(other, two)| other == kind && name(two) == name(one)));
    wrong.extend(extra.map(|(_, one)| format!("no rule needs `{}`", name(one))));
    wrong
}

/// Checks that uninstalling removes the configurations.
fn check_owner(view: &ClusterView, all: &[Value], findings: &mut DoctorFindings) {
    let role = match &view.role {
        Ok(role) => role.as_ref().map(|role| view_text(role, &["metadata", "uid"])),
        Err(error) => return findings.unseen("uninstalling", error),
    };
    let is_owned = |one: &Value| {
        let owners = one.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).unwrap_or_default();
        owners.iter().any(|owner| role.is_some_and(|role| view_text(owner, &["uid"]) == role))
    };
    if all.iter().filter(|one| view.is_ours(one)).all(is_owned) {
        findings.ok("uninstalling", "the webhook configurations are deleted with the ClusterRole");
    } else {
        let why = "a webhook configuration is not owned by the ClusterRole, and stays after uninstalling";
        findings.warn("uninstalling", why, "`kubewright rescue --yes` after uninstalling");
    }
}

/// Checks what happens while no server answers, and that the exempt namespaces are excluded.
fn check_exemptions(view: &ClusterView, findings: &mut DoctorFindings) {
    let mut open = Vec::new();
    let (mut fails, mut ignores) = (0, 0);
    for (_, webhook) in view.webhooks() {
        if view_text(webhook, &["failurePolicy"]) == "Ignore" {
            ignores += 1;
            continue;
        }
        fails += 1;
        if is_about_rules_alone(view, webhook) {
            continue;
        }
        let namespaces = EXEMPT_NAMESPACES.into_iter().chain([view.namespace.as_str()]);
        let held = namespaces.filter(|name| {
            selector_selects_namespace(webhook.get("namespaceSelector"), name, view.labels(name))
        });
        let held: Vec<&str> = held.collect();
        if !held.is_empty() {
            open.push(format!("`{}` would block {}", view_text(webhook, &["name"]), held.join(", ")));
        }
    }
    let policies = format!(
        "{} with Fail, which refuse while no server answers; {ignores} with Ignore",
        plural(fails, "webhook")
    );
    findings.ok("failure policies", policies);
    if open.is_empty() {
        findings.ok(
            "exempt namespaces",
            format!(
                "no webhook with failurePolicy Fail matches {}, {}",
                EXEMPT_NAMESPACES.join(", "),
                view.namespace
            ),
        );
    } else {
        findings.bad(
            "exempt namespaces",
            format!("{}: the cluster may not recover from an outage", open.join("; ")),
            RESTART,
        );
    }
}

/// Whether a webhook only matches kinds of kubewright.
fn is_about_rules_alone(view: &ClusterView, webhook: &Value) -> bool {
    let rules = webhook.get("rules").and_then(Value::as_array).unwrap_or_default();
    rules.iter().all(|rule| {
        let list = |key: &str| rule.get(key).and_then(Value::as_array).unwrap_or_default();
        list("apiGroups")
            .iter()
            .all(|group| view.kinds.iter().any(|kind| group.as_str() == Some(kind.watched.group)))
    })
}

fn check_answer(view: &ClusterView, findings: &mut DoctorFindings) {
    match &view.answer {
        None => {
            findings.ok("answers", "not checked: there is no rule object to send as a dry run");
        }
        Some(Ok(())) => findings.ok("answers", "the API server calls the webhook and gets an answer"),
        Some(Err(Error::Status(status))) if status.message.contains("failed calling webhook") => {
            let mend = "check the Service, its endpoints and NetworkPolicies; `kubewright rescue` removes the webhooks meanwhile";
            findings.bad("answers", format!("the API server gets no answer: {status}"), mend);
        }
        Some(Err(Error::Status(status))) if status.message.contains("denied the request") => {
            findings.ok("answers", "the API server calls the webhook and gets an answer");
        }
        Some(Err(error)) => findings.unseen("answers", &error.to_string()),
    }
}
