//! A graph of objects without the fields that edges are not derived from is the same.

use kubewright_value::Value;

use super::random::{Random, object};
use super::written;
use crate::{EdgeType, EdgeTypeSet, Graph, References};

/// Returns the objects of `graph` as `like` needs them.
fn trimmed_objects(graph: &Graph, like: &Graph) -> Vec<Value> {
    let nodes = graph.ids().filter_map(|id| graph.node(id)).filter(|node| node.object.is_some());
    nodes
        .filter_map(|node| like.fields_of_kind(node.group(), &node.kind).kept(node.object.as_ref()?))
        .collect()
}

/// Returns all edges of the types that `like` has.
fn edges_like(graph: &Graph, like: &Graph) -> Vec<String> {
    let kinds: Vec<EdgeType> = graph.edge_types().filter(|kind| like.has_edges_of(*kind)).collect();
    let edges = graph.ids().flat_map(|id| kinds.iter().flat_map(move |kind| graph.out(id, *kind)));
    edges.map(|edge| written(graph, &edge)).collect()
}

#[track_caller]
pub(super) fn assert_same_when_trimmed(graph: &Graph, what: &str) {
    let whole = Graph::new(&graph.references);
    let trimmed = whole.clone().filled(trimmed_objects(graph, &whole));
    assert_eq!(edges_like(&trimmed, &whole), edges_like(graph, &whole), "{what}");
}

#[test]
fn edges_do_not_depend_on_what_is_left_out() {
    for seed in 0..200 {
        let mut random = Random::new(seed + 500);
        let made: Vec<Value> = (0..25).map(|_| object(&mut random)).collect();
        let graph = Graph::build(made, &References::default());
        assert_same_when_trimmed(&graph, &format!("seed {seed}"));
    }
}

#[test]
fn a_graph_of_few_types_has_their_edges_and_no_others() {
    for seed in 0..100 {
        let mut random = Random::new(seed + 900);
        let made: Vec<Value> = (0..25).map(|_| object(&mut random)).collect();
        let graph = Graph::build(made, &References::default());
        let all: Vec<EdgeType> = graph.edge_types().collect();
        let types: EdgeTypeSet = (0..3).map(|_| all[random.below(all.len())]).collect();
        let few = Graph::new(&References::default()).limited_to(&types);
        let trimmed = few.clone().filled(trimmed_objects(&graph, &few));
        let (found, want) = (edges_like(&trimmed, &few), edges_like(&graph, &few));
        assert_eq!(found, want, "seed {seed}: {types:?}");
        let stored = trimmed.edges().filter(|edge| edge.kind.spec().is_some_and(|spec| spec.is_stored));
        stored.for_each(|edge| assert!(few.has_edges_of(edge.kind), "{}", written(&trimmed, &edge)));
    }
}
