//! The resources that the webhook of ModRules covers: KubeMod's list with the operator's changes.

use kubewright_value::Text;

/// The default resources.
const DEFAULT_RESOURCES: [&str; 21] = [
    "namespaces",
    "nodes",
    "configmaps",
    "persistentvolumeclaims",
    "persistentvolumes",
    "secrets",
    "services",
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "horizontalpodautoscalers",
    "ingresses",
    "pods",
    "cronjobs",
    "jobs",
    "serviceaccounts",
    "clusterrolebindings",
    "clusterroles",
    "rolebindings",
    "roles",
];

/// A resource of any version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebhookResource {
    /// The API group, or `*`.
    pub(super) group: Text,
    /// The plural name, or `*`.
    pub(super) name: Text,
    /// A part of it; mostly empty.
    pub(super) subresource: Text,
}

/// Returns the resources that `changes` make of the list: `+name` adds one, `-name` takes one away, and a name
/// without a sign starts a list of its own. A name is `pods`, `pods/status`, or with its group `widgets.shop.test`.
pub(super) fn webhook_resources(changes: &[String]) -> Vec<WebhookResource> {
    let entries = || changes.iter().map(|entry| entry.trim()).filter(|entry| !entry.is_empty());
    let is_own = entries().any(|entry| !entry.starts_with(['+', '-']));
    let mut resources: Vec<WebhookResource> =
        if is_own { Vec::new() } else { DEFAULT_RESOURCES.map(WebhookResource::of).into() };
    for entry in entries() {
        match entry.strip_prefix('-') {
            Some(name) => resources.retain(|resource| !WebhookResource::of(name).has(resource)),
            None => {
                let added = WebhookResource::of(entry.strip_prefix('+').unwrap_or(entry));
                if !resources.contains(&added) {
                    resources.push(added);
                }
            }
        }
    }
    resources
}

impl WebhookResource {
    fn of(text: &str) -> Self {
        let (text, subresource) = text.split_once('/').unwrap_or((text, ""));
        let (name, group) = text.split_once('.').unwrap_or((text, "*"));
        Self {
            group: group.to_ascii_lowercase().into(),
            name: name.to_ascii_lowercase().into(),
            subresource: subresource.to_ascii_lowercase().into(),
        }
    }

    fn has(&self, other: &Self) -> bool {
        (self.group == "*" || self.group == other.group)
            && (self.name == "*" || self.name == other.name)
            && (self.subresource == "*" || self.subresource == other.subresource)
    }
}

#[cfg(test)]
mod tests;
