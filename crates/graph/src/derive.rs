//! The edges that one object contributes to the graph: one file for each family of kinds.
//!
//! Everything here is a function of the object and of the questions it asks the graph ([`EdgeDependency`]).

mod access;
mod cluster;
mod declared;
mod draft;
mod fields;
mod guessed;
mod network;
mod owner;
mod pod;
mod scheduling;
mod storage;
mod volume;
mod widget;

use kubewright_k8s::{PodTemplatePath, WorkloadKind};
use kubewright_value::{Map, Text, Value};

use crate::graph::{
    DerivedWire as Wire, EdgeDependency, Graph, KindNumber, Only, REVERSED, Selection, SelectionScope,
};
use crate::names::{FieldPath, Symbol};
use crate::node::{ObjectIdentity, api_group_of};
use crate::selector::GraphSelector;
use crate::{EdgeType, Id, Strength};
pub(crate) use draft::{Drafted, EdgeDraft};
pub(crate) use fields::{edge_fields, identity_fields};
pub(crate) use guessed::{MAX_GUESS_DEPTH, MAX_GUESSED_FIELDS, is_foreign};

/// The contributions of an object: edges, selections, and dependencies on other objects.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    pub(crate) wires: Vec<Wire>,
    pub(crate) links: Vec<WantedSelection>,
    pub(crate) questions: Vec<EdgeDependency>,
}

/// A selection that an object makes.
#[derive(Debug)]
pub(crate) struct WantedSelection {
    pub(crate) selection: Selection,
    pub(crate) kind: EdgeType,
    pub(crate) strength: Strength,
    pub(crate) via: Symbol,
}

/// Adds what the object of `id` contributes to `draft`.
pub(crate) fn derive_edges(draft: &mut EdgeDraft<'_>, id: Id) {
    let Some((object, shape, identity, kind_number)) = draft.graph.deriving(id) else { return };
    let graph = draft.graph;
    let [group, kind, namespace, name] = [identity.group, identity.kind, identity.namespace, identity.name]
        .map(|name| graph.names.shared(name));
    let here = identity.namespace;
    Deriving { graph, draft, id, group, kind, kind_number, namespace, here, name }.all(object, shape);
    draft.end(id);
}

/// The derivation of one object.
struct Deriving<'d, 'g> {
    graph: &'g Graph,
    draft: &'d mut EdgeDraft<'g>,
    id: Id,
    group: Text,
    kind: Text,
    kind_number: KindNumber,
    namespace: Text,
    // The symbol of `namespace`.
    here: Symbol,
    name: Text,
}

/// An object that a reference names.
#[derive(Debug, Clone, Copy)]
struct ReferenceTarget<'o> {
    group: &'o str,
    kind: &'o str,
    namespace: &'o str,
    name: &'o str,
}

/// The Pod template of an object.
pub(crate) struct PodTemplateView<'o> {
    /// The path of the Pod's `spec`.
    pub(crate) path: &'static str,
    pub(crate) spec: &'o Value,
    pub(crate) labels: Option<&'o Map>,
}

/// Returns where `object` has a Pod template; a Pod is its own.
pub(crate) fn pod_template_location(object: &Value) -> Option<PodTemplatePath> {
    let is_pod = object.get("kind").and_then(Value::as_str) == Some("Pod")
        && object.get("apiVersion").and_then(Value::as_str).is_none_or(|version| !version.contains('/'));
    if is_pod {
        return Some(PodTemplatePath::Pod);
    }
    let makes_pods = |holder: &Value| {
        holder.at(&["spec", "containers"]).is_some_and(|containers| containers.as_array().is_some())
    };
    let mut shapes =
        [PodTemplatePath::Template, PodTemplatePath::JobTemplate, PodTemplatePath::Bare].into_iter();
    let found = shapes.clone().find(|shape| shape.template(object).is_some_and(makes_pods));
    let is_template =
        |shape: &PodTemplatePath| shape.template(object).is_some_and(|holder| holder.as_object().is_some());
    found.or_else(|| shapes.find(is_template).filter(|_| is_built_in_workload(object)))
}

/// Returns whether `object` is of a built-in kind that makes Pods.
fn is_built_in_workload(object: &Value) -> bool {
    let group = api_group_of(text_at(object, &["apiVersion"]));
    WorkloadKind::named(text_at(object, &["kind"])).is_some_and(|workload| workload.group() == group)
}

impl<'o> PodTemplateView<'o> {
    /// Returns the Pod template of `object`.
    pub(crate) fn of(object: &'o Value, shape: PodTemplatePath) -> Self {
        let holder = shape.template(object).unwrap_or(&Value::Null);
        let labels = holder.at(&["metadata", "labels"]).and_then(Value::as_object);
        Self { path: shape.spec_path(), spec: holder.get("spec").unwrap_or(&Value::Null), labels }
    }
}

impl Deriving<'_, '_> {
    fn all(&mut self, object: &Value, shape: Option<PodTemplatePath>) {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        self.owners(metadata);
        if let Some(shape) = shape {
            let template = PodTemplateView::of(object, shape);
            self.pod(&template);
        }
        match self.group.clone().as_str() {
            "" => self.core(object),
            "apps" | "batch" | "argoproj.io" => self.workload(object),
            "networking.k8s.io" | "extensions" | "gateway.networking.k8s.io" | "discovery.k8s.io" => {
                self.network(object);
            }
            "policy" => self.disruption_budget(object),
            "autoscaling" => self.autoscaler(object),
            "rbac.authorization.k8s.io" => self.access(object),
            "storage.k8s.io" | "snapshot.storage.k8s.io" => self.storage(object),
            "admissionregistration.k8s.io" | "apiregistration.k8s.io" | "apiextensions.k8s.io" => {
                self.webhooks(object);
            }
            "events.k8s.io" => self.event(object),
            _ => {}
        }
        if shape != Some(PodTemplatePath::Pod) {
            self.fallbacks(object);
        }
        self.application(metadata);
        let Some(facts) = self.graph.kind_facts(self.kind_number) else { return };
        if facts.is_widget {
            self.widget(object);
        }
        if facts.refers {
            self.declared(object);
        }
        if facts.is_guessed {
            self.guessed(object);
        }
    }

    /// The kinds of the core group other than Pod.
    fn core(&mut self, object: &Value) {
        match self.kind.as_str() {
            "Service" | "Endpoints" => self.network(object),
            "ServiceAccount" | "Secret" => self.access(object),
            "PersistentVolume" | "PersistentVolumeClaim" => self.storage(object),
            "ResourceQuota" | "LimitRange" => self.limits(),
            "Event" => self.event(object),
            _ => {}
        }
    }

    /// Adds an edge to the target, unless its name is empty.
    fn refer<'f>(
        &mut self,
        kind: EdgeType,
        target: ReferenceTarget<'_>,
        via: impl Into<FieldPath<'f>>,
        strength: Strength,
    ) {
        if !target.name.is_empty() && self.derives(kind) {
            let identity = self.identity(target);
            let to = self.draft.node_of(identity);
            self.wire(self.id, to, kind, via, strength, 0);
        }
    }

    /// Adds an edge to the target, if that is in the input.
    fn refer_if_present<'f>(
        &mut self,
        kind: EdgeType,
        target: ReferenceTarget<'_>,
        via: impl Into<FieldPath<'f>>,
        strength: Strength,
    ) {
        if !self.derives(kind) {
            return;
        }
        let identity = self.identity(target);
        if self.is_present(identity) {
            let to = self.draft.node_of(identity);
            self.wire(self.id, to, kind, via, strength, 0);
        }
    }

    /// Adds an edge from the target to this object.
    fn referred_by(&mut self, kind: EdgeType, target: ReferenceTarget<'_>, via: &str, strength: Strength) {
        if !self.derives(kind) {
            return;
        }
        let identity = self.identity(target);
        let from = self.draft.node_of(identity);
        self.wire(from, self.id, kind, via, strength, REVERSED);
    }

    fn wire<'f>(
        &mut self,
        from: Id,
        to: Id,
        kind: EdgeType,
        via: impl Into<FieldPath<'f>>,
        strength: Strength,
        flags: u8,
    ) {
        let via = self.draft.field(via.into());
        self.draft.wires.push(Wire { from, to, kind, via, strength, flags });
    }

    /// Adds edges to all Pods and templates of this namespace that `selector` selects.
    fn select(&mut self, kind: EdgeType, selector: GraphSelector, via: &str, strength: Strength) {
        let scope = SelectionScope::Namespace(self.here);
        self.select_in(
            kind,
            Selection { class: Symbol::EMPTY, only: Only::All, scope, selector },
            via,
            strength,
        );
    }

    fn select_in<'f>(
        &mut self,
        kind: EdgeType,
        selection: Selection,
        via: impl Into<FieldPath<'f>>,
        strength: Strength,
    ) {
        if !self.derives(kind) {
            return;
        }
        let via = self.draft.field(via.into());
        self.draft.links.push(WantedSelection { selection, kind, strength, via });
    }

    /// Returns whether the graph has edges of this type.
    fn derives(&self, kind: EdgeType) -> bool {
        self.graph.has_edges_of(kind)
    }

    /// Returns whether an object is in the input, and records the dependency on it.
    fn is_present(&mut self, identity: ObjectIdentity) -> bool {
        self.draft.ask(EdgeDependency::Name(identity));
        let id = self.graph.node_with(&identity);
        id.is_some_and(|id| self.graph.is_object(id))
    }

    fn identity(&mut self, target: ReferenceTarget<'_>) -> ObjectIdentity {
        let is_here = target.namespace == self.namespace;
        ObjectIdentity {
            group: self.draft.intern(target.group),
            kind: self.draft.intern(target.kind),
            namespace: if is_here { self.here } else { self.draft.intern(target.namespace) },
            name: self.draft.intern(target.name),
            uid: Symbol::EMPTY,
        }
    }
}

/// Returns an object of the core group in `namespace`.
fn core<'o>(kind: &'o str, namespace: &'o str, name: &'o str) -> ReferenceTarget<'o> {
    ReferenceTarget { group: "", kind, namespace, name }
}

/// Returns the text at the end of `keys`; empty if there is none.
fn text_at<'o>(value: &'o Value, keys: &[&str]) -> &'o str {
    value.str_at(keys)
}

/// Returns the first that is not empty.
fn or<'o>(text: &'o str, otherwise: &'o str) -> &'o str {
    if text.is_empty() { otherwise } else { text }
}

/// Returns the items at the end of `keys`, each with its place.
fn items_at<'o>(value: &'o Value, keys: &[&str]) -> impl Iterator<Item = (usize, &'o Value)> + use<'o> {
    value.at(keys).and_then(Value::as_array).unwrap_or_default().iter().enumerate()
}

/// Returns the group that a reference names: in `group`, `apiGroup` or `apiVersion`.
fn named_group(reference: &Value) -> Option<&str> {
    let group = reference.get("group").or_else(|| reference.get("apiGroup")).and_then(Value::as_str);
    group.or_else(|| reference.get("apiVersion").and_then(Value::as_str).map(api_group_of))
}

/// Returns how much a reference with a field `optional` is needed.
fn strength_of(reference: &Value) -> Strength {
    match reference.get("optional").and_then(Value::as_bool) {
        Some(true) => Strength::Optional,
        _ => Strength::Required,
    }
}
