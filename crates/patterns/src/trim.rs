//! Objects without the fields that neither edges nor patterns read, so that very many can be searched at once.
//!
//! What is found in the graph of such objects is what is found in that of whole ones, and so are near misses.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use kubewright_graph::{EdgeTypeSet, FieldExtent, FieldStep, FieldTree, Graph, References};
use kubewright_k8s::GroupVersionKind;
use kubewright_value::{Text, Value};

use super::live::{ValueInterner, pattern_edge_types, pattern_fields};
use super::pattern::Pattern;

/// The fields that some patterns read, by kind.
#[derive(Debug)]
pub struct ObjectTrimmer<'p> {
    patterns: &'p [Pattern],
    /// Without objects, and with the types of edges that the patterns follow.
    graph: Graph,
    kinds: RwLock<HashMap<(Text, Text), Arc<FieldTree>>>,
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
    pub fn trimmed(&self, object: &Value) -> Value {
        let kind = GroupVersionKind::of(object);
        self.fields(kind.group, kind.kind).kept(object).unwrap_or_default()
    }

    /// Returns the graph of `objects`, which are trimmed, with the edges that the patterns follow.
    #[must_use]
    pub fn graph(&self, objects: impl IntoIterator<Item = Value>) -> Graph {
        self.graph.clone().never_changed().filled(objects)
    }

    fn fields(&self, group: Text, kind: Text) -> Arc<FieldTree> {
        let key = (group, kind);
        let known = self.kinds.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let mut fields = self.graph.fields_of_kind(&key.0, &key.1);
            let read = self.patterns.iter().filter_map(|pattern| pattern_fields(pattern, &key.0, &key.1));
            read.for_each(|read| fields.merge(&read));
            // Near misses are told by labels.
            fields.add(&["metadata", "labels"].map(FieldStep::Name), FieldExtent::Whole);
            let fields = Arc::new(fields);
            self.kinds.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&fields));
            fields
        })
    }
}

/// Trimmed objects that share their equal parts.
#[derive(Debug, Default)]
pub struct SharedObjects {
    interner: ValueInterner,
}

impl SharedObjects {
    /// Returns `object` with its parts shared with those of earlier objects. Its own top level and metadata are not shared.
    #[must_use]
    pub fn share(&mut self, object: Value) -> Value {
        self.interner.share_parts(object)
    }
}
