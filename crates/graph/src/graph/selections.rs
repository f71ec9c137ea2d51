//! The objects that label selectors select.
//!
//! Equal selectors share one group: 50,000 Pods with anti-affinity to each other are one group with 50,000 sources and as
//! many members, not all pairs. The members of a new group are searched among the objects with its rarest label, the groups
//! of a new object among those that are anchored at one of its labels. Objects are indexed by a label only in namespaces
//! where a selector uses its key.

use std::collections::HashMap;
use std::sync::Arc;

use super::Graph;
use super::index::interned_label_value;
use crate::derive::WantedSelection;
use crate::ids::{Ids, insert_id, under, withdraw};
use crate::names::{Symbol, SymbolMap};
use crate::selector::{GraphSelector, InternedSelector, SelectorRequirement};
use crate::{EdgeType, Id, Sort, Strength};
use kubewright_k8s::PodTemplatePath;

/// A selector with the kinds and namespaces it applies to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Selection {
    /// The class of objects: empty for Pods and workloads, otherwise `Kind.group` or `Kind`.
    pub(crate) class: Symbol,
    pub(crate) only: Only,
    pub(crate) scope: SelectionScope,
    pub(crate) selector: GraphSelector,
}

/// Which objects of the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Only {
    /// All of them.
    All,
    /// Pods, not what makes Pods.
    Pods,
    /// Those that name no owner.
    Ownerless,
    /// Pods that name no owner.
    OwnerlessPods,
}

/// In which namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum SelectionScope {
    /// In one; empty for objects that have none.
    Namespace(Symbol),
    /// In all.
    Everywhere,
    /// In those whose labels match.
    Matching(GraphSelector),
}

/// A class, a namespace or any, and a label; empty key and value for all objects of the class.
type LabelIndex = (Symbol, Symbol, Symbol, Symbol);
/// A class, a namespace or any, and the key of a label; empty for all objects of the class.
type LabelKeyIndex = (Symbol, Symbol, Symbol);

/// All selections, and the labels by which they are found.
#[derive(Debug, Clone, Default)]
pub(super) struct Selections {
    groups: Vec<SelectionGroup>,
    free: Vec<u32>,
    known: HashMap<Arc<Selection>, u32>,
    // Which objects have a label whose key is in `keys`; and which are in a namespace.
    labelled: SymbolMap<LabelIndex, Ids>,
    // The label keys that selectors use or have used.
    keys: SymbolMap<LabelKeyIndex, ()>,
    // Which groups require a label; those that require none at the place of all objects.
    anchored: SymbolMap<LabelIndex, Vec<u32>>,
    // The groups whose namespaces depend on labels.
    matching: Vec<u32>,
    // How many groups have no members only because it would take too long to find them.
    pub(super) left_out: usize,
}

#[derive(Debug, Clone)]
pub(super) struct SelectionGroup {
    selection: Arc<Selection>,
    rules: Arc<InternedSelector>,
    // Which namespaces, where they depend on labels.
    scope: Arc<InternedSelector>,
    anchors: Vec<LabelIndex>,
    // INVARIANT: once settled, ascending in rank.
    pub(super) members: Vec<Id>,
    // INVARIANT: once settled, by type, rank, field.
    pub(super) sources: Vec<SelectionSource>,
}

/// An object that selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SelectionSource {
    pub(super) id: Id,
    pub(super) via: Symbol,
    pub(super) kind: EdgeType,
    pub(super) strength: Strength,
}

/// A group, seen from who selects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SelectionLink {
    pub(super) kind: EdgeType,
    pub(super) via: Symbol,
    pub(super) group: u32,
    pub(super) strength: Strength,
}

/// How many conditions of one selector are looked at for the label by which its objects are found.
const MAX_ANCHORS: usize = 8;

/// How many objects are compared with selectors at most, and how many more for each object of the graph.
const MAX_SELECTOR_TESTS: usize = 4_000_000;
const SELECTOR_TESTS_PER_OBJECT: usize = 500;

/// How many conditions of one selector are as much work as looking at an object.
const REQUIREMENTS_PER_TEST: usize = 4;

/// The label that every namespace has.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

impl Selection {
    /// Returns the conditions of which a selected object has a label.
    fn required(&self) -> impl Iterator<Item = &SelectorRequirement> {
        let all = self.selector.all.iter().filter(|one| one.is_in());
        all.filter(|one| !one.key.starts_with('@'))
    }
}

impl SelectionScope {
    /// Returns the namespace, if it is one.
    fn namespace(&self) -> Symbol {
        match self {
            Self::Namespace(namespace) => *namespace,
            Self::Everywhere | Self::Matching(_) => Symbol::ANY,
        }
    }
}

impl Selections {
    /// Gives back memory that lists have for more than they hold.
    pub(super) fn shrink(&mut self) {
        for group in &mut self.groups {
            group.members.shrink_to_fit();
            group.sources.shrink_to_fit();
        }
        self.groups.shrink_to_fit();
        self.known.shrink_to_fit();
        self.labelled.shrink_to_fit();
        self.anchored.shrink_to_fit();
    }

    pub(super) fn group(&self, number: u32) -> Option<&SelectionGroup> {
        self.groups.get(number as usize)
    }

    fn group_mut(&mut self, number: u32) -> Option<&mut SelectionGroup> {
        self.groups.get_mut(number as usize)
    }

    fn count_at(&self, place: &LabelIndex) -> usize {
        under(&self.labelled, place).len()
    }
}

impl Graph {
    /// Makes the selections of `id` those that are wanted.
    pub(super) fn relink(&mut self, id: Id, wanted: Vec<WantedSelection>) {
        let mut links = Vec::with_capacity(wanted.len());
        for WantedSelection { selection, kind, strength, via } in wanted {
            links.push(SelectionLink { group: self.group_for(selection), kind, strength, via });
        }
        links.sort_unstable();
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        if slot.links == links {
            return;
        }
        let before = std::mem::replace(&mut slot.links, links.clone());
        for link in links.iter().filter(|link| !before.contains(link)) {
            self.record_link(id, link);
        }
        for link in before.iter().filter(|link| !links.contains(link)) {
            self.record_link(id, link);
        }
        for link in &links {
            self.add_source(id, link);
        }
        for link in &before {
            self.remove_source(id, link);
        }
    }

    /// Makes the selections of many objects at once those that are wanted.
    pub(super) fn relink_all(&mut self, wanted: Vec<(Id, WantedSelection)>) {
        let mut links: Vec<(Id, SelectionLink)> = Vec::with_capacity(wanted.len());
        for (id, WantedSelection { selection, kind, strength, via }) in wanted {
            let group = match self.selections.known.get(&selection) {
                Some(known) => *known,
                None => {
                    self.note_keys(&selection);
                    self.new_group(selection)
                }
            };
            links.push((id, SelectionLink { group, kind, strength, via }));
        }
        for id in (0..self.slots.len()).filter_map(|at| u32::try_from(at).ok()).map(Id) {
            self.show(id);
        }
        for number in self.affordable() {
            self.fill_group(number);
        }
        for (id, link) in links {
            if let Some(slot) = self.slots.get_mut(id.index()) {
                slot.links.push(link);
            }
            if let Some(group) = self.selections.group_mut(link.group) {
                group.sources.push(SelectionSource {
                    id,
                    via: link.via,
                    kind: link.kind,
                    strength: link.strength,
                });
            }
        }
        self.slots.iter_mut().for_each(|slot| slot.links.sort_unstable());
        let (ranks, names) = (&self.ranks, &self.names);
        let rank = |id: Id| ranks.get(id.index()).copied().unwrap_or(0);
        for group in &mut self.selections.groups {
            group.sources.sort_by(|a, b| {
                let order = a.kind.cmp(&b.kind).then_with(|| rank(a.id).cmp(&rank(b.id)));
                order.then_with(|| names.text(a.via).cmp(names.text(b.via)))
            });
        }
    }

    /// Makes the object of `id` findable by its labels.
    pub(super) fn show(&mut self, id: Id) {
        for place in self.places(id) {
            insert_id(&mut self.selections.labelled, place, id);
        }
    }

    /// Takes back what [`Graph::show`] did.
    pub(super) fn hide(&mut self, id: Id) {
        for place in self.places(id) {
            withdraw(&mut self.selections.labelled, &place, id);
        }
    }

    /// Finds anew by which groups the object of `id` is selected, and whom it makes selected if it is a Namespace.
    pub(super) fn reselect(&mut self, id: Id) {
        self.reselect_one(id);
        let Some(slot) = self.slots.get(id.index()) else { return };
        if slot.node.kind != "Namespace" || slot.identity.group != Symbol::EMPTY {
            return;
        }
        let namespace = slot.identity.name;
        let mut classes: Vec<Symbol> = Vec::new();
        for number in &self.selections.matching {
            classes.extend(self.selections.group(*number).map(|group| group.selection.class));
        }
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            let place = (class, namespace, Symbol::EMPTY, Symbol::EMPTY);
            for member in under(&self.selections.labelled, &place).to_vec() {
                self.reselect_one(member);
            }
        }
    }

    fn reselect_one(&mut self, id: Id) {
        let places = if self.is_object(id) { self.places(id) } else { Vec::new() };
        let mut found: Vec<u32> = Vec::new();
        for place in &places {
            for number in self.selections.anchored.get(place).into_iter().flatten() {
                let group = self.selections.group(*number);
                if group.is_some_and(|group| self.is_selected(group, id)) {
                    found.push(*number);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        let before = std::mem::replace(&mut slot.selected_by, found.clone());
        let rank = self.rank(id);
        for number in before.iter().chain(&found) {
            if before.binary_search(number).is_err() || found.binary_search(number).is_err() {
                self.record_member(id, *number);
            }
        }
        for number in before.iter().filter(|number| found.binary_search(number).is_err()) {
            let ranks = &self.ranks;
            let rank_of = |id: &Id| ranks.get(id.index()).copied().unwrap_or(0);
            if let Some(group) = self.selections.group_mut(*number) {
                let place = group.members.partition_point(|other| rank_of(other) < rank);
                if group.members.get(place) == Some(&id) {
                    group.members.remove(place);
                }
            }
        }
        for number in found.iter().filter(|number| before.binary_search(number).is_err()) {
            let ranks = &self.ranks;
            let rank_of = |id: &Id| ranks.get(id.index()).copied().unwrap_or(0);
            if let Some(group) = self.selections.group_mut(*number) {
                let place = group.members.partition_point(|other| rank_of(other) < rank);
                group.members.insert(place, id);
            }
        }
    }

    /// Returns the group of `selection`; creates it with its members if it is new.
    fn group_for(&mut self, selection: Selection) -> u32 {
        if let Some(known) = self.selections.known.get(&selection) {
            return *known;
        }
        for key in self.note_keys(&selection) {
            self.show_by(key);
        }
        let number = self.new_group(selection);
        self.fill_group(number);
        number
    }

    /// Returns a new group without members.
    fn new_group(&mut self, selection: Selection) -> u32 {
        let number = match self.selections.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.selections.groups.len()).unwrap_or(u32::MAX),
        };
        if matches!(selection.scope, SelectionScope::Matching(_)) {
            self.selections.matching.push(number);
        }
        let rules = Arc::new(InternedSelector::of(&selection.selector, &mut self.names));
        let scope = match &selection.scope {
            SelectionScope::Matching(selector) => Arc::new(InternedSelector::of(selector, &mut self.names)),
            _ => Arc::default(),
        };
        let selection = Arc::new(selection);
        self.selections.known.insert(Arc::clone(&selection), number);
        let (anchors, members, sources) = (Vec::new(), Vec::new(), Vec::new());
        let group = SelectionGroup { selection, rules, scope, anchors, members, sources };
        match self.selections.group_mut(number) {
            Some(free) => *free = group,
            None => self.selections.groups.push(group),
        }
        number
    }

    /// Finds whom a new group selects, and where new members are noticed.
    fn fill_group(&mut self, number: u32) {
        let Some(selection) = self.selections.group(number).map(|group| Arc::clone(&group.selection)) else {
            return;
        };
        let anchors = self.anchors(&selection);
        let members = self.selections.group(number).map(|group| self.members(group, &anchors));
        let members = members.unwrap_or_default();
        for id in &members {
            if let Some(slot) = self.slots.get_mut(id.index()) {
                let place = slot.selected_by.partition_point(|other| *other < number);
                slot.selected_by.insert(place, number);
            }
        }
        for anchor in &anchors {
            self.selections.anchored.entry(*anchor).or_default().push(number);
        }
        if let Some(group) = self.selections.group_mut(number) {
            group.anchors = anchors;
            group.members = members;
        }
    }

    /// Returns the groups whose members are looked for, in their order: all, but where different selectors are about
    /// so many objects that this would take for ever, those that are about the fewest. All that are about as many are
    /// in or none, so that it does not matter which was read first.
    fn affordable(&mut self) -> Vec<u32> {
        let most =
            MAX_SELECTOR_TESTS.saturating_add(self.slots.len().saturating_mul(SELECTOR_TESTS_PER_OBJECT));
        let asked = self.selections.matching.len().saturating_mul(self.population.len());
        let mut sizes: Vec<(usize, u32)> = Vec::with_capacity(self.selections.groups.len());
        for number in (0..self.selections.groups.len()).filter_map(|at| u32::try_from(at).ok()) {
            let Some(selection) = self.selections.group(number).map(|group| Arc::clone(&group.selection))
            else {
                continue;
            };
            let is_matching = matches!(selection.scope, SelectionScope::Matching(_));
            let anchors = self.anchors(&selection);
            let size = match self.selections.group(number) {
                Some(group) if !is_matching || asked <= most => self.tests(group, &anchors),
                _ => usize::MAX,
            };
            sizes.push((size, number));
        }
        sizes.sort_unstable();
        let (mut numbers, mut total) = (Vec::with_capacity(sizes.len()), 0_usize);
        for alike in sizes.chunk_by(|one, other| one.0 == other.0) {
            let size = alike.first().map_or(0, |(size, _)| *size);
            total = total.saturating_add(size.saturating_mul(alike.len()));
            if total > most {
                break;
            }
            numbers.extend(alike.iter().map(|(_, number)| *number));
        }
        self.selections.left_out = sizes.len() - numbers.len();
        numbers.sort_unstable();
        numbers
    }

    /// Returns how much is compared to find the members of a group.
    fn tests(&self, group: &SelectionGroup, anchors: &[LabelIndex]) -> usize {
        let listed: usize = anchors.iter().map(|place| self.selections.count_at(place)).sum();
        let candidates = match &group.selection.scope {
            SelectionScope::Matching(_) => {
                let all = self.population.keys();
                let selected = all.filter(|one| self.is_namespace_selected(&group.scope, **one));
                let place = |one: &Symbol| (group.selection.class, *one, Symbol::EMPTY, Symbol::EMPTY);
                listed.min(selected.map(|one| self.selections.count_at(&place(one))).sum())
            }
            _ => listed,
        };
        candidates.saturating_mul(group.rules.len().div_ceil(REQUIREMENTS_PER_TEST).max(1))
    }

    /// Records the label keys of `selection`. Returns the new ones.
    fn note_keys(&mut self, selection: &Selection) -> Vec<LabelKeyIndex> {
        let (class, namespace) = (selection.class, selection.scope.namespace());
        let labels = selection.required().map(|requirement| &requirement.key);
        let mut keys: Vec<LabelKeyIndex> = Vec::new();
        for label in labels.take(MAX_ANCHORS) {
            keys.push((class, namespace, self.names.intern_text(label)));
        }
        if namespace == Symbol::ANY {
            keys.push((class, namespace, Symbol::EMPTY));
        }
        keys.retain(|key| self.selections.keys.insert(*key, ()).is_none());
        keys
    }

    /// Indexes the objects that have a label whose key is new.
    fn show_by(&mut self, (class, namespace, key): LabelKeyIndex) {
        let namespaces = match namespace {
            Symbol::ANY => self.population.keys().copied().chain([Symbol::EMPTY]).collect(),
            one => vec![one],
        };
        for inhabited in namespaces {
            let place = (class, inhabited, Symbol::EMPTY, Symbol::EMPTY);
            for id in under(&self.selections.labelled, &place).to_vec() {
                let value = match key {
                    Symbol::EMPTY => Some(Symbol::EMPTY),
                    _ => self
                        .slots
                        .get(id.index())
                        .and_then(|slot| interned_label_value(slot.labels.of_class(class), key)),
                };
                if let Some(value) = value {
                    insert_id(&mut self.selections.labelled, (class, namespace, key, value), id);
                }
            }
        }
    }

    /// Returns whom a new selection selects, in canonical order.
    fn members(&self, group: &SelectionGroup, anchors: &[LabelIndex]) -> Vec<Id> {
        let selection = &group.selection;
        let listed = |place: LabelIndex| under(&self.selections.labelled, &place).iter().copied();
        let candidates: Vec<Id> = match &selection.scope {
            SelectionScope::Matching(_) => {
                // Either all that have the label, or all in the namespaces: what is less.
                let all = self.population.keys().copied();
                let namespaces: Vec<Symbol> =
                    all.filter(|namespace| self.is_namespace_selected(&group.scope, *namespace)).collect();
                let all = |namespace: &Symbol| (selection.class, *namespace, Symbol::EMPTY, Symbol::EMPTY);
                let inhabitants = namespaces.iter().map(|one| self.selections.count_at(&all(one))).sum();
                let labelled: usize = anchors.iter().map(|place| self.selections.count_at(place)).sum();
                match labelled < inhabitants {
                    true => anchors.iter().flat_map(|place| listed(*place)).collect(),
                    false => namespaces.iter().flat_map(|one| listed(all(one))).collect(),
                }
            }
            _ => anchors.iter().flat_map(|place| listed(*place)).collect(),
        };
        let mut members = candidates;
        members.retain(|id| self.is_selected(group, *id));
        if !members.is_sorted_by_key(|id| self.rank(*id)) {
            members.sort_by_key(|id| self.rank(*id));
        }
        members
    }

    /// Returns the labels of which a selected object has one: those that the fewest objects have.
    fn anchors(&mut self, selection: &Selection) -> Vec<LabelIndex> {
        let namespace = selection.scope.namespace();
        let everything = vec![(selection.class, namespace, Symbol::EMPTY, Symbol::EMPTY)];
        let mut best: Option<(usize, Vec<LabelIndex>)> = None;
        for requirement in selection.required().take(MAX_ANCHORS) {
            let key = self.names.intern_text(&requirement.key);
            let values = requirement.values.iter();
            let places: Vec<LabelIndex> = values
                .map(|value| (selection.class, namespace, key, self.names.intern_text(value)))
                .collect();
            let count = places.iter().map(|place| self.selections.count_at(place)).sum();
            if best.as_ref().is_none_or(|(least, _)| count < *least) {
                best = Some((count, places));
            }
        }
        best.map_or(everything, |(_, places)| places)
    }

    fn is_selected(&self, group: &SelectionGroup, id: Id) -> bool {
        let Some(slot) = self.slots.get(id.index()).filter(|slot| slot.node.sort == Sort::Object) else {
            return false;
        };
        let namespace = slot.identity.namespace;
        let selection = &group.selection;
        let is_in_scope = match &selection.scope {
            SelectionScope::Namespace(only) => namespace == *only,
            SelectionScope::Everywhere => true,
            SelectionScope::Matching(_) => self.is_namespace_selected(&group.scope, namespace),
        };
        let is_pod = slot.shape == Some(PodTemplatePath::Pod);
        let is_meant = match selection.only {
            Only::All => true,
            Only::Pods => is_pod,
            Only::Ownerless => !slot.is_owned,
            Only::OwnerlessPods => is_pod && !slot.is_owned,
        };
        let labels = slot.labels.of_class(selection.class);
        let fits = || {
            group.rules.match_labels(&self.names, slot.identity.name, |key| interned_label_value(labels, key))
        };
        is_in_scope && is_meant && fits()
    }

    fn is_namespace_selected(&self, rules: &InternedSelector, namespace: Symbol) -> bool {
        let id = self.find("", "Namespace", "", self.names.text(namespace));
        let slot = id.and_then(|id| self.slots.get(id.index()));
        let labels = slot.map_or(&[][..], |slot| &slot.labels.own);
        let named = self.names.find(NAMESPACE_NAME_LABEL);
        namespace != Symbol::EMPTY
            && rules.match_labels(&self.names, namespace, |key| match Some(key) == named {
                true => Some(namespace),
                false => interned_label_value(labels, key),
            })
    }

    /// Returns everything under which the object of `id` is listed.
    fn places(&self, id: Id) -> Vec<LabelIndex> {
        let mut places = Vec::new();
        let Some(slot) = self.slots.get(id.index()).filter(|slot| slot.node.sort == Sort::Object) else {
            return places;
        };
        let classes = self.kind_facts.get(slot.kind.place()).map_or(&[][..], |facts| &facts.classes);
        let pods = slot.shape.map(|_| Symbol::EMPTY);
        let (namespace, keys) = (slot.identity.namespace, &self.selections.keys);
        for class in pods.into_iter().chain(classes.iter().copied()) {
            places.push((class, namespace, Symbol::EMPTY, Symbol::EMPTY));
            if keys.contains_key(&(class, Symbol::ANY, Symbol::EMPTY)) {
                places.push((class, Symbol::ANY, Symbol::EMPTY, Symbol::EMPTY));
            }
            for (key, value) in slot.labels.of_class(class).iter().copied() {
                for place in [namespace, Symbol::ANY] {
                    if keys.contains_key(&(class, place, key)) {
                        places.push((class, place, key, value));
                    }
                }
            }
        }
        places
    }

    fn add_source(&mut self, id: Id, link: &SelectionLink) {
        let source = SelectionSource { id, via: link.via, kind: link.kind, strength: link.strength };
        let place = self.place_of_source(&source, link.group);
        if let Some(group) = self.selections.group_mut(link.group) {
            group.sources.insert(place.min(group.sources.len()), source);
        }
    }

    fn remove_source(&mut self, id: Id, link: &SelectionLink) {
        let source = SelectionSource { id, via: link.via, kind: link.kind, strength: link.strength };
        let start = self.place_of_source(&source, link.group);
        let Some(group) = self.selections.group_mut(link.group) else { return };
        if let Some(found) = group.sources.iter().skip(start).position(|other| *other == source) {
            group.sources.remove(start + found);
        }
        if group.sources.is_empty() {
            self.forget_group(link.group);
        }
    }

    fn place_of_source(&self, source: &SelectionSource, group: u32) -> usize {
        let Some(group) = self.selections.group(group) else { return 0 };
        let rank = self.rank(source.id);
        group.sources.partition_point(|other| {
            let order = other.kind.cmp(&source.kind).then_with(|| self.rank(other.id).cmp(&rank));
            order.then_with(|| self.names.text(other.via).cmp(self.names.text(source.via))).is_lt()
        })
    }

    fn forget_group(&mut self, number: u32) {
        let Some(group) = self.selections.group_mut(number) else { return };
        let members = std::mem::take(&mut group.members);
        let anchors = std::mem::take(&mut group.anchors);
        let selection = Arc::clone(&group.selection);
        for id in members {
            if let Some(slot) = self.slots.get_mut(id.index()) {
                slot.selected_by.retain(|other| *other != number);
            }
        }
        for anchor in anchors {
            if let Some(list) = self.selections.anchored.get_mut(&anchor) {
                list.retain(|other| *other != number);
                if list.is_empty() {
                    self.selections.anchored.remove(&anchor);
                }
            }
        }
        self.selections.matching.retain(|other| *other != number);
        self.selections.known.remove(&selection);
        self.selections.free.push(number);
    }
}
