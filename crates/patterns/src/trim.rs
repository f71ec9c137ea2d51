//! Objects without the fields that neither edges nor patterns read, so that very many can be searched at once.
//!
//! What is found in the graph of such objects is what is found in that of whole ones, and so are near misses.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use kubewright_graph::{
    EDGE_TYPES, EdgeTypeSet, FieldExtent, FieldStep, FieldTree, Graph, Id, NamedObject, References,
};
use kubewright_k8s::{GroupVersionKind, PodTemplatePath};
use kubewright_value::{Text, Value};

use super::live::{ValueInterner, pattern_edge_types, pattern_fields};
use super::pattern::Pattern;

/// The fields that some patterns read, by kind.
#[derive(Debug)]
pub struct ObjectTrimmer<'p> {
    patterns: &'p [Pattern],
    /// Without objects, and with the types of edges that the patterns follow.
    graph: Graph,
    kinds: RwLock<HashMap<(Text, Text), Arc<TrimmedFields>>>,
}

/// What is left of the objects of one kind.
#[derive(Debug)]
struct TrimmedFields {
    /// What edges and patterns read.
    kept: FieldTree,
    /// What patterns read, and what findings show.
    searched: FieldTree,
    /// The fields of the metadata that only the node has.
    apart: Vec<&'static str>,
}

impl<'p> ObjectTrimmer<'p> {
    /// Returns a trimmer for objects in which `patterns` are looked for. `references` are declared beside the built-in ones.
    #[must_use]
    pub fn new(patterns: &'p [Pattern], references: &References) -> Self {
        let graph = Graph::new(references);
        let mut types = EdgeTypeSet::default();
        for pattern in patterns {
            let own = pattern_edge_types(pattern, references);
            graph.edge_types().filter(|kind| own.contains(*kind)).for_each(|kind| types.insert(kind));
        }
        Self { patterns, graph: graph.limited_to(&types), kinds: RwLock::default() }
    }

    /// Returns `object` with the fields that are read.
    #[must_use]
    pub fn trimmed(&self, object: &Value) -> NamedObject {
        let kind = GroupVersionKind::of(object);
        let fields = self.fields(kind.group, kind.kind);
        NamedObject::without_fields(fields.kept.kept(object).unwrap_or_default(), &fields.apart)
    }

    /// Returns the graph of `objects`, which are trimmed, with the edges that the patterns follow, and the nodes with an
    /// object: each with the place of that object among `objects`.
    #[must_use]
    pub fn graph(&self, objects: impl IntoIterator<Item = NamedObject>) -> (Graph, Vec<(Id, u32)>) {
        let mut interner = ValueInterner::default();
        self.graph.clone().never_changed().filled_and_reduced(objects, &mut |node| {
            let fields = self.fields(node.group().into(), node.kind.clone());
            Some(interner.share_whole(fields.searched.kept(node.object.as_ref()?)?))
        })
    }

    fn fields(&self, group: Text, kind: Text) -> Arc<TrimmedFields> {
        let key = (group, kind);
        let known = self.kinds.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let fields = Arc::new(self.fields_of_kind(&key.0, &key.1));
            self.kinds.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&fields));
            fields
        })
    }

    fn fields_of_kind(&self, group: &str, kind: &str) -> TrimmedFields {
        let mut searched = shown_fields(kind);
        let read = self.patterns.iter().filter_map(|pattern| pattern_fields(pattern, group, kind));
        read.for_each(|read| searched.merge(&read));
        let mut kept = self.graph.fields_of_kind(group, kind);
        kept.merge(&searched);
        let edges = self.graph.edge_fields_of_kind(group, kind);
        let is_apart = |field: &&str| !edges.reads_field("metadata", field) && !kept.reads_around("metadata");
        let apart = ["name", "uid"].into_iter().filter(is_apart).collect();
        TrimmedFields { kept, searched, apart }
    }
}

/// Returns the fields of objects of a kind that findings show beside those that patterns name: the namespace, and for near
/// misses selectors and the labels that they are about.
fn shown_fields(kind: &str) -> FieldTree {
    let mut fields = FieldTree::default();
    let mut add = |path: &[&str], field: &str| {
        let steps = path.iter().copied().chain(field.split('.')).map(FieldStep::Name);
        fields.add(&steps.collect::<Vec<_>>(), FieldExtent::Whole);
    };
    // Every object has a kind, so that something is left of each.
    ["kind", "metadata.namespace"].into_iter().for_each(|field| add(&[], field));
    for path in [PodTemplatePath::Template, PodTemplatePath::JobTemplate, PodTemplatePath::Pod] {
        add(path.keys(), "metadata.labels");
    }
    EDGE_TYPES.iter().filter_map(|spec| spec.selector_field(kind)).for_each(|field| add(&["spec"], field));
    fields
}

/// Trimmed objects that share their equal parts.
#[derive(Debug, Default)]
pub struct SharedObjects {
    interner: ValueInterner,
}

impl SharedObjects {
    /// Returns `object` with its parts shared with those of earlier objects, or as a whole if one is equal.
    #[must_use]
    pub fn share(&mut self, object: NamedObject) -> NamedObject {
        object.map_object(|object| self.interner.share_whole(object))
    }
}
