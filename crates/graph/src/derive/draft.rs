//! Contributions of many objects, before they are added to the graph.
//!
//! A draft reads the graph and changes nothing in it, so several can be made side by side. Names and nodes that the graph
//! does not have yet get numbers behind those that it has, and others when the graph takes the draft over.

use super::{Derived, WantedSelection};
use crate::Id;
use crate::graph::{DerivedWire as Wire, EdgeDependency, Graph, SelectionScope};
use crate::names::{FieldPath, NameTable, Symbol, SymbolMap};
use crate::node::ObjectIdentity;

/// The contributions of some objects.
pub(crate) struct EdgeDraft<'g> {
    pub(super) graph: &'g Graph,
    names: NameTable,
    nodes: Vec<ObjectIdentity>,
    ids: SymbolMap<ObjectIdentity, Id>,
    pub(super) wires: Vec<Wire>,
    pub(super) links: Vec<WantedSelection>,
    questions: Vec<EdgeDependency>,
    // Each object with the ends of its parts of the three lists.
    ends: Vec<(Id, [usize; 3])>,
}

/// A draft without its graph.
pub(crate) struct Drafted {
    first_id: usize,
    first_symbol: u32,
    names: NameTable,
    nodes: Vec<ObjectIdentity>,
    wires: Vec<Wire>,
    links: Vec<WantedSelection>,
    questions: Vec<EdgeDependency>,
    ends: Vec<(Id, [usize; 3])>,
}

impl<'g> EdgeDraft<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Self {
        Self {
            graph,
            names: graph.names.beside(),
            nodes: Vec::new(),
            ids: SymbolMap::default(),
            wires: Vec::new(),
            links: Vec::new(),
            questions: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(crate) fn finish(self) -> Drafted {
        Drafted {
            first_id: self.graph.capacity(),
            first_symbol: self.graph.names.end(),
            names: self.names,
            nodes: self.nodes,
            wires: self.wires,
            links: self.links,
            questions: self.questions,
            ends: self.ends,
        }
    }

    pub(super) fn intern(&mut self, name: &str) -> Symbol {
        self.names.intern_beside(name, &self.graph.names)
    }

    pub(super) fn field(&mut self, field: FieldPath<'_>) -> Symbol {
        self.names.field_beside(field, &self.graph.names)
    }

    /// Returns the node with that identity, a new one if there is none.
    pub(super) fn node_of(&mut self, identity: ObjectIdentity) -> Id {
        if let Some(known) = self.graph.node_with(&identity) {
            return known;
        }
        let (nodes, first) = (&mut self.nodes, self.graph.capacity());
        *self.ids.entry(identity).or_insert_with(|| {
            nodes.push(identity);
            // Four billion objects do not fit into memory.
            Id(u32::try_from(first + nodes.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// Records that edges depend on the answer to `question`, unless nothing is ever changed.
    pub(super) fn ask(&mut self, question: EdgeDependency) {
        if !self.graph.is_never_changed() {
            self.questions.push(question);
        }
    }

    /// Says that everything since the last object was contributed by that of `id`.
    pub(super) fn end(&mut self, id: Id) {
        self.ends.push((id, [self.wires.len(), self.links.len(), self.questions.len()]));
    }
}

impl Drafted {
    /// Gives everything that is new its number in `graph`. Returns what all objects contribute, and of each one the ends
    /// of its parts of the three lists.
    pub(crate) fn adopted(self, graph: &mut Graph) -> (Derived, Vec<(Id, [usize; 3])>) {
        let symbols = graph.names.adopt(&self.names);
        let (first_symbol, first_id) = (self.first_symbol, self.first_id);
        let mut adoption = Adoption { first_symbol, symbols, first_id, ids: Vec::new() };
        let identities = self.nodes.iter().map(|identity| adoption.identity(*identity));
        adoption.ids = graph.nodes_of(identities);
        let (mut wires, mut links, mut questions) = (self.wires, self.links, self.questions);
        wires.iter_mut().for_each(|wire| *wire = adoption.wire(*wire));
        links.iter_mut().for_each(|link| adoption.link(link));
        questions.iter_mut().for_each(|question| *question = adoption.question(*question));
        (Derived { wires, links, questions }, self.ends)
    }
}

/// Which numbers of a draft become which of the graph.
struct Adoption {
    first_symbol: u32,
    symbols: Vec<Symbol>,
    first_id: usize,
    ids: Vec<Id>,
}

impl Adoption {
    fn symbol(&self, symbol: Symbol) -> Symbol {
        let new = symbol.0.checked_sub(self.first_symbol).and_then(|at| self.symbols.get(at as usize));
        new.copied().unwrap_or(symbol)
    }

    fn id(&self, id: Id) -> Id {
        let new = id.index().checked_sub(self.first_id).and_then(|at| self.ids.get(at));
        new.copied().unwrap_or(id)
    }

    fn identity(&self, identity: ObjectIdentity) -> ObjectIdentity {
        ObjectIdentity {
            group: self.symbol(identity.group),
            kind: self.symbol(identity.kind),
            namespace: self.symbol(identity.namespace),
            name: self.symbol(identity.name),
            uid: self.symbol(identity.uid),
        }
    }

    fn wire(&self, wire: Wire) -> Wire {
        Wire { from: self.id(wire.from), to: self.id(wire.to), via: self.symbol(wire.via), ..wire }
    }

    fn link(&self, link: &mut WantedSelection) {
        link.via = self.symbol(link.via);
        link.selection.class = self.symbol(link.selection.class);
        if let SelectionScope::Namespace(namespace) = &mut link.selection.scope {
            *namespace = self.symbol(*namespace);
        }
    }

    fn question(&self, question: EdgeDependency) -> EdgeDependency {
        match question {
            EdgeDependency::Name(identity) => EdgeDependency::Name(self.identity(identity)),
            EdgeDependency::Uid(uid) => EdgeDependency::Uid(self.symbol(uid)),
            EdgeDependency::Widget(name) => EdgeDependency::Widget(self.symbol(name)),
            EdgeDependency::AnyUid | EdgeDependency::Definitions => question,
        }
    }
}
