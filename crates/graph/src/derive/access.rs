//! Roles, bindings and accounts.

use kubewright_value::Value;

use super::{Deriving, Target, core, items, or, text};
use crate::graph::{Only, Scope, Selection};
use crate::names::Symbol;
use crate::selector::Selector;
use crate::{EdgeType, Strength};

const RBAC: &str = "rbac.authorization.k8s.io";

impl Deriving<'_, '_> {
    pub(super) fn access(&mut self, object: &Value) {
        match self.kind.as_str() {
            "RoleBinding" | "ClusterRoleBinding" => self.binding(object),
            "ClusterRole" => self.aggregation(object),
            "ServiceAccount" => self.service_account(object),
            "Secret" => self.token(object),
            _ => {}
        }
    }

    fn binding(&mut self, object: &Value) {
        let own = self.namespace.clone();
        if let Some(role) = object.get("roleRef") {
            let kind = or(text(role, &["kind"]), "Role");
            let namespace = if kind == "ClusterRole" { "" } else { own.as_str() };
            let target = Target { group: RBAC, kind, namespace, name: text(role, &["name"]) };
            self.refer(EdgeType::BINDS_ROLE, target, "roleRef", Strength::Required);
        }
        for (at, subject) in items(object, &["subjects"]) {
            let (kind, name) = (text(subject, &["kind"]), text(subject, &["name"]));
            let via = format!("subjects[{at}]");
            let target = match kind {
                "ServiceAccount" => core(kind, or(text(subject, &["namespace"]), &own), name),
                _ => Target { group: RBAC, kind, namespace: "", name },
            };
            self.refer(EdgeType::BINDS_SUBJECT, target, &via, Strength::Required);
        }
    }

    fn aggregation(&mut self, object: &Value) {
        for (at, selector) in items(object, &["aggregationRule", "clusterRoleSelectors"]) {
            if let Some(selector) = Selector::of_labels(selector) {
                let class = self.draft.intern("ClusterRole.rbac.authorization.k8s.io");
                let scope = Scope::Namespace(Symbol::EMPTY);
                let selection = Selection { class, only: Only::All, scope, selector };
                let via = format!("aggregationRule.clusterRoleSelectors[{at}]");
                self.select_in(EdgeType::AGGREGATES, selection, &via, Strength::Required);
            }
        }
    }

    fn service_account(&mut self, object: &Value) {
        let own = self.namespace.clone();
        for (field, kind) in [("imagePullSecrets", EdgeType::PULLS_WITH), ("secrets", EdgeType::REFERS_TO)] {
            for (at, secret) in items(object, &[field]) {
                let secret = core("Secret", &own, text(secret, &["name"]));
                self.refer(kind, secret, &format!("{field}[{at}]"), Strength::Required);
            }
        }
    }

    /// The Secret that holds the token of an account names the account.
    fn token(&mut self, object: &Value) {
        let own = self.namespace.clone();
        if text(object, &["type"]) == "kubernetes.io/service-account-token" {
            let name = text(object, &["metadata", "annotations", "kubernetes.io/service-account.name"]);
            let via = "metadata.annotations['kubernetes.io/service-account.name']";
            self.refer(EdgeType::REFERS_TO, core("ServiceAccount", &own, name), via, Strength::Required);
        }
    }
}
