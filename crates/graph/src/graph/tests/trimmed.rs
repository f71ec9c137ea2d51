//! A graph of objects without the fields that edges are not derived from is the same.

use kubewright_k8s::GroupVersionKind;
use kubewright_value::{Map, Value};

use super::random::{Random, object};
use super::written;
use crate::{EdgeType, EdgeTypeSet, Graph, GraphNode, NamedObject, References};

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
    let named = trimmed_objects(graph, &whole).into_iter().map(|object| {
        let kind = GroupVersionKind::of(&object);
        let fields = whole.edge_fields_of_kind(&kind.group, &kind.kind);
        let apart = ["name", "uid"].into_iter().filter(|field| !fields.reads_field("metadata", field));
        NamedObject::without_fields(object, &apart.collect::<Vec<_>>())
    });
    let (reduced, _) =
        whole.clone().never_changed().filled_and_reduced(named, &mut |_| Some(Value::object(Map::new())));
    assert_eq!(edges_like(&reduced, &whole), edges_like(graph, &whole), "{what}");
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

#[test]
fn a_name_that_was_taken_out_is_given_back() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop, uid: u}\n";
    let generated = "---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: b-, uid: v}\n";
    let made = super::objects(&format!("{text}{generated}"));
    let named = made.iter().map(|object| NamedObject::without_fields(object.clone(), &["name", "uid"]));
    let reduced = &mut |_: &GraphNode| None;
    let (graph, placed) = Graph::new(&References::default()).filled_and_reduced(named, reduced);
    for (id, number) in placed {
        let whole = graph.node(id).and_then(GraphNode::whole_object).map(std::borrow::Cow::into_owned);
        assert_eq!(whole.as_ref(), made.get(number as usize));
    }
    let own = |name: &str| graph.find("", "Pod", "shop", name).and_then(|id| graph.node(id)?.object.clone());
    assert_eq!(
        own("a").map(|object| object.to_string()),
        Some(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop"}}"#.to_owned())
    );
}
