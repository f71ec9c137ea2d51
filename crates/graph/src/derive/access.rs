//! Roles, bindings and accounts.

use kubewright_value::Value;

use super::{Deriving, ReferenceTarget, core, items_at, or, text_at};
use crate::graph::{FOREIGN, Only, Selection, SelectionScope};
use crate::names::Symbol;
use crate::selector::GraphSelector;
use crate::{EdgeType, Strength};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

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
        let role = object.get("roleRef").map(|role| {
            let kind = or(text_at(role, &["kind"]), "Role");
            let namespace = if kind == "ClusterRole" { "" } else { own.as_str() };
            ReferenceTarget { group: RBAC_GROUP, kind, namespace, name: text_at(role, &["name"]) }
        });
        let role = role.filter(|role| !role.name.is_empty());
        if let Some(role) = role {
            self.refer(EdgeType::BINDS_ROLE, role, "roleRef", Strength::Required);
        }
        for (at, subject) in items_at(object, &["subjects"]) {
            let (kind, name) = (text_at(subject, &["kind"]), text_at(subject, &["name"]));
            let target = match kind {
                "ServiceAccount" => core(kind, or(text_at(subject, &["namespace"]), &own), name),
                _ => ReferenceTarget { group: RBAC_GROUP, kind, namespace: "", name },
            };
            self.refer(EdgeType::BINDS_SUBJECT, target, &format!("subjects[{at}]"), Strength::Required);
            if let Some(role) = role {
                self.grant(account(kind, name).unwrap_or(target), role, at);
            }
        }
    }

    /// CAN_ACCESS from each subject to the role. The binding is at neither end.
    fn grant(&mut self, subject: ReferenceTarget<'_>, role: ReferenceTarget<'_>, at: usize) {
        if subject.name.is_empty() || !self.derives(EdgeType::CAN_ACCESS) {
            return;
        }
        let via = format!("{} subjects[{at}]", self.kind);
        let (from, to) = (self.identity(subject), self.identity(role));
        let (from, to) = (self.draft.node_of(from), self.draft.node_of(to));
        self.wire(from, to, EdgeType::CAN_ACCESS, &via, Strength::Required, FOREIGN);
    }

    fn aggregation(&mut self, object: &Value) {
        for (at, selector) in items_at(object, &["aggregationRule", "clusterRoleSelectors"]) {
            if let Some(selector) = GraphSelector::of_labels(selector) {
                let class = self.draft.intern("ClusterRole.rbac.authorization.k8s.io");
                let scope = SelectionScope::Namespace(Symbol::EMPTY);
                let selection = Selection { class, only: Only::All, scope, selector };
                let via = format!("aggregationRule.clusterRoleSelectors[{at}]");
                self.select_in(EdgeType::AGGREGATES, selection, &via, Strength::Required);
            }
        }
    }

    fn service_account(&mut self, object: &Value) {
        let own = self.namespace.clone();
        for (field, kind) in [("imagePullSecrets", EdgeType::PULLS_WITH), ("secrets", EdgeType::REFERS_TO)] {
            for (at, secret) in items_at(object, &[field]) {
                let secret = core("Secret", &own, text_at(secret, &["name"]));
                self.refer(kind, secret, &format!("{field}[{at}]"), Strength::Required);
            }
        }
    }

    /// The Secret that holds the token of an account names the account.
    fn token(&mut self, object: &Value) {
        let own = self.namespace.clone();
        if text_at(object, &["type"]) == "kubernetes.io/service-account-token" {
            let name = text_at(object, &["metadata", "annotations", "kubernetes.io/service-account.name"]);
            let via = "metadata.annotations['kubernetes.io/service-account.name']";
            self.refer(EdgeType::REFERS_TO, core("ServiceAccount", &own, name), via, Strength::Required);
        }
    }
}

/// Returns the ServiceAccount that a User name of the form `system:serviceaccount:…` denotes.
fn account<'o>(kind: &str, name: &'o str) -> Option<ReferenceTarget<'o>> {
    let (namespace, name) = name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (kind == "User").then(|| core("ServiceAccount", namespace, name))
}
