//! Other programs that stand at the same door.

use kubewright_value::Value;

use super::finding::Findings;
use super::selector::selects_namespace;
use super::view::{View, text, webhooks_of};

pub(super) fn check(view: &View, findings: &mut Findings) {
    let Ok(all) = &view.configurations else { return };
    originals(view, all, findings);
    let mut locks = Vec::new();
    for configuration in all.iter().filter(|one| !view.is_ours(one)) {
        let name = text(configuration, &["metadata", "name"]);
        locks.extend(
            webhooks_of(configuration)
                .filter_map(|(_, webhook)| lock(view, webhook))
                .map(|why| format!("`{name}`: {why}")),
        );
    }
    for why in &locks {
        let mend = "ask whose it is: it should leave its own namespace and kube-system out, or have failurePolicy Ignore";
        findings.warn("other webhooks", why, mend);
    }
    if locks.is_empty() {
        findings.ok("other webhooks", "none keeps the cluster from coming up again");
    }
}

fn originals(view: &View, all: &[Value], findings: &mut Findings) {
    for dialect in &view.dialects {
        let Some(cluster) = dialect.cluster_support() else { continue };
        let found = cluster
            .upstream_webhooks()
            .iter()
            .filter(|name| all.iter().any(|one| text(one, &["metadata", "name"]) == **name));
        let found: Vec<&str> = found.copied().collect();
        if !found.is_empty() {
            let why = format!(
                "the program that {} rules come from is installed too ({}): both decide by them",
                dialect.name(),
                found.join(", ")
            );
            findings.warn(
                "other controllers",
                why,
                "leave the rules to one of the two: `--dialects` names those that we read",
            );
        }
    }
}

/// Why a webhook of somebody else may lock the cluster, if it may. One with conditions of its own is believed.
fn lock(view: &View, webhook: &Value) -> Option<String> {
    let is_empty = |key: &str| match webhook.get(key) {
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        _ => true,
    };
    if text(webhook, &["failurePolicy"]) == "Ignore"
        || !is_empty("matchConditions")
        || !is_empty("objectSelector")
    {
        return None;
    }
    let holds = |namespace: &str| {
        selects_namespace(webhook.get("namespaceSelector"), namespace, view.labels(namespace))
    };
    let name = text(webhook, &["name"]);
    let own = text(webhook, &["clientConfig", "service", "namespace"]);
    if covers(webhook, "", "pods") && !own.is_empty() && holds(own) {
        return Some(format!(
            "`{name}` refuses Pods of `{own}`, its own among them, while it does not answer"
        ));
    }
    if covers(webhook, "", "pods") && holds("kube-system") {
        return Some(format!("`{name}` refuses Pods of kube-system while it does not answer"));
    }
    if covers(webhook, "coordination.k8s.io", "leases") && holds("kube-node-lease") {
        return Some(format!("`{name}` refuses the Leases of nodes while it does not answer"));
    }
    (covers(webhook, "", "nodes"))
        .then(|| format!("`{name}` refuses changes of Nodes while it does not answer"))
}

/// Whether some rule of the webhook is about the creation or change of a resource.
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
