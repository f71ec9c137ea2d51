//! HAS_AFFINITY_TO and HAS_ANTI_AFFINITY_TO: what attracts Pods and what repels them.

use kubewright_k8s::LabelOperator;
use kubewright_value::{Map, Value};

use super::{Deriving, PodTemplateView, items_at, text_at};
use crate::graph::{Only, Selection, SelectionScope};
use crate::names::{FieldPath, NO_PLACE, Symbol};
use crate::selector::GraphSelector;
use crate::{EdgeType, Strength};

const REQUIRED_TERMS_FIELD: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED_TERMS_FIELD: &str = "preferredDuringSchedulingIgnoredDuringExecution";

impl Deriving<'_, '_> {
    pub(super) fn affinity(&mut self, template: &PodTemplateView<'_>, affinity: &Value) {
        let path = template.path;
        for (field, kind) in
            [("podAffinity", EdgeType::HAS_AFFINITY_TO), ("podAntiAffinity", EdgeType::HAS_ANTI_AFFINITY_TO)]
        {
            let Some(affinity) = affinity.get(field) else { continue };
            for (at, term) in items_at(affinity, &[REQUIRED_TERMS_FIELD]) {
                let via =
                    [(path, NO_PLACE), ("affinity", NO_PLACE), (field, NO_PLACE), (REQUIRED_TERMS_FIELD, at)];
                self.term(kind, term, template.labels, via.into(), Strength::Required);
            }
            for (at, term) in items_at(affinity, &[PREFERRED_TERMS_FIELD]) {
                let via = [
                    (path, NO_PLACE),
                    ("affinity", NO_PLACE),
                    (field, NO_PLACE),
                    (PREFERRED_TERMS_FIELD, at),
                ];
                let Some(term) = term.get("podAffinityTerm") else { continue };
                self.term(kind, term, template.labels, via.into(), Strength::Preferred);
            }
        }
    }

    /// One term of an affinity to Pods.
    fn term(
        &mut self,
        kind: EdgeType,
        term: &Value,
        own: Option<&Map>,
        via: FieldPath<'_>,
        strength: Strength,
    ) {
        let Some(mut selector) = term.get("labelSelector").and_then(GraphSelector::of_labels) else { return };
        for (field, operator) in
            [("matchLabelKeys", LabelOperator::In), ("mismatchLabelKeys", LabelOperator::NotIn)]
        {
            for (_, key) in items_at(term, &[field]) {
                let value = key.as_str().and_then(|key| Some((key, own?.get(key)?.as_str()?)));
                if let Some((key, value)) = value {
                    selector = selector.and(key, operator, value);
                }
            }
        }
        for scope in self.scopes(term) {
            let selection =
                Selection { class: Symbol::EMPTY, only: Only::Pods, scope, selector: selector.clone() };
            self.select_in(kind, selection, via, strength);
        }
    }

    /// Returns the namespaces that a term is about: those it names and those it selects, otherwise its own.
    fn scopes(&mut self, term: &Value) -> Vec<SelectionScope> {
        let named: Vec<&str> =
            items_at(term, &["namespaces"]).filter_map(|(_, name)| name.as_str()).collect();
        let mut scopes: Vec<SelectionScope> =
            named.iter().map(|name| SelectionScope::Namespace(self.draft.intern(name))).collect();
        match term.get("namespaceSelector").filter(|selector| !selector.is_null()) {
            Some(selector) => {
                let selector = GraphSelector::of_labels(selector);
                scopes.extend(selector.into_iter().flat_map(|selector| self.scopes_of(selector)));
            }
            None if scopes.is_empty() => scopes.push(SelectionScope::Namespace(self.here)),
            None => {}
        }
        scopes
    }

    /// The Nodes that a Pod may run on, if it says anything about them.
    pub(super) fn nodes(&mut self, spec: &Value, path: &'static str) {
        let labels = spec.get("nodeSelector").and_then(Value::as_object);
        let affinity = spec.at(&["affinity", "nodeAffinity", REQUIRED_TERMS_FIELD]);
        let terms = affinity.and_then(|affinity| affinity.get("nodeSelectorTerms")?.as_array());
        let Some(selector) = GraphSelector::of_nodes(labels, terms) else { return };
        let via = match terms {
            Some(_) => {
                [(path, NO_PLACE), ("affinity.nodeAffinity", NO_PLACE), (REQUIRED_TERMS_FIELD, NO_PLACE)]
            }
            None => [(path, NO_PLACE), ("nodeSelector", NO_PLACE), ("", NO_PLACE)],
        };
        let class = self.draft.intern("Node.");
        let scope = SelectionScope::Namespace(Symbol::EMPTY);
        let selection = Selection { class, only: Only::All, scope, selector };
        self.select_in(EdgeType::HAS_AFFINITY_TO, selection, via, Strength::Required);
    }

    /// PodDisruptionBudgets: a missing selector selects nothing, an empty one everything.
    pub(super) fn disruption_budget(&mut self, object: &Value) {
        if self.kind != "PodDisruptionBudget" {
            return;
        }
        if let Some(selector) = object.at(&["spec", "selector"]).and_then(GraphSelector::of_labels) {
            self.select(EdgeType::PROTECTS, selector, "spec.selector", Strength::Required);
        }
    }

    /// Autoscalers of Kubernetes.
    pub(super) fn autoscaler(&mut self, object: &Value) {
        if let Some(target) = object.at(&["spec", "scaleTargetRef"]) {
            let namespace = self.namespace.clone();
            let target = super::ReferenceTarget {
                group: crate::node::api_group_of(text_at(target, &["apiVersion"])),
                kind: text_at(target, &["kind"]),
                namespace: &namespace,
                name: text_at(target, &["name"]),
            };
            self.refer(EdgeType::SCALES, target, "spec.scaleTargetRef", Strength::Required);
        }
    }
}

/// The label that every namespace has.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

impl Deriving<'_, '_> {
    /// Returns the namespaces that a selector selects: an empty one selects all, one by name those that it names.
    pub(super) fn scopes_of(&mut self, selector: GraphSelector) -> Vec<SelectionScope> {
        match selector.all.as_slice() {
            [] if selector.any.is_empty() => vec![SelectionScope::Everywhere],
            [only] if only.key == NAMESPACE_NAME_LABEL && only.is_in() => {
                let names = only.values.iter().filter(|name| !name.is_empty());
                names.map(|name| SelectionScope::Namespace(self.draft.intern(name))).collect()
            }
            _ => vec![SelectionScope::Matching(selector)],
        }
    }
}
