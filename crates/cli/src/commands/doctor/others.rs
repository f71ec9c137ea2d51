//! Webhooks of other programs.

use kubewright_value::Value;

use super::finding::DoctorFindings;
use super::selector::selector_selects_namespace;
use super::view::{ClusterView, view_text, webhooks_of};

pub(super) fn check_other_webhooks(view: &ClusterView, findings: &mut DoctorFindings) {
    let Ok(all) = &view.configurations else { return };
    check_upstream_webhooks(view, all, findings);
    let mut locks = Vec::new();
    for configuration in all.iter().filter(|one| !view.is_ours(one)) {
        let name = view_text(configuration, &["metadata", "name"]);
        locks.extend(
            webhooks_of(configuration)
                .filter_map(|(_, webhook)| lockout_reason(view, webhook))
                .map(|why| format!("`{name}`: {why}")),
        );
    }
    for why in &locks {
        let mend = "its owner should exclude its own namespace and kube-system, or set failurePolicy Ignore";
        findings.warn("other webhooks", why, mend);
    }
    if locks.is_empty() {
        findings.ok("other webhooks", "none prevents the cluster from recovering");
    }
}

fn check_upstream_webhooks(view: &ClusterView, all: &[Value], findings: &mut DoctorFindings) {
    for dialect in &view.dialects {
        let Some(cluster) = dialect.cluster_support() else { continue };
        let found = cluster
            .upstream_webhooks()
            .iter()
            .filter(|name| all.iter().any(|one| view_text(one, &["metadata", "name"]) == **name));
        let found: Vec<&str> = found.copied().collect();
        if !found.is_empty() {
            let why = format!(
                "the upstream program of {} rules is installed too ({}): both enforce them",
                dialect.name(),
                found.join(", ")
            );
            findings.warn(
                "other controllers",
                why,
                "let only one of the two enforce them: `--dialects` selects those that kubewright serves",
            );
        }
    }
}

/// Returns why a webhook of another program may keep the cluster from recovering, if it may. One with matchConditions is assumed to be safe.
fn lockout_reason(view: &ClusterView, webhook: &Value) -> Option<String> {
    let is_empty = |key: &str| match webhook.get(key) {
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        _ => true,
    };
    if view_text(webhook, &["failurePolicy"]) == "Ignore"
        || !is_empty("matchConditions")
        || !is_empty("objectSelector")
    {
        return None;
    }
    let holds = |namespace: &str| {
        selector_selects_namespace(webhook.get("namespaceSelector"), namespace, view.labels(namespace))
    };
    let name = view_text(webhook, &["name"]);
    let own = view_text(webhook, &["clientConfig", "service", "namespace"]);
    if covers(webhook, "", "pods") && !own.is_empty() && holds(own) {
        return Some(format!("`{name}` rejects Pods of `{own}`, its own among them, while it is down"));
    }
    if covers(webhook, "", "pods") && holds("kube-system") {
        return Some(format!("`{name}` rejects Pods of kube-system while it is down"));
    }
    if covers(webhook, "coordination.k8s.io", "leases") && holds("kube-node-lease") {
        return Some(format!("`{name}` rejects the Leases of nodes while it is down"));
    }
    (covers(webhook, "", "nodes")).then(|| format!("`{name}` rejects changes of Nodes while it is down"))
}

/// Whether a rule of the webhook matches the creation or update of a resource.
fn covers(webhook: &Value, group: &str, resource: &str) -> bool {
    let rules = webhook.get("rules").and_then(Value::as_array).unwrap_or_default();
    rules.iter().any(|rule| {
        let has = |key: &str, wanted: &[&str]| {
            let list = rule.get(key).and_then(Value::as_array).unwrap_or_default();
            list.iter().filter_map(Value::as_str).any(|one| wanted.contains(&one))
        };
        has("apiGroups", &["*", group])
            && has("resources", &["*", "*/*", resource])
            && has("operations", &["*", "CREATE", "UPDATE"])
    })
}
