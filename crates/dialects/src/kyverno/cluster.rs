//! Kyverno's policies in a cluster.

use kubewright_engine::{
    Door, InCluster, Needs, Operations, Outcome, Reply, Request, Right, Target, TargetName, WatchRole,
    Watched, Webhook,
};
use kubewright_value::{Document, Value};

use super::Kyverno;

impl InCluster for Kyverno {
    fn definitions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn watched(&self) -> &'static [Watched] {
        const fn rule(resource: &'static str, kind: &'static str) -> Watched {
            Watched { group: "kyverno.io", version: "v1", resource, kind, role: WatchRole::Rule }
        }
        const WATCHED: [Watched; 2] = [rule("clusterpolicies", "ClusterPolicy"), rule("policies", "Policy")];
        &WATCHED
    }

    fn webhook(&self, document: &Document) -> Webhook {
        let fails = document.value.at(&["spec", "failurePolicy"]).and_then(Value::as_str) != Some("Ignore");
        let any = Target {
            group: "*".into(),
            version: "*".into(),
            name: TargetName::Resource("*".into()),
            subresource: "".into(),
            operations: Operations::ALL,
        };
        Webhook {
            door: Door::Validate,
            fails,
            own: None,
            timeout: 5,
            conditions: Vec::new(),
            namespaces: Value::Null,
            objects: Value::Null,
            targets: vec![any],
        }
    }

    fn needs(&self, _document: &Document) -> Needs {
        Needs { bindings: true, ..Needs::default() }
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
        ]
    }

    fn reply(&self, request: &Request, outcomes: &[&Outcome]) -> Reply {
        let refusals = outcomes.iter().filter(|outcome| outcome.is_refusal);
        let lines: Vec<String> =
            refusals.map(|outcome| format!("{}: {}", outcome.rule.short(), outcome.message)).collect();
        if lines.is_empty() {
            return Reply::default();
        }
        let message = format!(
            "resource {} was blocked due to the following policies\n\n{}",
            request.subject(),
            lines.join("\n")
        );
        Reply { message, ..Reply::default() }
    }
}
