//! References that were declared: by us for kinds of other projects, and by users for their own.

use kubewright_value::{Text, Value};

use super::{Deriving, ReferenceTarget, items_at, named_group, or, text_at};
use crate::EdgeType;
use crate::graph::{Only, Selection, SelectionScope, has_no_namespace};
use crate::names::Symbol;
use crate::references::{DeclaredReference, KindName, Whereabouts, class_of};
use crate::selector::GraphSelector;

/// How many places one declared reference may have in one object.
const MAX_REFERENCE_PLACES: usize = 10_000;

impl Deriving<'_, '_> {
    pub(super) fn declared(&mut self, object: &Value) {
        let references = self.graph.references.clone();
        for reference in references.of_kind(&self.group.clone(), &self.kind.clone()) {
            let Some(edge_type) = references.edge_type(&reference.edge_type) else { continue };
            let mut places: Vec<(&Value, String)> = Vec::new();
            reference.path.visit(object, &mut |value, place| {
                if places.len() < MAX_REFERENCE_PLACES {
                    places.push((value, place.to_owned()));
                }
            });
            for (value, via) in places {
                match reference.is_selector {
                    true => self.declared_selector(reference, edge_type, object, value, &via),
                    false => self.declared_name(reference, edge_type, value, &via),
                }
            }
        }
    }

    /// A value that names an object: as text, or with `name` and perhaps `kind`, `namespace` and a group.
    fn declared_name(&mut self, reference: &DeclaredReference, kind: EdgeType, value: &Value, via: &str) {
        let name = value.as_str().unwrap_or_else(|| text_at(value, &["name"]));
        let said = (value.get("kind").and_then(Value::as_str), named_group(value));
        let Some(target) = reference.to.iter().find(|target| is_reference_to(target, said)) else { return };
        let group: Text = match (&target.group, said.1) {
            (Some(group), _) => group.clone(),
            (None, Some(group)) => group.into(),
            (None, None) if CORE_KINDS.contains(&target.kind.as_str()) => Text::default(),
            (None, None) => self.group.clone(),
        };
        let own = match reference.namespace {
            Whereabouts::None => Text::default(),
            Whereabouts::Usual if is_usually_global(&group, &target.kind) => Text::default(),
            _ => self.namespace.clone(),
        };
        let namespace = or(text_at(value, &["namespace"]), &own);
        let target = ReferenceTarget { group: &group, kind: &target.kind, namespace, name };
        self.refer(kind, target, via, reference.strength);
    }

    fn declared_selector(
        &mut self,
        reference: &DeclaredReference,
        kind: EdgeType,
        object: &Value,
        value: &Value,
        via: &str,
    ) {
        let Some(selector) = GraphSelector::of_either(value) else { return };
        for target in &reference.to {
            let (class, only) = match target.is_pod() {
                true => (Symbol::EMPTY, Only::Pods),
                false => (self.draft.intern(&class_of(target)), Only::All),
            };
            for scope in self.declared_scopes(reference, object) {
                let selection = Selection { class, only, scope, selector: selector.clone() };
                self.select_in(kind, selection, via, reference.strength);
            }
        }
    }

    /// Returns where a selector selects: as the `namespaceSelector` beside it says, otherwise as declared.
    fn declared_scopes(&mut self, reference: &DeclaredReference, object: &Value) -> Vec<SelectionScope> {
        if let Some(selector) =
            object.at(&["spec", "namespaceSelector"]).filter(|selector| !selector.is_null())
        {
            if selector.get("any").and_then(Value::as_bool) == Some(true) {
                return vec![SelectionScope::Everywhere];
            }
            let named: Vec<&str> =
                items_at(selector, &["matchNames"]).filter_map(|(_, name)| name.as_str()).collect();
            if !named.is_empty() {
                return named.iter().map(|name| SelectionScope::Namespace(self.draft.intern(name))).collect();
            }
            let is_selector =
                selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
            if is_selector {
                let selector = GraphSelector::of_labels(selector);
                return selector.map(|selector| self.scopes_of(selector)).unwrap_or_default();
            }
        }
        match reference.namespace {
            Whereabouts::Own | Whereabouts::Usual => vec![SelectionScope::Namespace(self.here)],
            Whereabouts::None => vec![SelectionScope::Namespace(Symbol::EMPTY)],
            Whereabouts::Any => vec![SelectionScope::Everywhere],
        }
    }
}

/// Kinds of the core group that are meant by their names alone.
pub(super) const CORE_KINDS: [&str; 9] = [
    "ConfigMap",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "Secret",
    "Service",
    "ServiceAccount",
];

fn is_usually_global(group: &str, kind: &str) -> bool {
    let is_named_so = kind.strip_prefix("Cluster").is_some_and(|rest| !rest.is_empty());
    is_named_so || has_no_namespace(group, kind)
}

/// Returns whether a reference that says this kind and group, or neither, is about `target`.
fn is_reference_to(target: &KindName, (kind, group): (Option<&str>, Option<&str>)) -> bool {
    kind.is_none_or(|kind| kind == target.kind)
        && group.zip(target.group.as_ref()).is_none_or(|(said, group)| said == group)
}
