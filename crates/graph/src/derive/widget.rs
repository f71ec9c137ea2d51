//! REFERENCES_KRATEO and MANAGES_KRATEO: widgets that name each other by the plural of the kind.

use kubewright_k8s::{kind_of_resource, resource_name};
use kubewright_value::{Text, Value};

use super::{Deriving, ReferenceTarget, items_at, or, text_at};
use crate::graph::{EdgeDependency, REVERSED, is_widget_group};
use crate::node::api_group_of;
use crate::{EdgeType, Id, Strength};

/// Labels by which a Markdown names what manages it; the first one counts.
pub(super) const MANAGED_BY: [&str; 3] = ["managed-by", "krateo.io/managed-by", "krateo.io/portal"];

impl Deriving<'_, '_> {
    pub(super) fn widget(&mut self, object: &Value) {
        let is_listed = self.derives(EdgeType::REFERENCES_KRATEO);
        for (at, item) in items_at(object, &["spec", "resourcesRefs", "items"]).filter(|_| is_listed) {
            let (name, plural) = (text_at(item, &["name"]), text_at(item, &["resource"]));
            if !name.is_empty() && !plural.is_empty() {
                self.listed(item, name, plural, &format!("spec.resourcesRefs.items[{at}]"));
            }
        }
        if self.kind == "Markdown" && self.derives(EdgeType::MANAGES_KRATEO) {
            self.managed_widget(object);
        }
    }

    fn listed(&mut self, item: &Value, name: &str, plural: &str, via: &str) {
        self.draft.ask(EdgeDependency::Definitions);
        let own = self.namespace.clone();
        let namespace = or(text_at(item, &["namespace"]), &own);
        let group = item.get("apiVersion").and_then(Value::as_str).map(api_group_of);
        let kind = EdgeType::REFERENCES_KRATEO;
        if let Some(group) = group.filter(|group| !is_widget_group(group)) {
            let known = self.defined_kind(group, plural);
            let target_kind = known.or_else(|| kind_of_resource(plural).map(Text::new));
            let target =
                ReferenceTarget { group, kind: target_kind.as_deref().unwrap_or(plural), namespace, name };
            return self.refer(kind, target, via, Strength::Required);
        }
        let found = self.widgets_called(name, |graph_node| {
            graph_node.namespace == namespace && group.is_none_or(|group| graph_node.group() == group)
        });
        let found: Vec<Id> = found.into_iter().filter(|id| self.has_plural(*id, plural)).collect();
        for id in &found {
            self.wire(self.id, *id, kind, via, Strength::Required, 0);
        }
        if found.is_empty() {
            // The kind is a guess, unless a CustomResourceDefinition names it.
            let group = group.unwrap_or("krateo.io");
            let known = self.defined_kind(group, plural);
            let target = ReferenceTarget { group, kind: known.as_deref().unwrap_or(plural), namespace, name };
            self.refer(kind, target, via, Strength::Required);
        }
    }

    /// A Markdown that names a Table, or else a Paragraph, wherever it is.
    fn managed_widget(&mut self, object: &Value) {
        let Some(labels) = object.at(&["metadata", "labels"]) else { return };
        let Some(label) = MANAGED_BY.iter().find(|label| labels.get(label).is_some()) else { return };
        let name = text_at(labels, &[label]);
        for kind in ["Table", "Paragraph"] {
            let managers = self.widgets_called(name, |node| node.kind == kind);
            for id in &managers {
                let via = format!("metadata.labels['{label}']");
                self.wire(*id, self.id, EdgeType::MANAGES_KRATEO, &via, Strength::Implicit, REVERSED);
            }
            if !managers.is_empty() {
                return;
            }
        }
    }

    fn widgets_called(&mut self, name: &str, is_meant: impl Fn(&crate::GraphNode) -> bool) -> Vec<Id> {
        let name = self.draft.intern(name);
        self.draft.ask(EdgeDependency::Widget(name));
        let ids = self.graph.widgets(name).iter().copied();
        ids.filter(|id| self.graph.node(*id).is_some_and(&is_meant)).collect()
    }

    /// Returns whether `plural` is the plural of the object's kind: as its definition says, otherwise as plurals are formed.
    fn has_plural(&self, id: Id, plural: &str) -> bool {
        let Some(node) = self.graph.node(id) else { return false };
        let definitions = self.graph.definitions_of(node.group(), &node.kind);
        if !definitions.is_empty() {
            return definitions.iter().any(|id| self.definition(*id).1 == plural);
        }
        let singular = node.kind.to_lowercase();
        plural == singular && singular.ends_with('s')
            || plural.strip_suffix('s') == Some(&singular)
            || plural == resource_name(&node.kind)
    }

    /// Returns the kind with that plural, if a CustomResourceDefinition names it.
    fn defined_kind(&self, group: &str, plural: &str) -> Option<Text> {
        let kinds = self.graph.definitions_of(group, plural).iter();
        kinds.map(|id| Text::new(self.definition(*id).0)).min()
    }

    /// Returns the kind and the plural that a definition is about.
    fn definition(&self, id: Id) -> (&str, &str) {
        let object = self.graph.node(id).and_then(|node| node.object.as_ref());
        let names = object.and_then(|object| object.at(&["spec", "names"])).unwrap_or(&Value::Null);
        (text_at(names, &["kind"]), text_at(names, &["plural"]))
    }
}
