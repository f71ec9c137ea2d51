//! Requests that a `failurePolicy: Fail` webhook must never match, so that a cluster can recover while no replica runs.
//!
//! Namespaces are excluded by name and label. Kinds are excluded twice: they are in no rule of such a webhook, and a
//! matchCondition excludes those that a wildcard matches, so that kinds added to the cluster later are covered too.
//! A policy that names such a kind gets a second webhook with `failurePolicy: Ignore` for it (`-exempt`).

use kubewright_engine::WatchedResource;
use kubewright_value::{Text, Value, json};

use super::json_object;

/// The namespaces, besides our own.
const EXEMPT_NAMESPACES: [&str; 2] = ["kube-system", "kube-node-lease"];

/// The label of every namespace with its name, which the API server sets and no user can change.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The kinds, by group and resource; `*` is all of the group.
const EXEMPT_RESOURCES: [(&str, &str); 9] = [
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

/// The exemptions of one installation.
#[derive(Debug, Clone)]
pub(super) struct Exemptions<'s> {
    /// The name of our ClusterRole and its binding, with which everything of ours goes.
    pub(super) name: &'s str,
    pub(super) namespace: &'s str,
    /// The labels by which namespaces keep out of everything, each a key and the value that counts.
    pub(super) labels: &'s [(&'s str, &'s str)],
    pub(super) kinds: &'s [WatchedResource],
}

impl Exemptions<'_> {
    /// Returns whether a rule for `group`, which may be `*`, and `resource`, which may not, is about an exempt kind.
    pub(super) fn has(&self, group: &str, resource: &str) -> bool {
        let own = self.kinds.iter().map(|kind| (kind.group, kind.resource));
        EXEMPT_RESOURCES.into_iter().chain(own).any(|(exempt, name)| match (group, name) {
            // The groups that are exempt as a whole contain only reviews.
            ("*", "*") => resource.ends_with("reviews"),
            ("*", _) => resource == name,
            (_, "*") => group == exempt,
            _ => group == exempt && resource == name,
        })
    }

    /// Returns the matchCondition of such a webhook, a name and CEL.
    pub(super) fn condition(&self) -> (Text, Text) {
        let own = self.kinds.iter().map(|kind| (kind.group, kind.resource));
        let (groups, kinds): (Vec<_>, Vec<_>) =
            EXEMPT_RESOURCES.into_iter().chain(own).partition(|(_, name)| *name == "*");
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
        ("not-exempt".into(), parts.join(" && ").into())
    }

    /// Returns the matchCondition, a name and CEL, that excludes our own writes: a rule that refuses our Events, statuses
    /// or webhook configurations would prevent reports and repairs.
    pub(super) fn not_ourselves(&self) -> (Text, Text) {
        let accounts = json::quote(&format!("system:serviceaccount:{}:", self.namespace));
        let expression =
            format!("!(has(request.userInfo.username) && request.userInfo.username.startsWith({accounts}))");
        ("not-ourselves".into(), expression.into())
    }

    /// Returns a selector of the namespaces called `only`, or of all where there are none, without those that are left out
    /// of every webhook, or of one that `fails`.
    pub(super) fn namespaces(&self, only: &[Text], fails: bool) -> Value {
        let mut expressions = Vec::new();
        if !only.is_empty() {
            let names = only.iter().map(|name| name.clone().into()).collect();
            expressions.push(requirement(NAME_LABEL, "In", names));
        }
        expressions.push(self.outside(fails));
        expressions.extend(self.labels.iter().map(|(key, value)| not_in(key, vec![(*value).into()])));
        selector_of(expressions)
    }

    /// Returns a selector that leaves namespaces out by their names alone.
    pub(super) fn named_namespaces(&self) -> Value {
        selector_of(vec![self.outside(true)])
    }

    fn outside(&self, fails: bool) -> Value {
        let mut names = vec![self.namespace];
        if fails {
            names.extend(EXEMPT_NAMESPACES.into_iter().filter(|name| *name != self.namespace));
        }
        not_in(NAME_LABEL, names.into_iter().map(Value::from).collect())
    }
}

fn not_in(key: &str, values: Vec<Value>) -> Value {
    requirement(key, "NotIn", values)
}

fn requirement(key: &str, operator: &str, values: Vec<Value>) -> Value {
    json_object([("key", key.into()), ("operator", operator.into()), ("values", Value::array(values))])
}

fn selector_of(expressions: Vec<Value>) -> Value {
    json_object([("matchExpressions", Value::array(expressions))])
}
