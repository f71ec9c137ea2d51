//! What one object contributes to the graph: one file for each family of kinds.
//!
//! Everything here is a function of the object and of the questions it asks the graph ([`Question`]).

mod access;
mod cluster;
mod declared;
mod network;
mod owner;
mod pod;
mod scheduling;
mod storage;
mod volume;
mod widget;

use kubewright_value::{Map, Text, Value};

use crate::graph::{DerivedWire as Wire, Graph, Only, Question, REVERSED, Scope, Selection};
use crate::names::Symbol;
use crate::node::{Identity, group_of};
use crate::selector::Selector;
use crate::{EdgeType, Id, Strength};

/// What an object contributes.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    pub(crate) wires: Vec<Wire>,
    pub(crate) links: Vec<Wanted>,
    pub(crate) questions: Vec<Question>,
}

/// A selection that an object makes.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) selection: Selection,
    pub(crate) kind: EdgeType,
    pub(crate) strength: Strength,
    pub(crate) via: Symbol,
}

/// Returns what the object of `id` contributes.
pub(crate) fn derive(graph: &mut Graph, id: Id) -> Derived {
    let Some((node, object)) = graph.node(id).and_then(|node| Some((node, node.object.clone()?))) else {
        return Derived::default();
    };
    let (group, kind) = (Text::new(node.group()), node.kind.clone());
    let (namespace, name) = (node.namespace.clone(), node.name.clone());
    let mut deriving = Deriving { graph, id, group, kind, namespace, name, derived: Derived::default() };
    deriving.all(&object);
    deriving.derived
}

/// An object whose contribution is being found.
struct Deriving<'g> {
    graph: &'g mut Graph,
    id: Id,
    group: Text,
    kind: Text,
    namespace: Text,
    name: Text,
    derived: Derived,
}

/// An object that is named.
#[derive(Debug, Clone, Copy)]
struct Target<'o> {
    group: &'o str,
    kind: &'o str,
    namespace: &'o str,
    name: &'o str,
}

/// Where an object says what Pods are like.
pub(crate) struct Template<'o> {
    /// The path of the Pod's `spec`.
    pub(crate) path: &'static str,
    pub(crate) spec: &'o Value,
    pub(crate) labels: Option<&'o Map>,
}

/// Returns what `object` says about Pods: as a Pod, or with the template of one.
pub(crate) fn template(object: &Value) -> Option<Template<'_>> {
    const TEMPLATES: [(&str, &[&str]); 3] = [
        ("spec.template.spec", &["spec", "template"]),
        ("spec.jobTemplate.spec.template.spec", &["spec", "jobTemplate", "spec", "template"]),
        ("template.spec", &["template"]),
    ];
    let is_pod = object.get("kind").and_then(Value::as_str) == Some("Pod")
        && object.get("apiVersion").and_then(Value::as_str).is_none_or(|version| !version.contains('/'));
    let (path, holder) = match is_pod {
        true => ("spec", object),
        false => TEMPLATES.iter().find_map(|(path, keys)| {
            let holder = object.at(keys).filter(|holder| holder.as_object().is_some())?;
            let has_containers = holder.at(&["spec", "containers"]).and_then(Value::as_array).is_some();
            (has_containers || is_workload(object)).then_some((*path, holder))
        })?,
    };
    let labels = holder.at(&["metadata", "labels"]).and_then(Value::as_object);
    Some(Template { path, spec: holder.get("spec").unwrap_or(&Value::Null), labels })
}

/// Returns whether `object` is of a kind of Kubernetes that makes Pods, whatever it says about them.
fn is_workload(object: &Value) -> bool {
    let group = group_of(text(object, &["apiVersion"]));
    match text(object, &["kind"]) {
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => group == "apps",
        "Job" | "CronJob" => group == "batch",
        "ReplicationController" => group.is_empty(),
        _ => false,
    }
}

impl Deriving<'_> {
    fn all(&mut self, object: &Value) {
        self.owners(object);
        if let Some(template) = template(object) {
            self.pod(&template);
            self.scheduling(&template);
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
        self.fallbacks(object);
        self.application(object);
        self.widget(object);
        self.declared(object);
    }

    /// The kinds of the core group that are no Pods.
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

    /// Adds an edge to what is named; to nothing if the name is empty.
    fn refer(&mut self, kind: EdgeType, target: Target<'_>, via: &str, strength: Strength) {
        if !target.name.is_empty() {
            let identity = self.identity(target);
            let to = self.graph.node_of(identity);
            self.wire(self.id, to, kind, via, strength, 0);
        }
    }

    /// Adds an edge to what is named, if it is in the set.
    fn refer_if_present(&mut self, kind: EdgeType, target: Target<'_>, via: &str, strength: Strength) {
        let identity = self.identity(target);
        if self.is_present(identity) {
            let to = self.graph.node_of(identity);
            self.wire(self.id, to, kind, via, strength, 0);
        }
    }

    /// Adds an edge from what is named to this object.
    fn referred_by(&mut self, kind: EdgeType, target: Target<'_>, via: &str, strength: Strength) {
        let identity = self.identity(target);
        let from = self.graph.node_of(identity);
        self.wire(from, self.id, kind, via, strength, REVERSED);
    }

    fn wire(&mut self, from: Id, to: Id, kind: EdgeType, via: &str, strength: Strength, flags: u8) {
        let via = self.graph.names.intern(via);
        self.derived.wires.push(Wire { from, to, kind, via, strength, flags });
    }

    /// Adds edges to all Pods and templates of this namespace that `selector` selects.
    fn select(&mut self, kind: EdgeType, selector: Selector, via: &str, strength: Strength) {
        let scope = Scope::Namespace(self.own_namespace());
        self.select_in(
            kind,
            Selection { class: Symbol::EMPTY, only: Only::All, scope, selector },
            via,
            strength,
        );
    }

    fn select_in(&mut self, kind: EdgeType, selection: Selection, via: &str, strength: Strength) {
        let via = self.graph.names.intern(via);
        self.derived.links.push(Wanted { selection, kind, strength, via });
    }

    /// Asks whether an object is in the set.
    fn is_present(&mut self, identity: Identity) -> bool {
        self.derived.questions.push(Question::Name(identity));
        let id = self.graph.node_with(&identity);
        id.is_some_and(|id| self.graph.is_object(id))
    }

    fn identity(&mut self, target: Target<'_>) -> Identity {
        let names = &mut self.graph.names;
        Identity {
            group: names.intern(target.group),
            kind: names.intern(target.kind),
            namespace: names.intern(target.namespace),
            name: names.intern(target.name),
            uid: Symbol::EMPTY,
        }
    }

    fn own_namespace(&mut self) -> Symbol {
        self.graph.names.intern(&self.namespace)
    }
}

/// Returns an object of the core group in `namespace`.
fn core<'o>(kind: &'o str, namespace: &'o str, name: &'o str) -> Target<'o> {
    Target { group: "", kind, namespace, name }
}

/// Returns the text at the end of `keys`; empty if there is none.
fn text<'o>(value: &'o Value, keys: &[&str]) -> &'o str {
    value.at(keys).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the first that is not empty.
fn or<'o>(text: &'o str, otherwise: &'o str) -> &'o str {
    if text.is_empty() { otherwise } else { text }
}

/// Returns the items at the end of `keys`, each with its place.
fn items<'o>(value: &'o Value, keys: &[&str]) -> impl Iterator<Item = (usize, &'o Value)> + use<'o> {
    value.at(keys).and_then(Value::as_array).unwrap_or_default().iter().enumerate()
}

/// Returns the group that a reference names: in `group`, `apiGroup` or `apiVersion`.
fn named_group(reference: &Value) -> Option<&str> {
    let group = reference.get("group").or_else(|| reference.get("apiGroup")).and_then(Value::as_str);
    group.or_else(|| reference.get("apiVersion").and_then(Value::as_str).map(group_of))
}

/// Returns how much a reference with a field `optional` is needed.
fn strength_of(reference: &Value) -> Strength {
    match reference.get("optional").and_then(Value::as_bool) {
        Some(true) => Strength::Optional,
        _ => Strength::Required,
    }
}
