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
use crate::{Id, Sort};
use kubewright_value::CompactSort as _;

/// The fields of an object that identify it.
#[derive(Debug, Clone)]
pub(super) struct ObjectHeader {
    pub(super) identity: ObjectIdentity,
    pub(super) kind: KindNumber,
    pub(super) api_version: Text,
    pub(super) uid: Text,
    pub(super) shape: Option<PodTemplatePath>,
    pub(super) labels: Labels,
    /// Whether it names an owner.
    pub(super) is_owned: bool,
    pub(super) taints: Taints,
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
    pub(super) fn of(object: &Value, graph: &mut Graph) -> Self {
        let [mut api_version, mut kind] = [None; 2];
        let mut metadata = None;
        for (key, value) in object.as_object().into_iter().flat_map(Map::iter) {
            match key.as_str() {
                "apiVersion" => api_version = Some(value),
                "kind" => kind = Some(value),
                "metadata" => metadata = value.as_object(),
                _ => {}
            }
        }
        let [mut name, mut namespace, mut uid, mut generated, mut labels] = [None; 5];
        let mut is_owned = false;
        for (key, value) in metadata.into_iter().flat_map(Map::iter) {
            match key.as_str() {
                "name" => name = Some(value),
                "namespace" => namespace = Some(value),
                "uid" => uid = Some(value),
                "generateName" => generated = Some(value),
                "labels" => labels = Some(value),
                "ownerReferences" => is_owned = value.as_array().is_some_and(|owners| !owners.is_empty()),
                _ => {}
            }
        }
        let api_version = non_empty_text(api_version).unwrap_or_default();
        let group = graph.names.intern(api_group_of(&api_version));
        let kind = non_empty_text(kind).map_or(Symbol::EMPTY, |kind| graph.names.intern_text(&kind));
        let number = graph.kind_number(group, kind);
        let has_namespace = graph.kind_facts(number).is_none_or(|facts| !facts.has_no_namespace);
        let mut symbol =
            |text: Option<Text>| text.map_or(Symbol::EMPTY, |text| graph.names.intern_text(&text));
        let namespace = symbol(non_empty_text(namespace).filter(|_| has_namespace));
        let name = symbol(non_empty_text(name).or_else(|| non_empty_text(generated)));
        let identity = ObjectIdentity { group, kind, namespace, name, uid: Symbol::EMPTY };
        let is_selected = graph.kind_facts(number).is_some_and(|facts| facts.is_selected);
        let own = labels.and_then(Value::as_object);
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
            is_owned,
            identity,
            kind: number,
            api_version,
            uid: non_empty_text(uid).unwrap_or_default(),
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
    /// Gives every object its node, in canonical order.
    pub(super) fn place_all(&mut self, objects: impl IntoIterator<Item = Value>) -> Vec<Id> {
        let objects = objects.into_iter();
        self.names.reserve(objects.size_hint().0);
        let given: Vec<(ObjectHeader, Value)> =
            objects.map(|object| (ObjectHeader::of(&object, self), object)).collect();
        let mut chosen = self.in_canonical_order(given);
        chosen.dedup_by(|later, kept| {
            let is_same = later.0.identity == kept.0.identity;
            if is_same && preference((&later.0, &later.1), (&kept.0, &kept.1)).is_gt() {
                std::mem::swap(later, kept);
            }
            is_same
        });
        let chosen = without_twins(chosen);
        self.slots.reserve(chosen.len() + chosen.len() / 4);
        self.ranks.reserve(chosen.len() + chosen.len() / 4);
        self.identities.reserve(chosen.len() + chosen.len() / 4);
        let ids = chosen.into_iter().map(|(header, object)| self.node_with_object(header, object));
        ids.collect()
    }

    /// Sorts by namespace and kind as numbers first: there are few of them, and many names.
    fn in_canonical_order(&self, objects: Vec<(ObjectHeader, Value)>) -> Vec<(ObjectHeader, Value)> {
        let places = |symbol: fn(&ObjectIdentity) -> Symbol| {
            let mut all: Vec<Symbol> = objects.iter().map(|(header, _)| symbol(&header.identity)).collect();
            all.sort_unstable();
            all.dedup();
            all.compact_sort_by(|a, b| self.names.text(*a).cmp(self.names.text(*b)));
            all.into_iter().zip(0_u64..).collect::<SymbolMap<Symbol, u64>>()
        };
        let (namespaces, kinds) = (places(|identity| identity.namespace), places(|identity| identity.kind));
        let place =
            |places: &SymbolMap<Symbol, u64>, symbol: Symbol| places.get(&symbol).copied().unwrap_or(0);
        let key = |header: &ObjectHeader| {
            let ObjectIdentity { namespace, kind, name, .. } = header.identity;
            let first = (place(&namespaces, namespace) << 32) | place(&kinds, kind);
            (first, beginning(self.names.text(name)), header.identity)
        };
        let mut keys: Vec<_> = objects.iter().map(|(header, _)| key(header)).zip(0_usize..).collect();
        keys.compact_sort_by(|(a, _), (b, _)| {
            (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| self.canonical(&a.2, &b.2))
        });
        let mut objects: Vec<Option<(ObjectHeader, Value)>> = objects.into_iter().map(Some).collect();
        keys.iter().filter_map(|(_, at)| objects.get_mut(*at)?.take()).collect()
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
    pub(super) fn twin(&self, header: &ObjectHeader) -> Option<Id> {
        let uid = self.names.find(&header.uid).filter(|uid| *uid != Symbol::EMPTY)?;
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
fn without_twins(objects: Vec<(ObjectHeader, Value)>) -> Vec<(ObjectHeader, Value)> {
    let mut kept: Vec<(ObjectHeader, Value)> = Vec::with_capacity(objects.len());
    // Positions in `kept` of objects of this kind and name, by uid.
    let mut alike: HashMap<Text, usize> = HashMap::new();
    for (header, object) in objects {
        let last = kept.last().filter(|(last, _)| are_twins(&last.identity, &header.identity));
        match last {
            None => alike.clear(),
            // Most objects are single and need no list.
            Some((last, _)) if alike.is_empty() => {
                alike.insert(last.uid.clone(), kept.len() - 1);
            }
            Some(_) => {}
        }
        let is_alone = last.is_none();
        let known = alike.get(&header.uid).and_then(|place| kept.get_mut(*place));
        match known.filter(|_| !header.uid.is_empty()) {
            Some(twin) if preference((&twin.0, &twin.1), (&header, &object)).is_ge() => {}
            Some(twin) => *twin = (header, object),
            None => {
                if !is_alone {
                    alike.insert(header.uid.clone(), kept.len());
                }
                kept.push((header, object));
            }
        }
    }
    kept
}

/// Compares two readings of one object: which is to be kept.
fn preference(a: (&ObjectHeader, &Value), b: (&ObjectHeader, &Value)) -> Ordering {
    let stability = |header: &ObjectHeader| {
        let group = api_group_of(&header.api_version);
        let version = header.api_version.rsplit('/').next().unwrap_or_default();
        let is_stable = !version.contains("alpha") && !version.contains("beta");
        (group != "extensions", is_stable, !version.contains("alpha"))
    };
    stability(a.0)
        .cmp(&stability(b.0))
        .then_with(|| a.0.api_version.cmp(&b.0.api_version))
        .then_with(|| a.1.cmp(b.1))
}

/// Returns the first eight bytes, in the order of texts.
fn beginning(text: &str) -> u64 {
    let bytes = text.bytes().chain(std::iter::repeat(0)).take(8);
    bytes.fold(0, |number, byte| (number << 8) | u64::from(byte))
}
