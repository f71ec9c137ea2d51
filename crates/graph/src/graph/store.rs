//! Nodes and stored edges.
//!
//! Ranks grow in canonical order with gaps between them, so that a node can be put between two others without a change
//! to the rest. Public lists ascend in rank, so they need not be sorted on read.

use std::cmp::Ordering;

use kubewright_k8s::PodTemplatePath;
use kubewright_value::Value;

use super::index::{KindNumber, Labels, ObjectDetails, ObjectHeader};
use super::selections::SelectionLink;
use super::taints::Taints;
use super::{EdgeDependency, Graph};
use crate::derive::{Derived, WantedSelection};
use crate::ids::{insert_id, withdraw};
use crate::names::{Symbol, SymbolMap};
use crate::node::ObjectIdentity;
use crate::{EdgeType, GraphNode, Id, NamedObject, Sort, Strength};

/// One node and what is stored with it.
#[derive(Debug, Clone)]
pub(super) struct NodeSlot {
    pub(super) node: GraphNode,
    pub(super) identity: ObjectIdentity,
    pub(super) kind: KindNumber,
    /// Where its object says what Pods are like.
    pub(super) shape: Option<PodTemplatePath>,
    pub(super) labels: Labels,
    /// Whether its object names an owner.
    pub(super) is_owned: bool,
    pub(super) taints: Taints,
    pub(super) is_used: bool,
    // INVARIANT: once settled, sorted by type, rank of the other end, field.
    pub(super) out: Vec<Half>,
    pub(super) incoming: Vec<Half>,
    pub(super) links: Vec<SelectionLink>,
    // The selections that select it, ascending.
    pub(super) selected_by: Vec<u32>,
    pub(super) questions: Vec<EdgeDependency>,
}

impl NodeSlot {
    fn of(node: GraphNode, identity: ObjectIdentity, kind: KindNumber) -> Self {
        Self {
            node,
            identity,
            kind,
            shape: None,
            labels: Labels::default(),
            is_owned: false,
            taints: Taints::None,
            is_used: true,
            out: Vec::new(),
            incoming: Vec::new(),
            links: Vec::new(),
            selected_by: Vec::new(),
            questions: Vec::new(),
        }
    }
}

/// The contributions of all objects of a graph that is built at once.
#[derive(Debug, Default)]
pub(super) struct EdgeBatch {
    // A list for each part that was derived at once.
    wires: Vec<Vec<Wire>>,
    links: Vec<(Id, WantedSelection)>,
}

/// A stored edge, seen from one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Half {
    pub(super) other: Id,
    pub(super) via: Symbol,
    pub(super) kind: EdgeType,
    pub(super) strength: Strength,
    pub(super) flags: u8,
}

impl Half {
    /// Any order will do, if it is always the same within one graph.
    fn key(&self) -> (Id, Symbol, EdgeType, Strength, u8) {
        (self.other, self.via, self.kind, self.strength, self.flags)
    }
}

/// The edge was derived from the object at its end, not from the one at its start.
pub(crate) const REVERSED: u8 = 1;
/// The owner controls the Pod.
pub(crate) const CONTROLS: u8 = 2;
/// The edge was derived from an object at neither end.
pub(crate) const FOREIGN: u8 = 4;

/// A stored edge, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wire {
    pub(crate) from: Id,
    pub(crate) to: Id,
    pub(crate) kind: EdgeType,
    pub(crate) via: Symbol,
    pub(crate) strength: Strength,
    pub(crate) flags: u8,
}

impl Wire {
    fn at_start(self) -> Half {
        Half { other: self.to, via: self.via, kind: self.kind, strength: self.strength, flags: self.flags }
    }

    fn at_end(self) -> Half {
        Half { other: self.from, ..self.at_start() }
    }

    fn of_out(from: Id, half: &Half) -> Self {
        Self {
            from,
            to: half.other,
            kind: half.kind,
            via: half.via,
            strength: half.strength,
            flags: half.flags,
        }
    }

    fn of_incoming(to: Id, half: &Half) -> Self {
        Self { from: half.other, to, ..Self::of_out(to, half) }
    }
}

/// Up to this many changes, lists are edited in place; above, they are rebuilt.
const MAX_INSERTED_ONE_BY_ONE: usize = 256;

/// The gap between two ranks.
const RANK_GAP: u64 = 1 << 32;

impl Graph {
    /// Returns the node with that identity, a new one without an object if there is none.
    pub(crate) fn node_of(&mut self, identity: ObjectIdentity) -> Id {
        if let Some(known) = self.identities.get(&identity) {
            return *known;
        }
        let kind = self.kind_number(identity.group, identity.kind);
        let node = self.bare_node(&identity, kind);
        self.add_node(NodeSlot::of(node, identity, kind))
    }

    /// Returns what is needed to derive from the object of `id`.
    pub(crate) fn deriving(
        &self,
        id: Id,
    ) -> Option<(&Value, Option<PodTemplatePath>, ObjectIdentity, KindNumber)> {
        let slot = self.slots.get(id.index())?;
        Some((slot.node.object.as_ref()?, slot.shape, slot.identity, slot.kind))
    }

    /// Returns a new node for `object`, of whose identity there is none.
    pub(super) fn node_with_object(&mut self, header: ObjectHeader, object: NamedObject) -> Id {
        let ObjectHeader { identity, kind } = header;
        let ObjectDetails { api_version, uid, shape, labels, is_owned, taints } =
            ObjectDetails::of(&object, &header, self);
        let (object, is_name_apart) = object.into_object();
        let node = GraphNode {
            api_version,
            kind: self.names.shared(identity.kind),
            namespace: self.names.shared(identity.namespace),
            name: self.names.shared(identity.name),
            uid,
            object: Some(object),
            is_name_apart,
            sort: Sort::Object,
        };
        self.add_node(NodeSlot { shape, labels, is_owned, taints, ..NodeSlot::of(node, identity, kind) })
    }

    fn add_node(&mut self, slot: NodeSlot) -> Id {
        let identity = slot.identity;
        let id = match self.free.pop() {
            Some(id) => {
                if let Some(free) = self.slots.get_mut(id.index()) {
                    *free = slot;
                }
                id
            }
            None => {
                self.slots.push(slot);
                self.ranks.push(0);
                // Four billion objects do not fit into memory.
                Id(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
            }
        };
        self.identities.insert(identity, id);
        if self.is_settled {
            self.put_in_order(id, &identity);
        } else {
            self.order.push(id);
        }
        id
    }

    /// Makes `id` the node of `object`.
    pub(super) fn fill(&mut self, id: Id, details: ObjectDetails, object: Value) {
        if let Some(slot) = self.slots.get_mut(id.index()) {
            slot.node.api_version = details.api_version;
            slot.node.uid = details.uid;
            slot.shape = details.shape;
            slot.labels = details.labels;
            slot.is_owned = details.is_owned;
            slot.taints = details.taints;
            slot.node.object = Some(object);
            slot.node.is_name_apart = false;
            slot.node.sort = Sort::Object;
        }
    }

    /// Replaces the object of `id` by what `reduced` returns of it, if anything. Definitions stay as they are: they are read for
    /// the edges of others.
    pub(super) fn reduce(&mut self, id: Id, reduced: &mut dyn FnMut(&GraphNode) -> Option<Value>) {
        if let Some(slot) = self.slots.get_mut(id.index())
            && slot.node.kind != "CustomResourceDefinition"
            && let Some(object) = reduced(&slot.node)
        {
            slot.node.object = Some(object);
        }
    }

    /// Makes `id` a node without an object.
    pub(super) fn empty(&mut self, id: Id) {
        let Some((identity, kind)) = self.slots.get(id.index()).map(|slot| (slot.identity, slot.kind)) else {
            return;
        };
        let node = self.bare_node(&identity, kind);
        if let Some(slot) = self.slots.get_mut(id.index()) {
            slot.node = node;
            slot.shape = None;
            slot.labels = Labels::default();
            slot.is_owned = false;
            slot.taints = Taints::None;
        }
    }

    /// Drops the node if it has no object and no edges.
    pub(super) fn collect(&mut self, id: Id) {
        if !self.is_dispensable(id) {
            return;
        }
        let rank = self.rank(id);
        let place = self.order.partition_point(|other| self.rank(*other) < rank);
        if self.order.get(place) == Some(&id) {
            self.order.remove(place);
        }
        self.drop_node(id);
    }

    /// Drops the ends of `gone` that have neither an object nor edges.
    fn collect_all(&mut self, gone: &[Wire]) {
        for id in gone.iter().flat_map(|wire| [wire.from, wire.to]) {
            if self.is_dispensable(id) {
                self.drop_node(id);
            }
        }
        let slots = &self.slots;
        self.order.retain(|id| slots.get(id.index()).is_some_and(|slot| slot.is_used));
    }

    fn is_dispensable(&self, id: Id) -> bool {
        let Some(slot) = self.slots.get(id.index()).filter(|slot| slot.is_used) else { return false };
        let is_named = !slot.out.is_empty() || !slot.incoming.is_empty();
        let is_namespace = slot.node.kind == "Namespace" && slot.identity.group == Symbol::EMPTY;
        let is_populated = is_namespace && self.population.contains_key(&slot.identity.name);
        slot.node.sort != Sort::Object && !is_named && !is_populated
    }

    /// Forgets a node that is not in `order` any more.
    fn drop_node(&mut self, id: Id) {
        if let Some(slot) = self.slots.get_mut(id.index()) {
            slot.is_used = false;
            self.identities.remove(&slot.identity);
            self.free_id(id);
        }
    }

    /// Makes what the object of `id` contributes equal to `derived`.
    pub(super) fn apply(&mut self, id: Id, derived: Derived) {
        let Derived { mut wires, links, questions } = derived;
        wires.sort_unstable();
        let mut before = self.contributed(id);
        before.sort_unstable();
        let (gone, new) = wire_difference(&before, &wires);
        self.record_wires(&gone);
        self.record_wires(&new);
        let is_much = gone.len() + new.len() > MAX_INSERTED_ONE_BY_ONE;
        match is_much {
            true => self.rewire(&gone, &new),
            false => new.iter().for_each(|wire| self.connect(wire)),
        }
        let foreign: Vec<Wire> = wires.iter().filter(|wire| wire.flags & FOREIGN != 0).copied().collect();
        match foreign.is_empty() {
            true => drop(self.foreign.remove(&id)),
            false => drop(self.foreign.insert(id, foreign)),
        }
        self.relink(id, links);
        match is_much {
            true => self.collect_all(&gone),
            false => gone.iter().for_each(|wire| {
                self.disconnect(wire);
                self.collect(wire.from);
                self.collect(wire.to);
            }),
        }
        self.ask(id, sorted_dependencies(questions));
    }

    /// Notes what objects contribute, for [`Graph::settle`]: each of `ends` is an object and where its part of each list ends.
    pub(super) fn defer(&mut self, derived: Derived, ends: &[(Id, [usize; 3])], batch: &mut EdgeBatch) {
        let Derived { wires, links, questions } = derived;
        let mut links = links.into_iter();
        let mut start = [0; 3];
        for (id, end) in ends {
            let ([of_wires, of_links, of_questions], [wires_end, links_end, questions_end]) = (start, *end);
            let own = wires.get(of_wires..wires_end).unwrap_or_default();
            if own.iter().any(|wire| wire.flags & FOREIGN != 0) {
                let foreign = own.iter().filter(|wire| wire.flags & FOREIGN != 0).copied().collect();
                self.foreign.insert(*id, foreign);
            }
            batch.links.extend(links.by_ref().take(links_end - of_links).map(|link| (*id, link)));
            let own = questions.get(of_questions..questions_end).unwrap_or_default();
            if !own.is_empty() {
                self.ask(*id, sorted_dependencies(own.to_vec()));
            }
            start = *end;
        }
        batch.wires.push(wires);
    }

    /// Brings everything into order that was put in without.
    pub(super) fn settle(&mut self, batch: EdgeBatch) {
        self.put_all_in_order();
        self.connect_all(batch.wires);
        let ranks = &self.ranks;
        let rank = |id: Id| ranks.get(id.index()).copied().unwrap_or(0);
        self.kinds.values_mut().for_each(|kinds| {
            if !kinds.is_sorted_by_key(|id| rank(*id)) {
                kinds.sort_by_key(|id| rank(*id));
            }
        });
        self.relink_all(batch.links);
        self.is_settled = true;
    }

    /// Takes `gone` away and stores `new`, at the cost of one pass through the lists they are in.
    fn rewire(&mut self, gone: &[Wire], new: &[Wire]) {
        let mut leaving: SymbolMap<(Id, bool), Vec<Half>> = SymbolMap::default();
        for wire in gone {
            leaving.entry((wire.from, true)).or_default().push(wire.at_start());
            leaving.entry((wire.to, false)).or_default().push(wire.at_end());
        }
        for ((id, is_out), mut halves) in leaving {
            halves.sort_unstable_by_key(Half::key);
            let Some(slot) = self.slots.get_mut(id.index()) else { continue };
            let list = if is_out { &mut slot.out } else { &mut slot.incoming };
            let mut taken = vec![false; halves.len()];
            list.retain(|half| {
                // Equal entries are removed as often as they occur in the list of removals.
                let start = halves.partition_point(|other| other.key() < half.key());
                let same = halves.iter().zip(&mut taken).skip(start).take_while(|(other, _)| *other == half);
                let free = same.map(|(_, taken)| taken).find(|taken| !**taken);
                free.map(|taken| *taken = true).is_none()
            });
        }
        let mut touched: Vec<Id> = new.iter().flat_map(|wire| [wire.from, wire.to]).collect();
        for wire in new {
            self.slots.get_mut(wire.from.index()).into_iter().for_each(|slot| slot.out.push(wire.at_start()));
            self.slots
                .get_mut(wire.to.index())
                .into_iter()
                .for_each(|slot| slot.incoming.push(wire.at_end()));
        }
        touched.sort_unstable();
        touched.dedup();
        self.sort_lists(touched.into_iter());
    }

    fn sort_lists(&mut self, ids: impl Iterator<Item = Id>) {
        let (ranks, names) = (&self.ranks, &self.names);
        let rank = |id: Id| ranks.get(id.index()).copied().unwrap_or(0);
        let compare = |a: &Half, b: &Half| {
            a.kind.cmp(&b.kind).then_with(|| rank(a.other).cmp(&rank(b.other))).then_with(|| {
                let text = || names.text(a.via).cmp(names.text(b.via));
                if a.via == b.via { Ordering::Equal } else { text() }
            })
        };
        for id in ids {
            if let Some(slot) = self.slots.get_mut(id.index()) {
                slot.out.sort_by(compare);
                slot.incoming.sort_by(compare);
            }
        }
    }

    /// Makes nodes for many identities, and brings all into order once.
    pub(crate) fn nodes_of(&mut self, identities: impl ExactSizeIterator<Item = ObjectIdentity>) -> Vec<Id> {
        let is_much = self.is_settled && identities.len() > MAX_INSERTED_ONE_BY_ONE;
        if is_much {
            self.is_settled = false;
        }
        let ids = identities.map(|identity| self.node_of(identity)).collect();
        if is_much {
            self.put_all_in_order();
            self.is_settled = true;
        }
        ids
    }

    /// Sorts all nodes and gives them ranks. Who was before another stays so.
    fn put_all_in_order(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        let key = |id: &Id| self.slots.get(id.index()).map(|slot| slot.identity);
        // Most are in order, so this is mostly a merge.
        order.sort_by(|a, b| key(a).zip(key(b)).map_or(Ordering::Equal, |(a, b)| self.canonical(&a, &b)));
        self.order = order;
        self.number();
    }

    /// Stores `wires` at both ends, in order.
    fn connect_all(&mut self, wires: Vec<Vec<Wire>>) {
        let mut counts = vec![(0_u32, 0_u32); self.slots.len()];
        for wire in wires.iter().flatten() {
            counts.get_mut(wire.from.index()).into_iter().for_each(|count| count.0 += 1);
            counts.get_mut(wire.to.index()).into_iter().for_each(|count| count.1 += 1);
        }
        for (slot, (out, incoming)) in self.slots.iter_mut().zip(counts) {
            slot.out.reserve_exact(out as usize);
            slot.incoming.reserve_exact(incoming as usize);
        }
        for wire in wires.into_iter().flatten() {
            self.slots.get_mut(wire.from.index()).into_iter().for_each(|slot| slot.out.push(wire.at_start()));
            self.slots
                .get_mut(wire.to.index())
                .into_iter()
                .for_each(|slot| slot.incoming.push(wire.at_end()));
        }
        let all = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.sort_lists((0..all).map(Id));
    }

    fn bare_node(&self, identity: &ObjectIdentity, kind: KindNumber) -> GraphNode {
        let facts = self.kind_facts(kind);
        GraphNode {
            api_version: facts.map(|facts| facts.usual_version.clone()).unwrap_or_default(),
            kind: self.names.shared(identity.kind),
            namespace: self.names.shared(identity.namespace),
            name: self.names.shared(identity.name),
            uid: self.names.shared(identity.uid),
            object: None,
            is_name_apart: false,
            sort: facts.map_or(Sort::Absent, |facts| facts.without_object),
        }
    }

    /// Gives the new node `id` its place and rank.
    fn put_in_order(&mut self, id: Id, identity: &ObjectIdentity) {
        let place = self.order.partition_point(|other| {
            let other = self.slots.get(other.index()).map(|slot| slot.identity);
            other.is_some_and(|other| self.canonical(&other, identity).is_lt())
        });
        let rank_at = |place: usize| self.order.get(place).map(|id| self.rank(*id));
        let below = place.checked_sub(1).and_then(rank_at).unwrap_or(0);
        let above = rank_at(place).unwrap_or_else(|| below.saturating_add(2 * RANK_GAP));
        let rank = below + (above - below) / 2;
        self.order.insert(place, id);
        if rank > below {
            self.ranks.get_mut(id.index()).into_iter().for_each(|own| *own = rank);
        } else {
            self.number();
        }
    }

    /// Gives every node a rank anew.
    fn number(&mut self) {
        let mut rank = 0_u64;
        for id in &self.order {
            rank = rank.saturating_add(RANK_GAP);
            self.ranks.get_mut(id.index()).into_iter().for_each(|own| *own = rank);
        }
    }

    /// Returns the edges that were derived from the object of `id`.
    fn contributed(&self, id: Id) -> Vec<Wire> {
        let Some(slot) = self.slots.get(id.index()) else { return Vec::new() };
        let own = slot.out.iter().filter(|half| half.flags & (REVERSED | FOREIGN) == 0);
        let reversed = slot.incoming.iter().filter(|half| half.flags & REVERSED != 0);
        let foreign = self.foreign.get(&id).into_iter().flatten().copied();
        let own = own.map(|half| Wire::of_out(id, half));
        own.chain(reversed.map(|half| Wire::of_incoming(id, half))).chain(foreign).collect()
    }

    fn connect(&mut self, wire: &Wire) {
        self.put_half(wire.from, wire.at_start(), true);
        self.put_half(wire.to, wire.at_end(), false);
    }

    fn disconnect(&mut self, wire: &Wire) {
        self.take_half(wire.from, &wire.at_start(), true);
        self.take_half(wire.to, &wire.at_end(), false);
    }

    fn put_half(&mut self, id: Id, half: Half, is_out: bool) {
        let place = self.place_of(id, &half, is_out);
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        let list = if is_out { &mut slot.out } else { &mut slot.incoming };
        list.insert(place.min(list.len()), half);
    }

    fn take_half(&mut self, id: Id, half: &Half, is_out: bool) {
        let start = self.place_of(id, half, is_out);
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        let list = if is_out { &mut slot.out } else { &mut slot.incoming };
        // Only those between the same two nodes and from the same field are looked through.
        let found = list.iter().skip(start).position(|other| other == half);
        if let Some(found) = found {
            list.remove(start + found);
        }
    }

    /// Returns the position of `half` in a list of `id`, or where to insert it.
    fn place_of(&self, id: Id, half: &Half, is_out: bool) -> usize {
        let Some(slot) = self.slots.get(id.index()) else { return 0 };
        let list = if is_out { &slot.out } else { &slot.incoming };
        let rank = self.rank(half.other);
        list.partition_point(|other| {
            let order = other.kind.cmp(&half.kind).then_with(|| self.rank(other.other).cmp(&rank));
            order.then_with(|| self.names.text(other.via).cmp(self.names.text(half.via))).is_lt()
        })
    }

    /// Notes what the object of `id` asks, in place of what it asked before.
    fn ask(&mut self, id: Id, questions: Vec<EdgeDependency>) {
        let Some(slot) = self.slots.get_mut(id.index()) else { return };
        if slot.questions == questions {
            return;
        }
        let before = std::mem::replace(&mut slot.questions, questions.clone());
        for question in before {
            withdraw(&mut self.watchers, &question, id);
        }
        for question in questions {
            insert_id(&mut self.watchers, question, id);
        }
    }
}

fn sorted_dependencies(mut questions: Vec<EdgeDependency>) -> Vec<EdgeDependency> {
    questions.sort_unstable_by_key(question_order);
    questions.dedup();
    questions
}

/// Any order will do, if it is always the same within one graph.
fn question_order(question: &EdgeDependency) -> (u8, [Symbol; 5]) {
    let none = [Symbol::EMPTY; 5];
    let with = |symbol: Symbol| [symbol, Symbol::EMPTY, Symbol::EMPTY, Symbol::EMPTY, Symbol::EMPTY];
    match question {
        EdgeDependency::Name(name) => (0, [name.group, name.kind, name.namespace, name.name, name.uid]),
        EdgeDependency::Uid(uid) => (1, with(*uid)),
        EdgeDependency::AnyUid => (2, none),
        EdgeDependency::Widget(name) => (3, with(*name)),
        EdgeDependency::Definitions => (4, none),
    }
}

/// Returns what is only in `before` and what is only in `after`; both are sorted, and may hold the same thing twice.
fn wire_difference(before: &[Wire], after: &[Wire]) -> (Vec<Wire>, Vec<Wire>) {
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return (gone, new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.cmp(b),
        };
        match order {
            Ordering::Less => gone.extend(before.next()),
            Ordering::Greater => new.extend(after.next()),
            Ordering::Equal => {
                before.next();
                after.next();
            }
        }
    }
}
