//! OWNS, and the fallback by labels for manifests without owner references.

use kubewright_value::{Map, Value};

use super::{Deriving, ReferenceTarget, is_built_in_workload};
use crate::graph::{CONTROLS, EdgeDependency, Only, REVERSED, Selection, SelectionScope, has_no_namespace};
use crate::names::{NO_PLACE, Symbol};
use crate::node::{ObjectIdentity, api_group_of};
use crate::selector::GraphSelector;
use crate::{EdgeType, Id, Strength};

/// A uid that more objects have says nothing: owners are found by name then.
const MAX_SAME_UID: usize = 64;

impl Deriving<'_, '_> {
    pub(super) fn owners(&mut self, metadata: &Value) {
        if !self.derives(EdgeType::OWNS) {
            return;
        }
        let owners = metadata.get("ownerReferences").and_then(Value::as_array).unwrap_or_default();
        let is_pod = self.kind == "Pod" && self.group.is_empty();
        let controller = |owner: &Value| owner.get("controller").and_then(Value::as_bool);
        let says_who = owners.iter().any(|owner| controller(owner) == Some(true));
        for (at, owner) in owners.iter().enumerate() {
            let Some(from) = self.owner(owner) else { continue };
            let controls = is_pod && controller(owner).unwrap_or(!says_who);
            let flags = REVERSED | if controls { CONTROLS } else { 0 };
            let via = [("metadata", NO_PLACE), ("ownerReferences", at)];
            self.wire(from, self.id, EdgeType::OWNS, via, Strength::Required, flags);
        }
    }

    /// OWNS and MANAGES by labels, for objects without owner references.
    pub(super) fn fallbacks(&mut self, object: &Value) {
        let Some(selector) = object.at(&["spec", "selector"]) else { return };
        if object.at(&["spec", "template", "spec"]).is_none() && !is_built_in_workload(object) {
            return;
        }
        let scope = SelectionScope::Namespace(self.here);
        if let Some(selector) = GraphSelector::of_either(selector).filter(|selector| !selector.is_empty()) {
            let scope = scope.clone();
            let selection = Selection { class: Symbol::EMPTY, only: Only::OwnerlessPods, scope, selector };
            self.select_in(EdgeType::MANAGES, selection, "spec.selector", Strength::Implicit);
        }
        if self.kind != "Deployment" || self.group != "apps" || !self.derives(EdgeType::OWNS) {
            return;
        }
        self.draft.ask(EdgeDependency::AnyUid);
        let labels = selector.get("matchLabels").and_then(Value::as_object).and_then(GraphSelector::of_map);
        if let Some(selector) = labels.filter(|labels| !labels.is_empty() && !self.graph.has_uids()) {
            let class = self.draft.intern("ReplicaSet.apps");
            let selection = Selection { class, only: Only::Ownerless, scope, selector };
            self.select_in(EdgeType::OWNS, selection, "spec.selector", Strength::Implicit);
        }
    }

    /// Returns the node of an owner; none if it is in another namespace, or not named.
    fn owner(&mut self, owner: &Value) -> Option<Id> {
        let [mut group, mut kind, mut name, mut uid] = [""; 4];
        for (key, value) in owner.as_object().into_iter().flat_map(Map::iter) {
            let value = value.as_str().unwrap_or_default();
            match key.as_str() {
                "apiVersion" => group = api_group_of(value),
                "kind" => kind = value,
                "name" => name = value,
                "uid" => uid = value,
                _ => {}
            }
        }
        let namespace = self.namespace.clone();
        let beside = ReferenceTarget { group, kind, namespace: &namespace, name };
        if uid.is_empty() {
            return self.owner_by_name(beside);
        }
        let uid = self.draft.intern(uid);
        self.draft.ask(EdgeDependency::Uid(uid));
        let known = self.graph.with_uid(uid);
        if known.len() > MAX_SAME_UID {
            return self.owner_by_name(beside);
        }
        if !known.is_empty() {
            let can_own = |id: &&Id| {
                let owner = self.graph.node(**id).map(|node| node.namespace.as_str());
                owner.is_some_and(|owner| owner.is_empty() || owner == namespace)
            };
            return match known {
                [only] => Some(*only).filter(|id| can_own(&id)),
                several => several.iter().filter(can_own).min_by_key(|id| self.order_of(**id)).copied(),
            };
        }
        self.draft.ask(EdgeDependency::AnyUid);
        if !self.graph.has_uids() {
            return self.owner_by_name(beside);
        }
        if name.is_empty() {
            return None;
        }
        let identity = self.likely_owner(beside);
        Some(self.draft.node_of(ObjectIdentity { uid, ..identity }))
    }

    /// Looks for an owner beside this object, then among those without a namespace.
    fn owner_by_name(&mut self, beside: ReferenceTarget<'_>) -> Option<Id> {
        if beside.name.is_empty() {
            return None;
        }
        let identity = self.identity(beside);
        let above = ObjectIdentity { namespace: Symbol::EMPTY, ..identity };
        let is_beside = self.is_present(identity);
        let is_above = self.is_present(above);
        let found = match (is_beside, is_above) {
            (true, _) => identity,
            (false, true) => above,
            (false, false) => self.likely_owner(beside),
        };
        Some(self.draft.node_of(found))
    }

    /// Returns where an owner that is not there would be.
    fn likely_owner(&mut self, beside: ReferenceTarget<'_>) -> ObjectIdentity {
        let namespace = if has_no_namespace(beside.group, beside.kind) { "" } else { beside.namespace };
        self.identity(ReferenceTarget { namespace, ..beside })
    }

    /// Objects with the same uid are ordered by name, because ranks are not known while a graph is built.
    fn order_of(&self, id: Id) -> (String, String, String) {
        let node = self.graph.node(id);
        node.map(|node| (node.namespace.to_string(), node.kind.to_string(), node.name.to_string()))
            .unwrap_or_default()
    }
}
