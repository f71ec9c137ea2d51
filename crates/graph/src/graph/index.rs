//! The identity of objects, and the indexes by name, kind and uid.

use std::cmp::Ordering;
use std::collections::HashMap;

use kubewright_k8s::{GroupVersionKind, PodTemplatePath, is_cluster_scoped};
use kubewright_value::{Map, Text, Value};

use super::taints::Taints;
use super::{EdgeDependency, Graph};
use crate::derive::{PodTemplateView, is_foreign, pod_template_location};
use crate::ids::{insert_id, under, withdraw};
use crate::names::{NameTable, Symbol, SymbolMap};
use crate::node::{ObjectIdentity, api_group_of, usual_version};
use crate::{Id, NamedObject, Sort};
use kubewright_value::CompactSort as _;

/// What identifies an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectHeader {
    pub(super) identity: ObjectIdentity,
    pub(super) kind: KindNumber,
}

/// What a node says of its object beside what identifies it.
#[derive(Debug)]
pub(super) struct ObjectDetails {
    pub(super) api_version: Text,
    pub(super) uid: Text,
    pub(super) shape: Option<PodTemplatePath>,
    pub(super) labels: Labels,
    /// Whether it names an owner.
    pub(super) is_owned: bool,
    pub(super) taints: Taints,
}

/// An object that is given to the graph with many others.
struct GivenObject {
    header: ObjectHeader,
    /// Its place among all that are given.
    number: u32,
    object: NamedObject,
}

/// The labels by which selectors know an object, sorted by key.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels {
    /// Those of Pods: its own if it is one, otherwise those of the Pods it makes.
    pub(super) pods: Box<[(Symbol, Symbol)]>,
    /// Its own, if objects of its kind are selected by them.
    pub(super) own: Box<[(Symbol, Symbol)]>,
}

impl Labels {
    /// Returns the labels by which selectors of a class know the object.
    pub(super) fn of_class(&self, class: Symbol) -> &[(Symbol, Symbol)] {
        if class == Symbol::EMPTY { &self.pods } else { &self.own }
    }
}

/// Returns the value of a label.
pub(super) fn interned_label_value(labels: &[(Symbol, Symbol)], key: Symbol) -> Option<Symbol> {
    let place = labels.binary_search_by_key(&key, |(key, _)| *key).ok()?;
    labels.get(place).map(|(_, value)| *value)
}

/// Reads labels; values that are not strings are left out.
fn symbols(labels: Option<&Map>, names: &mut NameTable) -> Box<[(Symbol, Symbol)]> {
    let mut symbols: Vec<(Symbol, Symbol)> = Vec::with_capacity(labels.map_or(0, Map::len));
    for (key, value) in labels.into_iter().flat_map(Map::iter) {
        if let Value::String(value) = value {
            symbols.push((names.intern_text(key), names.intern_text(value)));
        }
    }
    symbols.sort_unstable();
    symbols.into_boxed_slice()
}

impl ObjectHeader {
    pub(super) fn of(named: &NamedObject, graph: &mut Graph) -> Self {
        let object = named.object();
        let group = graph.names.intern(api_group_of(named.api_version()));
        let kind =
            non_empty_text(object.get("kind")).map_or(Symbol::EMPTY, |kind| graph.names.intern_text(&kind));
        let number = graph.kind_number(group, kind);
        let has_namespace = graph.kind_facts(number).is_none_or(|facts| !facts.has_no_namespace);
        let mut symbol =
            |text: Option<&Text>| text.map_or(Symbol::EMPTY, |text| graph.names.intern_text(text));
        let namespace = symbol(named.identifier("namespace").filter(|_| has_namespace));
        let name = symbol(named.identifier("name").or_else(|| named.identifier("generateName")));
        let identity = ObjectIdentity { group, kind, namespace, name, uid: Symbol::EMPTY };
        Self { identity, kind: number }
    }
}

impl ObjectDetails {
    pub(super) fn of(named: &NamedObject, header: &ObjectHeader, graph: &mut Graph) -> Self {
        let ObjectIdentity { group, kind, .. } = header.identity;
        let object = named.object();
        let metadata = object.get("metadata").and_then(Value::as_object);
        let own = metadata.and_then(|metadata| metadata.get("labels")?.as_object());
        let owners = metadata.and_then(|metadata| metadata.get("ownerReferences")?.as_array());
        let is_selected = graph.kind_facts(header.kind).is_some_and(|facts| facts.is_selected);
        let shape = pod_template_location(object);
        let pods = match shape {
            Some(PodTemplatePath::Pod) => own,
            Some(shape) => PodTemplateView::of(object, shape).labels,
            None => None,
        };
        let labels = Labels {
            pods: symbols(pods, &mut graph.names),
            own: symbols(own.filter(|_| is_selected), &mut graph.names),
        };
        let taints = match (shape, group == Symbol::EMPTY && graph.names.text(kind) == "Node") {
            (Some(shape), _) => Taints::tolerated(PodTemplateView::of(object, shape).spec, &mut graph.names),
            (None, true) => Taints::of_node(object, &mut graph.names),
            (None, false) => Taints::None,
        };
        Self {
            taints,
            shape,
            labels,
            is_owned: owners.is_some_and(|owners| !owners.is_empty()),
            api_version: non_empty_text(object.get("apiVersion")).unwrap_or_default(),
            uid: named.identifier("uid").cloned().unwrap_or_default(),
        }
    }
}

/// Returns a text that is not empty.
fn non_empty_text(value: Option<&Value>) -> Option<Text> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        _ => None,
    }
}

/// Returns whether objects of this kind surely have no namespace.
pub(crate) fn has_no_namespace(group: &str, kind: &str) -> bool {
    is_cluster_scoped(&GroupVersionKind { group: group.into(), version: Text::default(), kind: kind.into() })
}

impl Graph {
    /// Gives every object its node, in canonical order. Of each node the place of its object among `objects` is returned.
    pub(super) fn place_all(
        &mut self,
        objects: impl IntoIterator<Item = impl Into<NamedObject>>,
    ) -> Vec<(Id, u32)> {
        let objects = objects.into_iter();
        self.names.reserve(objects.size_hint().0);
        let mut given: Vec<GivenObject> = Vec::with_capacity(objects.size_hint().0);
        for (object, number) in objects.zip(0..) {
            let object: NamedObject = object.into();
            given.push(GivenObject { header: ObjectHeader::of(&object, self), number, object });
        }
        self.put_in_canonical_order(&mut given);
        given.dedup_by(|later, kept| {
            let is_same = later.header.identity == kept.header.identity;
            // An object that was given twice has the later place.
            if is_same
                && (later.preference(kept).is_gt() || later.object.object().is_same(kept.object.object()))
            {
                std::mem::swap(later, kept);
            }
            is_same
        });
        let chosen = without_twins(given);
        self.slots.reserve(chosen.len() + chosen.len() / 4);
        self.ranks.reserve(chosen.len() + chosen.len() / 4);
        self.identities.reserve(chosen.len() + chosen.len() / 4);
        let node = |GivenObject { header, number, object }| (self.node_with_object(header, object), number);
        chosen.into_iter().map(node).collect()
    }

    /// Sorts by namespace and kind as numbers first: there are few of them, and many names.
    fn put_in_canonical_order(&self, objects: &mut [GivenObject]) {
        let places = |symbol: fn(&ObjectIdentity) -> Symbol| {
            let mut all: Vec<Symbol> = objects.iter().map(|given| symbol(&given.header.identity)).collect();
            all.sort_unstable();
            all.dedup();
            all.compact_sort_by(|a, b| self.names.text(*a).cmp(self.names.text(*b)));
            all.into_iter().zip(0_u64..).collect::<SymbolMap<Symbol, u64>>()
        };
        let (namespaces, kinds) = (places(|identity| identity.namespace), places(|identity| identity.kind));
        let place =
            |places: &SymbolMap<Symbol, u64>, symbol: Symbol| places.get(&symbol).copied().unwrap_or(0);
        objects.compact_sort_by_cached_key(|given| {
            let ObjectIdentity { namespace, kind, name, group, .. } = given.header.identity;
            let first = (place(&namespaces, namespace) << 32) | place(&kinds, kind);
            let name = self.names.text(name);
            (first, beginning(name), name, self.names.text(group))
        });
    }

    /// Compares in canonical order.
    pub(super) fn canonical(&self, a: &ObjectIdentity, b: &ObjectIdentity) -> Ordering {
        let text = |a: Symbol, b: Symbol| match a == b {
            true => Ordering::Equal,
            false => self.names.text(a).cmp(self.names.text(b)),
        };
        text(a.namespace, b.namespace)
            .then_with(|| text(a.kind, b.kind))
            .then_with(|| text(a.name, b.name))
            .then_with(|| text(a.group, b.group))
            .then_with(|| text(a.uid, b.uid))
    }

    /// Returns another node that holds the same object, read from another group.
    pub(super) fn twin(&self, header: &ObjectHeader, uid: &str) -> Option<Id> {
        let uid = self.names.find(uid).filter(|uid| *uid != Symbol::EMPTY)?;
        under(&self.uids, &uid).iter().copied().find(|id| {
            self.slots.get(id.index()).is_some_and(|slot| are_twins(&slot.identity, &header.identity))
        })
    }

    /// Adds the object of `id` to everything that finds objects.
    pub(super) fn index(&mut self, id: Id) {
        let Some(facts) = self.facts(id) else { return };
        let rank = self.is_settled.then(|| self.rank(id));
        let ranks = &self.ranks;
        let kinds = self.kinds.entry(facts.identity.kind).or_default();
        let is_before = |other: &Id, rank| ranks.get(other.index()).is_some_and(|other| *other < rank);
        let place = rank.map_or(kinds.len(), |rank| kinds.partition_point(|other| is_before(other, rank)));
        kinds.insert(place, id);
        if facts.uid != Symbol::EMPTY {
            insert_id(&mut self.uids, facts.uid, id);
            self.with_uid += 1;
        }
        if facts.is_widget {
            insert_id(&mut self.widgets, facts.identity.name, id);
        }
        for defined in facts.defines.into_iter().flatten() {
            insert_id(&mut self.definitions, defined, id);
        }
        if facts.taints != Taints::None {
            insert_id(&mut self.tainted, facts.taints, id);
        }
        if facts.identity.namespace != Symbol::EMPTY {
            let count = self.population.entry(facts.identity.namespace).or_default();
            *count += 1;
            if *count == 1 {
                let namespace = self.namespace_identity(facts.identity.namespace);
                self.node_of(namespace);
            }
        }
    }

    /// Takes the object of `id` out of everything that finds objects.
    pub(super) fn unindex(&mut self, id: Id) {
        let Some(facts) = self.facts(id) else { return };
        let rank = self.rank(id);
        if let Some(kinds) = self.kinds.get_mut(&facts.identity.kind) {
            let ranks = &self.ranks;
            let place =
                kinds.partition_point(|other| ranks.get(other.index()).is_some_and(|other| *other < rank));
            if kinds.get(place) == Some(&id) {
                kinds.remove(place);
            }
            if kinds.is_empty() {
                self.kinds.remove(&facts.identity.kind);
            }
        }
        if facts.uid != Symbol::EMPTY {
            withdraw(&mut self.uids, &facts.uid, id);
            self.with_uid -= 1;
        }
        if facts.is_widget {
            withdraw(&mut self.widgets, &facts.identity.name, id);
        }
        for defined in facts.defines.into_iter().flatten() {
            withdraw(&mut self.definitions, &defined, id);
        }
        withdraw(&mut self.tainted, &facts.taints, id);
        let namespace = facts.identity.namespace;
        if let Some(count) = self.population.get_mut(&namespace) {
            *count -= 1;
            if *count == 0 {
                self.population.remove(&namespace);
                let namespace = self.namespace_identity(namespace);
                let node = self.identities.get(&namespace).copied();
                node.into_iter().for_each(|node| self.collect(node));
            }
        }
    }

    /// Adds what others may have asked that the object of `id` answers.
    pub(super) fn questions_about(&mut self, id: Id, questions: &mut Vec<EdgeDependency>) {
        let Some(facts) = self.facts(id) else { return };
        questions.push(EdgeDependency::Name(facts.identity));
        if facts.uid != Symbol::EMPTY {
            questions.push(EdgeDependency::Uid(facts.uid));
            if self.with_uid <= 1 {
                questions.push(EdgeDependency::AnyUid);
            }
        }
        if facts.is_widget {
            questions.push(EdgeDependency::Widget(facts.identity.name));
        }
        if facts.defines.is_some() {
            questions.push(EdgeDependency::Definitions);
        }
    }

    /// Returns the identity of the Namespace called `name`.
    pub(crate) fn namespace_identity(&mut self, name: Symbol) -> ObjectIdentity {
        let kind = self.names.intern("Namespace");
        ObjectIdentity { group: Symbol::EMPTY, kind, namespace: Symbol::EMPTY, name, uid: Symbol::EMPTY }
    }

    /// Returns the node with that identity, if there is one.
    pub(crate) fn node_with(&self, identity: &ObjectIdentity) -> Option<Id> {
        self.identities.get(identity).copied()
    }

    /// Returns the objects with that uid.
    pub(crate) fn with_uid(&self, uid: Symbol) -> &[Id] {
        under(&self.uids, &uid)
    }

    /// Returns whether any object has a uid.
    pub(crate) fn has_uids(&self) -> bool {
        self.with_uid > 0
    }

    /// Returns the widgets of that name.
    pub(crate) fn widgets(&self, name: Symbol) -> &[Id] {
        under(&self.widgets, &name)
    }

    /// Returns the definitions of a kind, which is given as it is or as its plural.
    pub(crate) fn definitions_of(&self, group: &str, kind: &str) -> &[Id] {
        let key = self.names.find(group).zip(self.names.find(kind));
        key.map_or(&[], |key| under(&self.definitions, &key))
    }

    /// Returns the number of a kind, a new one if no object has had it.
    pub(super) fn kind_number(&mut self, group: Symbol, kind: Symbol) -> KindNumber {
        if let Some(known) = self.kind_numbers.get(&(group, kind)) {
            return *known;
        }
        let (group_text, kind_text) = (self.names.shared(group), self.names.shared(kind));
        let classes = self.references.classes(&group_text, &kind_text);
        let is_namespace = group == Symbol::EMPTY && kind_text == "Namespace";
        let mut declared = self.references.of_kind(&group_text, &kind_text);
        let is_described = declared.any(|reference| reference.from.kind != "*");
        let facts = KindFacts {
            has_no_namespace: has_no_namespace(&group_text, &kind_text),
            is_widget: is_widget_group(&group_text),
            is_guessed: is_foreign(&group_text) && !is_widget_group(&group_text) && !is_described,
            refers: self.references.of_kind(&group_text, &kind_text).next().is_some(),
            is_selected: is_namespace || !classes.is_empty(),
            classes: classes.iter().map(|class| self.names.intern(class)).collect(),
            usual_version: Text::from(usual_version(&group_text, &kind_text)),
            without_object: Sort::without_object(&group_text, &kind_text),
        };
        let number = KindNumber(u32::try_from(self.kind_facts.len()).unwrap_or(u32::MAX));
        self.kind_facts.push(facts);
        self.kind_numbers.insert((group, kind), number);
        number
    }

    /// Returns what is known about a kind.
    pub(crate) fn kind_facts(&self, number: KindNumber) -> Option<&KindFacts> {
        self.kind_facts.get(number.place())
    }

    fn facts(&mut self, id: Id) -> Option<UnreadKindFacts> {
        let slot = self.slots.get(id.index()).filter(|slot| slot.node.sort == Sort::Object)?;
        let (identity, taints) = (slot.identity, slot.taints);
        let is_widget = self.kind_facts.get(slot.kind.place()).is_some_and(|facts| facts.is_widget);
        let spec =
            (slot.node.kind == "CustomResourceDefinition").then(|| slot.node.object.as_ref()?.get("spec"));
        let defined = spec.flatten().and_then(|spec| {
            let names = spec.get("names")?;
            let plural = names.str_at(&["plural"]);
            Some((spec.get("group")?.as_str()?, names.get("kind")?.as_str()?, plural))
        });
        let defines = defined.map(|(group, kind, plural)| {
            let group = self.names.intern(group);
            [(group, self.names.intern(kind)), (group, self.names.intern(plural))]
        });
        let uid = self.names.intern_text(&slot.node.uid);
        Some(UnreadKindFacts { identity, uid, is_widget, defines, taints })
    }
}

/// The number of a kind in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KindNumber(u32);

impl KindNumber {
    /// Returns its place among the kinds of the graph.
    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

/// Facts that hold for all objects of a kind.
#[derive(Debug, Clone)]
pub(crate) struct KindFacts {
    pub(crate) has_no_namespace: bool,
    pub(crate) is_widget: bool,
    /// Whether its references have to be guessed.
    pub(crate) is_guessed: bool,
    /// Whether references from it are declared.
    pub(crate) refers: bool,
    /// Whether selectors know its objects by their own labels, Pods aside.
    pub(crate) is_selected: bool,
    /// By which classes selectors know its objects, Pods aside.
    pub(crate) classes: Vec<Symbol>,
    pub(crate) usual_version: Text,
    pub(crate) without_object: Sort,
}

/// Under which names an object is found.
struct UnreadKindFacts {
    identity: ObjectIdentity,
    uid: Symbol,
    is_widget: bool,
    taints: Taints,
    /// Group and kind, group and plural.
    defines: Option<[(Symbol, Symbol); 2]>,
}

/// Returns whether references among objects of this group name a plural.
pub(crate) fn is_widget_group(group: &str) -> bool {
    group == "krateo.io" || group.ends_with(".krateo.io")
}

/// Returns whether both are the same object if their uids are equal.
fn are_twins(a: &ObjectIdentity, b: &ObjectIdentity) -> bool {
    (a.kind, a.namespace, a.name) == (b.kind, b.namespace, b.name) && a.group != b.group
}

/// Leaves out all but the preferred of each object that was read from several groups. Such objects are adjacent.
fn without_twins(objects: Vec<GivenObject>) -> Vec<GivenObject> {
    let is_pair = |pair: &[GivenObject]| match pair {
        [one, other] => are_twins(&one.header.identity, &other.header.identity),
        _ => false,
    };
    // Most sets have none, and are large.
    if !objects.windows(2).any(is_pair) {
        return objects;
    }
    let mut kept: Vec<GivenObject> = Vec::with_capacity(objects.len());
    // Positions in `kept` of objects of this kind and name, by uid.
    let mut alike: HashMap<Text, usize> = HashMap::new();
    for object in objects {
        let last = kept.last().filter(|last| are_twins(&last.header.identity, &object.header.identity));
        match last {
            None => alike.clear(),
            // Most objects are single and need no list.
            Some(last) if alike.is_empty() => {
                alike.insert(last.uid(), kept.len() - 1);
            }
            Some(_) => {}
        }
        let (is_alone, uid) = (last.is_none(), object.uid());
        let known = alike.get(&uid).and_then(|place| kept.get_mut(*place));
        match known.filter(|_| !uid.is_empty()) {
            Some(twin) if twin.preference(&object).is_ge() => {}
            Some(twin) => *twin = object,
            None => {
                if !is_alone {
                    alike.insert(uid, kept.len());
                }
                kept.push(object);
            }
        }
    }
    kept
}

impl GivenObject {
    fn uid(&self) -> Text {
        self.object.identifier("uid").cloned().unwrap_or_default()
    }

    /// Compares two readings of one object: which is to be kept.
    fn preference(&self, other: &Self) -> Ordering {
        let stability = |api_version: &str| {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            let is_stable = !version.contains("alpha") && !version.contains("beta");
            (api_group_of(api_version) != "extensions", is_stable, !version.contains("alpha"))
        };
        let (own, others) = (self.object.api_version(), other.object.api_version());
        stability(own)
            .cmp(&stability(others))
            .then_with(|| own.cmp(others))
            .then_with(|| self.object.object().cmp(other.object.object()))
    }
}

/// Returns the first eight bytes, in the order of texts.
fn beginning(text: &str) -> u64 {
    let bytes = text.bytes().chain(std::iter::repeat(0)).take(8);
    bytes.fold(0, |number, byte| (number << 8) | u64::from(byte))
}
