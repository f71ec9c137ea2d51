//! What no webhook may hold up that refuses when nobody answers: what a cluster needs to get back on its feet while
//! no replica of ours runs.
//!
//! Namespaces are left out by their names and labels. Kinds are left out twice: they are in no rule of such a
//! webhook, and a condition catches those that come in by a wildcard, so that a kind added to the cluster tomorrow
//! does not matter. Whoever names such a kind is asked for by a twin of the webhook, which never refuses by itself.

use kubewright_engine::WatchedResource;
use kubewright_value::{Map, Text, Value, json};

use super::object;

/// The namespaces, besides our own.
const NAMESPACES: [&str; 2] = ["kube-system", "kube-node-lease"];

/// The kinds, by group and resource; `*` is all of the group.
const KINDS: [(&str, &str); 9] = [
    ("", "nodes"),
    ("", "events"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("authentication.k8s.io", "*"),
    ("authorization.k8s.io", "*"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
];

/// What is spared, with what is our own.
#[derive(Debug, Clone)]
pub(super) struct Spared<'s> {
    /// The name of our ClusterRole and its binding, with which everything of ours goes.
    pub(super) name: &'s str,
    pub(super) namespace: &'s str,
    /// The labels by which namespaces keep out of everything, each a key and the value that counts.
    pub(super) labels: &'s [(&'s str, &'s str)],
    pub(super) kinds: &'s [WatchedResource],
}

impl Spared<'_> {
    /// Returns whether a rule for `group`, which may be `*`, and `resource`, which may not, is about a spared kind.
    pub(super) fn has(&self, group: &str, resource: &str) -> bool {
        let own = self.kinds.iter().map(|kind| (kind.group, kind.resource));
        KINDS.into_iter().chain(own).any(|(spared, name)| match (group, name) {
            // Reviews are all that the groups have of which everything is spared.
            ("*", "*") => resource.ends_with("reviews"),
            ("*", _) => resource == name,
            (_, "*") => group == spared,
            _ => group == spared && resource == name,
        })
    }

    /// Returns the condition under which such a webhook may be called at all, a name and CEL.
    pub(super) fn condition(&self) -> (Text, Text) {
        let own = self.kinds.iter().map(|kind| (kind.group, kind.resource));
        let (groups, kinds): (Vec<_>, Vec<_>) =
            KINDS.into_iter().chain(own).partition(|(_, name)| *name == "*");
        let groups = groups.into_iter().map(|(group, _)| json::quote(group));
        let mut kinds: Vec<String> =
            kinds.into_iter().map(|(group, name)| json::quote(&format!("{name}.{group}"))).collect();
        kinds.sort();
        kinds.dedup();
        let definitions: Vec<String> =
            self.kinds.iter().map(|kind| json::quote(&format!("{}.{}", kind.resource, kind.group))).collect();
        let mut parts = vec![
            format!("!(request.resource.group in [{}])", groups.collect::<Vec<_>>().join(", ")),
            format!("!(request.resource.resource + '.' + request.resource.group in [{}])", kinds.join(", ")),
            "!(has(request.userInfo.groups) && 'system:nodes' in request.userInfo.groups)".to_owned(),
        ];
        parts.push(format!(
            "!(request.resource.resource in ['clusterroles', 'clusterrolebindings'] && has(request.name) && request.name == {})",
            json::quote(self.name)
        ));
        if !definitions.is_empty() {
            parts.push(format!(
                "!(request.resource.resource == 'customresourcedefinitions' && has(request.name) && request.name in [{}])",
                definitions.join(", ")
            ));
        }
        ("not-spared".into(), parts.join(" && ").into())
    }

    /// Returns the condition, a name and CEL, that keeps rules away from what we ourselves write: a rule that refuses
    /// our Events, our statuses or our webhook configurations would keep us from telling of it, and from repair.
    pub(super) fn not_ourselves(&self) -> (Text, Text) {
        let accounts = json::quote(&format!("system:serviceaccount:{}:", self.namespace));
        let expression =
            format!("!(has(request.userInfo.username) && request.userInfo.username.startsWith({accounts}))");
        ("not-ourselves".into(), expression.into())
    }

    /// Returns `selector` of namespaces, without those that are left out of every webhook, or of one that `fails`.
    pub(super) fn namespaces(&self, selector: &Value, fails: bool) -> Value {
        let mut expressions = vec![self.outside(fails)];
        expressions.extend(self.labels.iter().map(|(key, value)| not_in(key, vec![(*value).into()])));
        selecting(selector, expressions)
    }

    /// Returns a selector that leaves namespaces out by their names alone.
    pub(super) fn named_namespaces(&self) -> Value {
        selecting(&Value::Null, vec![self.outside(true)])
    }

    fn outside(&self, fails: bool) -> Value {
        let mut names = vec![self.namespace];
        if fails {
            names.extend(NAMESPACES.into_iter().filter(|name| *name != self.namespace));
        }
        not_in("kubernetes.io/metadata.name", names.into_iter().map(Value::from).collect())
    }
}

fn not_in(key: &str, values: Vec<Value>) -> Value {
    object([("key", key.into()), ("operator", "NotIn".into()), ("values", Value::array(values))])
}

/// Adds `expressions` to a selector; null is the selector of everything.
fn selecting(selector: &Value, expressions: Vec<Value>) -> Value {
    let mut map = selector.as_object().cloned().unwrap_or_else(Map::new);
    let own = map.get("matchExpressions").and_then(Value::as_array).unwrap_or_default();
    let all = own.iter().cloned().chain(expressions).collect();
    map.insert("matchExpressions".into(), Value::array(all));
    map.into()
}
