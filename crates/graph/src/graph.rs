//! The graph itself: how it is built, and how one object more or less changes it.
//!
//! The edges of an object are derived from the object and from a few questions about others: is there an object of
//! this name, of this uid. The object is recorded under each question (`watchers`) and derived again when the answer changes.
//! References by name need no note: they lead to the node of that name, with or without an object.

mod changes;
mod index;
mod selections;
mod store;
mod taints;
mod walk;

pub use changes::GraphChanges;
pub use walk::SelectionKey;

use kubewright_value::workers::map_in_parallel;
use kubewright_value::{Text, Value};

use crate::derive::{Derived, Drafted, EdgeDraft, derive_edges, edge_fields, identity_fields};
use crate::edge::EDGE_TYPES;
use crate::ids::{Ids, under};
use crate::names::{NameTable, Symbol, SymbolMap};
use crate::node::ObjectIdentity;
use crate::{EdgeType, EdgeTypeSet, FieldTree, GraphNode, Id, NamedObject, References, Sort};
pub(crate) use index::{KindFacts, KindNumber, has_no_namespace, is_widget_group};
use index::{ObjectDetails, ObjectHeader};
use selections::Selections;
pub(crate) use selections::{Only, Selection, SelectionScope};
pub(crate) use store::{CONTROLS, FOREIGN, REVERSED, Wire as DerivedWire};
use store::{EdgeBatch, NodeSlot, Wire};
use taints::Taints;

/// Objects and the edges between them.
#[derive(Debug, Clone)]
pub struct Graph {
    pub(crate) names: NameTable,
    pub(crate) references: References,
    // The types that are derived; all where there is none.
    edge_types: Option<EdgeTypeSet>,
    slots: Vec<NodeSlot>,
    // Of every node, by number: greater for what comes later in canonical order.
    ranks: Vec<u64>,
    free: Vec<Id>,
    // INVARIANT: once settled, every node in canonical order, ascending in rank.
    order: Vec<Id>,
    identities: SymbolMap<ObjectIdentity, Id>,
    uids: SymbolMap<Symbol, Ids>,
    kinds: SymbolMap<Symbol, Vec<Id>>,
    // What is known about every kind of a group, and its place there.
    kind_facts: Vec<KindFacts>,
    kind_numbers: SymbolMap<(Symbol, Symbol), KindNumber>,
    // How many objects each namespace has.
    population: SymbolMap<Symbol, u32>,
    // Objects of the groups whose references name a plural, by name.
    widgets: SymbolMap<Symbol, Ids>,
    // CustomResourceDefinitions by group and kind, and by group and plural.
    definitions: SymbolMap<(Symbol, Symbol), Ids>,
    watchers: SymbolMap<EdgeDependency, Ids>,
    // Which objects have the same taints or tolerations.
    tainted: SymbolMap<Taints, Ids>,
    // Edges that were derived from an object at neither end.
    foreign: SymbolMap<Id, Vec<Wire>>,
    with_uid: usize,
    selections: Selections,
    // While it is built at once, nothing is in order.
    is_settled: bool,
    // Whether nothing is changed after it was built, so that who depends on what need not be known.
    is_final: bool,
    // What changed, if it is recorded.
    changes: Option<Box<GraphChanges>>,
}

/// A fact about other objects that an edge depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum EdgeDependency {
    /// Whether there is an object of this name.
    Name(ObjectIdentity),
    /// The objects with this uid.
    Uid(Symbol),
    /// Whether any object has a uid.
    AnyUid,
    /// The widgets of this name.
    Widget(Symbol),
    /// The plurals of kinds.
    Definitions,
}

impl Graph {
    /// Returns an empty graph that knows the references in `references` beside its own.
    #[must_use]
    pub fn new(references: &References) -> Self {
        Self {
            names: NameTable::new(),
            references: references.clone(),
            edge_types: None,
            slots: Vec::new(),
            ranks: Vec::new(),
            free: Vec::new(),
            order: Vec::new(),
            identities: SymbolMap::default(),
            uids: SymbolMap::default(),
            kinds: SymbolMap::default(),
            kind_facts: Vec::new(),
            kind_numbers: SymbolMap::default(),
            population: SymbolMap::default(),
            widgets: SymbolMap::default(),
            definitions: SymbolMap::default(),
            watchers: SymbolMap::default(),
            tainted: SymbolMap::default(),
            foreign: SymbolMap::default(),
            with_uid: 0,
            selections: Selections::default(),
            is_settled: true,
            is_final: false,
            changes: None,
        }
    }

    /// Returns this graph, which must be empty, limited to edges of `types` and of those that they follow from.
    #[must_use]
    pub fn limited_to(mut self, types: &EdgeTypeSet) -> Self {
        self.edge_types = Some(types.with_sources());
        self
    }

    /// Returns this graph, which must be empty, for objects that are given to [`Graph::filled`] all at once and never changed:
    /// it takes less memory, and [`Graph::insert`] and [`Graph::remove`] would not know whose edges have to follow.
    #[must_use]
    pub fn never_changed(mut self) -> Self {
        self.is_final = true;
        self
    }

    pub(crate) fn is_never_changed(&self) -> bool {
        self.is_final
    }

    /// Returns whether edges of a type are derived.
    #[must_use]
    pub fn has_edges_of(&self, kind: EdgeType) -> bool {
        self.edge_types.as_ref().is_none_or(|types| types.contains(kind))
    }

    /// Returns the fields of objects of a kind that identify them, and that edges are derived from.
    #[must_use]
    pub fn fields_of_kind(&self, group: &str, kind: &str) -> FieldTree {
        let mut fields = identity_fields();
        fields.merge(&self.edge_fields_of_kind(group, kind));
        fields
    }

    /// Returns the fields of objects of a kind that edges are derived from, without those that only identify the objects.
    #[must_use]
    pub fn edge_fields_of_kind(&self, group: &str, kind: &str) -> FieldTree {
        edge_fields(self, group, kind)
    }

    /// Returns the graph of `objects`, whatever their order. Of several with the same identity the one with the most
    /// stable API version counts, and of those the greatest.
    #[must_use]
    pub fn build(objects: impl IntoIterator<Item = Value>, references: &References) -> Self {
        Self::build_on(threads, objects, references)
    }

    /// Builds on as many threads as `threads` says for a number of objects.
    fn build_on(
        threads: impl Fn(usize) -> usize,
        objects: impl IntoIterator<Item = Value>,
        references: &References,
    ) -> Self {
        Self::new(references).filled_on(threads, objects, &mut |_| None).0
    }

    /// Returns this graph, which must be empty, with `objects`: what [`Graph::build`] makes of them.
    #[must_use]
    pub fn filled(self, objects: impl IntoIterator<Item = impl Into<NamedObject>>) -> Self {
        self.filled_on(threads, objects, &mut |_| None).0
    }

    /// Returns this graph, which must be empty, with `objects`, and the nodes with an object: each with the place of that object
    /// among `objects`.
    #[must_use]
    pub fn filled_and_placed(
        self,
        objects: impl IntoIterator<Item = impl Into<NamedObject>>,
    ) -> (Self, Vec<(Id, u32)>) {
        self.filled_on(threads, objects, &mut |_| None)
    }

    /// Does as [`Graph::filled_and_placed`]. Once the edges of an object are derived, it is replaced by what `reduced` returns of
    /// it, if anything.
    #[must_use]
    pub fn filled_and_reduced(
        self,
        objects: impl IntoIterator<Item = impl Into<NamedObject>>,
        reduced: &mut dyn FnMut(&GraphNode) -> Option<Value>,
    ) -> (Self, Vec<(Id, u32)>) {
        self.filled_on(threads, objects, reduced)
    }

    fn filled_on(
        self,
        threads: impl Fn(usize) -> usize,
        objects: impl IntoIterator<Item = impl Into<NamedObject>>,
        reduced: &mut dyn FnMut(&GraphNode) -> Option<Value>,
    ) -> (Self, Vec<(Id, u32)>) {
        let mut graph = self;
        graph.is_settled = false;
        let placed = graph.place_all(objects);
        let ids: Vec<Id> = placed.iter().map(|(id, _)| *id).collect();
        for id in &ids {
            graph.index(*id);
        }
        let mut batch = EdgeBatch::default();
        for some in ids.chunks(OBJECTS_DERIVED_AT_ONCE) {
            for drafted in graph.draft_all(some, threads(some.len())) {
                let (derived, ends) = drafted.adopted(&mut graph);
                graph.defer(derived, &ends, &mut batch);
            }
            some.iter().for_each(|id| graph.reduce(*id, reduced));
        }
        graph.settle(batch);
        (graph, placed)
    }

    /// Puts `object` into the graph, in place of the one with the same identity. Returns its node.
    pub fn insert(&mut self, object: Value) -> Id {
        let object = NamedObject::from(object);
        let header = ObjectHeader::of(&object, self);
        let details = ObjectDetails::of(&object, &header, self);
        if let Some(twin) = self.twin(&header, &details.uid) {
            self.remove(twin);
        }
        let id = self.node_of(header.identity);
        let mut questions = Vec::new();
        if self.is_object(id) {
            self.questions_about(id, &mut questions);
            self.hide(id);
            self.unindex(id);
        }
        let was_present = self.is_object(id);
        let uid_before = self.uid_of(id);
        self.fill(id, details, object.into_object().0);
        self.index(id);
        self.show(id);
        self.questions_about(id, &mut questions);
        if was_present && uid_before == self.uid_of(id) {
            // No other edge can depend on the change, unless the object defines kinds.
            questions.retain(|question| matches!(question, EdgeDependency::Definitions));
        }
        self.reselect(id);
        self.refresh(id);
        self.answer(&questions);
        id
    }

    /// Returns the node that [`Graph::insert`] would remove for `object`: the same object, read from another group.
    #[must_use]
    pub fn twin_of(&mut self, object: &Value) -> Option<Id> {
        let object = NamedObject::from(object.clone());
        let header = ObjectHeader::of(&object, self);
        let uid = object.identifier("uid").cloned().unwrap_or_default();
        self.twin(&header, &uid)
    }

    /// Takes the object of `id` out of the graph. Where others name it, an absent node remains. Does nothing to a node
    /// without an object.
    pub fn remove(&mut self, id: Id) {
        if !self.is_object(id) {
            return;
        }
        let mut questions = Vec::new();
        self.questions_about(id, &mut questions);
        self.apply(id, Derived::default());
        self.hide(id);
        self.unindex(id);
        self.empty(id);
        self.reselect(id);
        self.answer(&questions);
        self.collect(id);
    }

    /// Returns the node `id`; none if it was removed.
    #[must_use]
    pub fn node(&self, id: Id) -> Option<&GraphNode> {
        self.slots.get(id.index()).filter(|slot| slot.is_used).map(|slot| &slot.node)
    }

    /// Returns all nodes in canonical order: by namespace, kind, name, group. Also those without an object.
    #[must_use]
    pub fn ids(&self) -> impl ExactSizeIterator<Item = Id> + '_ {
        self.order.iter().copied()
    }

    /// Returns how many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns how many different selectors were not evaluated, because too many selectors apply to too many objects. Such
    /// selectors make no edges.
    #[must_use]
    pub fn selectors_left_out(&self) -> usize {
        self.selections.left_out
    }

    /// Returns whether the graph has no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns a number above every [`Id::index`].
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Returns a number that is greater for what comes later in canonical order; for sorting.
    #[must_use]
    pub fn rank(&self, id: Id) -> u64 {
        self.ranks.get(id.index()).copied().unwrap_or(0)
    }

    /// Brings `ids` into canonical order.
    pub fn sort_by_rank(&self, ids: &mut [Id]) {
        ids.sort_unstable_by_key(|id| self.rank(*id));
    }

    /// Returns the objects of `kind`, of any group, in canonical order.
    #[must_use]
    pub fn of_kind(&self, kind: &str) -> &[Id] {
        let ids = self.names.find(kind).and_then(|kind| self.kinds.get(&kind));
        ids.map_or(&[], Vec::as_slice)
    }

    /// Returns the objects of `kind`, of any group, that are in `namespace`, in canonical order.
    #[must_use]
    pub fn of_kind_in(&self, kind: &str, namespace: &str) -> &[Id] {
        self.within_namespace(self.of_kind(kind), namespace)
    }

    /// Returns the nodes of `namespace` in canonical order, also those without an object.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> &[Id] {
        self.within_namespace(&self.order, namespace)
    }

    /// Returns the part of `ids`, which are in canonical order, that is in `namespace`.
    fn within_namespace<'i>(&self, ids: &'i [Id], namespace: &str) -> &'i [Id] {
        let namespace_at = |id: &Id| self.node(*id).map_or("", |node| node.namespace.as_str());
        let start = ids.partition_point(|id| namespace_at(id) < namespace);
        let end = ids.partition_point(|id| namespace_at(id) <= namespace);
        ids.get(start..end).unwrap_or_default()
    }

    /// Returns the kinds that objects have, sorted.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.kinds.keys().map(|kind| self.names.text(*kind)).collect();
        kinds.sort_unstable();
        kinds
    }

    /// Returns the node of that group, kind, namespace and name; also one without an object.
    #[must_use]
    pub fn find(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<Id> {
        let find = |name: &str| self.names.find(name);
        let (group, kind) = (find(group)?, find(kind)?);
        let (namespace, name) = (find(namespace)?, find(name)?);
        self.identities.get(&ObjectIdentity { group, kind, namespace, name, uid: Symbol::EMPTY }).copied()
    }

    /// Returns the type called `name`, built in or declared.
    #[must_use]
    pub fn edge_type(&self, name: &str) -> Option<EdgeType> {
        self.references.edge_type(name)
    }

    /// Returns the name of a type.
    #[must_use]
    pub fn edge_type_name(&self, kind: EdgeType) -> &str {
        self.references.edge_type_name(kind)
    }

    /// Returns all types: the built-in ones, then the declared ones by name.
    pub fn edge_types(&self) -> impl Iterator<Item = EdgeType> + use<> {
        let count = EDGE_TYPES.len() + self.references.own_types().len();
        (0..u16::try_from(count).unwrap_or(u16::MAX)).map(EdgeType)
    }

    /// Returns whether the node `id` has an object.
    #[must_use]
    pub fn is_object(&self, id: Id) -> bool {
        self.node(id).is_some_and(|node| node.sort == Sort::Object)
    }

    fn uid_of(&self, id: Id) -> Text {
        self.node(id).map(|node| node.uid.clone()).unwrap_or_default()
    }

    /// Derives what the object of `id` contributes, and changes what is different.
    fn refresh(&mut self, id: Id) {
        let (derived, _) = self.draft(&[id]).adopted(self);
        self.apply(id, derived);
    }

    /// Derives what many objects contribute, on `count` threads. The result does not depend on the count.
    fn draft_all(&self, ids: &[Id], count: usize) -> Vec<Drafted> {
        let chunks: Vec<&[Id]> = ids.chunks(ids.len().div_ceil(count.max(1)).max(1)).collect();
        map_in_parallel(&chunks, count, |chunk| self.draft(chunk))
    }

    fn draft(&self, ids: &[Id]) -> Drafted {
        let mut draft = EdgeDraft::new(self);
        ids.iter().for_each(|id| derive_edges(&mut draft, *id));
        draft.finish()
    }

    /// Derives again every object that depends on one of `questions`.
    fn answer(&mut self, questions: &[EdgeDependency]) {
        let mut asked: Vec<Id> = Vec::new();
        for question in questions {
            asked.extend(under(&self.watchers, question));
        }
        asked.sort_unstable();
        asked.dedup();
        for id in asked {
            self.refresh(id);
        }
    }
}

/// How many objects are held as they are given, with their edges before these are stored.
const OBJECTS_DERIVED_AT_ONCE: usize = 65_536;
/// How many objects are worth a thread.
const MIN_OBJECTS_PER_THREAD: usize = 2_000;
/// How many threads a graph is built on at most.
const MAX_DERIVE_THREADS: usize = 4;

/// Returns on how many threads `count` objects are gone through.
fn threads(count: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    processors.min(MAX_DERIVE_THREADS).min(count / MIN_OBJECTS_PER_THREAD)
}

#[cfg(test)]
mod tests;
