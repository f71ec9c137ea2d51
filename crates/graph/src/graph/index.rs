//! What an object is called, and under which names it is found.

use std::cmp::Ordering;

use kubewright_engine::{GroupVersionKind, is_cluster_scoped};
use kubewright_value::{Text, Value};

use super::{Graph, Question};
use crate::names::{Names, Symbol, SymbolMap};
use crate::node::{Identity, group_of};
use crate::{Id, Sort};

/// What an object says about itself.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) identity: Identity,
    pub(super) api_version: Text,
    pub(super) uid: Text,
}

impl Header {
    pub(super) fn of(object: &Value, names: &mut Names) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(Text::new).unwrap_or_default();
        let metadata = |key: &str| text(object.at(&["metadata", key]));
        let (api_version, kind) = (text(object.get("apiVersion")), text(object.get("kind")));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let namespace = match has_no_namespace(group, version, &kind) {
            true => Text::default(),
            false => metadata("namespace"),
        };
        let name = Some(metadata("name")).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| metadata("generateName"));
        let identity = Identity {
            group: names.intern(group),
            kind: names.intern(&kind),
            namespace: names.intern(&namespace),
            name: names.intern(&name),
            uid: Symbol::EMPTY,
        };
        Self { identity, api_version, uid: metadata("uid") }
    }
}

/// Returns whether objects of this kind surely have no namespace.
pub(crate) fn has_no_namespace(group: &str, version: &str, kind: &str) -> bool {
    is_cluster_scoped(&GroupVersionKind { group: group.into(), version: version.into(), kind: kind.into() })
}

impl Graph {
    /// Gives every object its node, in canonical order.
    pub(super) fn place_all(&mut self, objects: impl IntoIterator<Item = Value>) -> Vec<Id> {
        let mut chosen: SymbolMap<Identity, (Header, Value)> = SymbolMap::default();
        for object in objects {
            let header = Header::of(&object, &mut self.names);
            match chosen.get(&header.identity) {
                Some(rival) if preference((&rival.0, &rival.1), (&header, &object)).is_ge() => {}
                _ => {
                    chosen.insert(header.identity, (header, object));
                }
            }
        }
        let mut chosen: Vec<(Header, Value)> = chosen.into_values().collect();
        chosen.sort_by(|a, b| self.canonical(&a.0.identity, &b.0.identity));
        let chosen = without_twins(chosen);
        let ids = chosen.into_iter().map(|(header, object)| {
            let id = self.node_of(header.identity);
            self.fill(id, header, object);
            id
        });
        ids.collect()
    }

    /// Compares in canonical order.
    pub(super) fn canonical(&self, a: &Identity, b: &Identity) -> Ordering {
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
    pub(super) fn twin(&self, header: &Header) -> Option<Id> {
        let uid = self.names.find(&header.uid).filter(|uid| *uid != Symbol::EMPTY)?;
        let same = self.uids.get(&uid)?;
        same.iter().copied().find(|id| {
            self.slots.get(id.index()).is_some_and(|slot| are_twins(&slot.identity, &header.identity))
        })
    }

    /// Adds the object of `id` to everything that finds objects.
    pub(super) fn index(&mut self, id: Id) {
        let Some(facts) = self.facts(id) else { return };
        let rank = self.is_settled.then(|| self.rank(id));
        let ranks = |other: Id, slots: &[super::Slot]| slots.get(other.index()).map_or(0, |slot| slot.rank);
        let kinds = self.kinds.entry(facts.identity.kind).or_default();
        let place =
            rank.map_or(kinds.len(), |rank| kinds.partition_point(|other| ranks(*other, &self.slots) < rank));
        kinds.insert(place, id);
        if facts.uid != Symbol::EMPTY {
            insert(self.uids.entry(facts.uid).or_default(), id);
            self.with_uid += 1;
        }
        if facts.is_widget {
            insert(self.widgets.entry(facts.identity.name).or_default(), id);
        }
        for defined in facts.defines.into_iter().flatten() {
            insert(self.definitions.entry(defined).or_default(), id);
        }
        if facts.identity.namespace != Symbol::EMPTY {
            *self.population.entry(facts.identity.namespace).or_default() += 1;
            let namespace = self.namespace_identity(facts.identity.namespace);
            self.node_of(namespace);
        }
        self.show(id);
    }

    /// Takes the object of `id` out of everything that finds objects.
    pub(super) fn unindex(&mut self, id: Id) {
        let Some(facts) = self.facts(id) else { return };
        let rank = self.rank(id);
        if let Some(kinds) = self.kinds.get_mut(&facts.identity.kind) {
            let slots = &self.slots;
            let place =
                kinds.partition_point(|other| slots.get(other.index()).is_some_and(|slot| slot.rank < rank));
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
        self.hide(id);
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
    pub(super) fn questions_about(&mut self, id: Id, questions: &mut Vec<Question>) {
        let Some(facts) = self.facts(id) else { return };
        questions.push(Question::Name(facts.identity));
        if facts.uid != Symbol::EMPTY {
            questions.push(Question::Uid(facts.uid));
            if self.with_uid <= 1 {
                questions.push(Question::AnyUid);
            }
        }
        if facts.is_widget {
            questions.push(Question::Widget(facts.identity.name));
        }
        if facts.defines.is_some() {
            questions.push(Question::Definitions);
        }
    }

    /// Returns the identity of the Namespace called `name`.
    pub(crate) fn namespace_identity(&mut self, name: Symbol) -> Identity {
        let kind = self.names.intern("Namespace");
        Identity { group: Symbol::EMPTY, kind, namespace: Symbol::EMPTY, name, uid: Symbol::EMPTY }
    }

    /// Returns the node with that identity, if there is one.
    pub(crate) fn node_with(&self, identity: &Identity) -> Option<Id> {
        self.identities.get(identity).copied()
    }

    /// Returns the objects with that uid.
    pub(crate) fn with_uid(&self, uid: Symbol) -> &[Id] {
        self.uids.get(&uid).map_or(&[], Vec::as_slice)
    }

    /// Returns whether any object has a uid.
    pub(crate) fn has_uids(&self) -> bool {
        self.with_uid > 0
    }

    /// Returns the widgets of that name.
    pub(crate) fn widgets(&self, name: Symbol) -> &[Id] {
        self.widgets.get(&name).map_or(&[], Vec::as_slice)
    }

    /// Returns the definitions of a kind, which is given as it is or as its plural.
    pub(crate) fn definitions_of(&self, group: &str, kind: &str) -> &[Id] {
        let key = self.names.find(group).zip(self.names.find(kind));
        key.and_then(|key| self.definitions.get(&key)).map_or(&[], Vec::as_slice)
    }

    fn facts(&mut self, id: Id) -> Option<Facts> {
        let slot = self.slots.get(id.index()).filter(|slot| slot.node.sort == Sort::Object)?;
        let identity = slot.identity;
        let is_widget = is_widget_group(self.names.text(identity.group));
        let spec =
            (slot.node.kind == "CustomResourceDefinition").then(|| slot.node.object.as_ref()?.get("spec"));
        let defined = spec.flatten().and_then(|spec| {
            let names = spec.get("names")?;
            let plural = names.get("plural").and_then(Value::as_str).unwrap_or_default();
            Some((spec.get("group")?.as_str()?, names.get("kind")?.as_str()?, plural))
        });
        let defines = defined.map(|(group, kind, plural)| {
            let group = self.names.intern(group);
            [(group, self.names.intern(kind)), (group, self.names.intern(plural))]
        });
        let uid = self.names.intern(&slot.node.uid);
        Some(Facts { identity, uid, is_widget, defines })
    }
}

/// Under which names an object is found.
struct Facts {
    identity: Identity,
    uid: Symbol,
    is_widget: bool,
    /// Group and kind, group and plural.
    defines: Option<[(Symbol, Symbol); 2]>,
}

/// Returns whether references among objects of this group name a plural.
pub(crate) fn is_widget_group(group: &str) -> bool {
    group == "krateo.io" || group.ends_with(".krateo.io")
}

/// Returns whether both are the same object if their uids are equal.
fn are_twins(a: &Identity, b: &Identity) -> bool {
    (a.kind, a.namespace, a.name) == (b.kind, b.namespace, b.name) && a.group != b.group
}

/// Leaves out all but the preferred of each object that was read from several groups. They stand side by side.
fn without_twins(objects: Vec<(Header, Value)>) -> Vec<(Header, Value)> {
    let mut kept: Vec<(Header, Value)> = Vec::with_capacity(objects.len());
    for (header, object) in objects {
        // As many as there are groups with this kind.
        let alike = kept.iter().rposition(|(other, _)| !are_twins(&other.identity, &header.identity));
        let start = alike.map_or(0, |at| at + 1);
        let twin =
            kept.iter_mut().skip(start).find(|(other, _)| other.uid == header.uid && !header.uid.is_empty());
        match twin {
            Some(twin) if preference((&twin.0, &twin.1), (&header, &object)).is_ge() => {}
            Some(twin) => *twin = (header, object),
            None => kept.push((header, object)),
        }
    }
    kept
}

/// Compares two readings of one object: which is to be kept.
fn preference(a: (&Header, &Value), b: (&Header, &Value)) -> Ordering {
    let stability = |header: &Header| {
        let group = group_of(&header.api_version);
        let version = header.api_version.rsplit('/').next().unwrap_or_default();
        let is_stable = !version.contains("alpha") && !version.contains("beta");
        (group != "extensions", is_stable, !version.contains("alpha"))
    };
    stability(a.0)
        .cmp(&stability(b.0))
        .then_with(|| a.0.api_version.cmp(&b.0.api_version))
        .then_with(|| a.1.cmp(b.1))
}

/// Puts `id` into a list that ascends in numbers, unless it is there.
pub(super) fn insert(list: &mut Vec<Id>, id: Id) {
    match list.last() {
        Some(last) if *last >= id => {
            if let Err(place) = list.binary_search(&id) {
                list.insert(place, id);
            }
        }
        _ => list.push(id),
    }
}

/// Takes `id` out of the list under `key`, and the list away if that was all.
pub(super) fn withdraw<K: Eq + std::hash::Hash>(lists: &mut SymbolMap<K, Vec<Id>>, key: &K, id: Id) {
    let Some(list) = lists.get_mut(key) else { return };
    if let Ok(place) = list.binary_search(&id) {
        list.remove(place);
    }
    if list.is_empty() {
        lists.remove(key);
    }
}
