//! The graph from outside: which edges objects make, and that nothing shows how it was built.

mod contract;
mod derived;
mod extensions;
mod hostile;
mod random;
mod trimmed;
mod update;

use kubewright_value::{Source, Value, yaml};

use crate::{Edge, Graph, Id, References, Sort};

/// Reads the objects of a YAML stream.
pub(super) fn objects(text: &str) -> Vec<Value> {
    let reading = yaml::read(&Source::new("objects.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents.into_iter().map(|document| document.value).collect()
}

pub(super) fn graph(text: &str) -> Graph {
    let graph = Graph::build(objects(text), &References::default());
    trimmed::assert_same_when_trimmed(&graph, text);
    graph
}

/// Writes a node as `namespace/Kind/name`, with `?` behind an absent one and `~` behind a virtual one.
pub(super) fn label(graph: &Graph, id: Id) -> String {
    let node = graph.node(id).expect("a node");
    let mark = match node.sort {
        Sort::Object => "",
        Sort::Absent => "?",
        Sort::Virtual => "~",
    };
    let namespace = if node.namespace.is_empty() { String::new() } else { format!("{}/", node.namespace) };
    format!("{namespace}{}/{}{mark}", node.kind, node.name)
}

pub(super) fn written(graph: &Graph, edge: &Edge<'_>) -> String {
    let kind = graph.edge_type_name(edge.kind);
    format!(
        "{} {kind} {} via {} {}",
        label(graph, edge.from),
        label(graph, edge.to),
        edge.via,
        edge.strength.name()
    )
}

/// Everything that the public API shows of a graph.
pub(super) fn all(graph: &Graph) -> Vec<String> {
    let mut lines: Vec<String> = graph
        .ids()
        .map(|id| {
            let node = graph.node(id).expect("a node");
            format!("{} {} {} {:?}", label(graph, id), node.api_version, node.uid, node.object)
        })
        .collect();
    lines.extend(graph.edges().map(|edge| written(graph, &edge)));
    for id in graph.ids() {
        for kind in graph.edge_types() {
            let into = graph.incoming(id, kind).map(|edge| format!("into {}", written(graph, &edge)));
            lines.extend(into);
            let near: Vec<String> = graph.neighbours(id, kind).map(|id| label(graph, id)).collect();
            if !near.is_empty() {
                lines.push(format!("near {} {}: {near:?}", label(graph, id), graph.edge_type_name(kind)));
            }
        }
    }
    for kind in graph.kinds() {
        let ids: Vec<String> = graph.of_kind(kind).iter().map(|id| label(graph, *id)).collect();
        lines.push(format!("kind {kind}: {ids:?}"));
    }
    lines
}

/// Checks the edges of one type, each written as `from -> to`, and that they are found from both ends.
#[track_caller]
pub(super) fn check(text: &str, kind: &str, want: &[&str]) {
    let graph = &graph(text);
    let kind = graph.edge_type(kind).expect("a type");
    let edges: Vec<Edge<'_>> = graph.edges().filter(|edge| edge.kind == kind).collect();
    let mut found: Vec<String> = edges
        .iter()
        .map(|edge| format!("{} -> {}", label(graph, edge.from), label(graph, edge.to)))
        .collect();
    found.dedup();
    assert_eq!(found, want);
    for edge in &edges {
        assert!(graph.out(edge.from, kind).any(|other| other.to == edge.to), "out {edge:?}");
        assert!(graph.incoming(edge.to, kind).any(|other| other.from == edge.from), "into {edge:?}");
        assert!(graph.neighbours(edge.from, kind).any(|id| id == edge.to), "near {edge:?}");
        assert!(graph.neighbours(edge.to, kind).any(|id| id == edge.from), "near {edge:?}");
        for (a, b) in [(edge.from, edge.to), (edge.to, edge.from)] {
            let between = graph.between(a, b, kind).expect("an edge between");
            assert!(between.kind == kind && [between.from, between.to].contains(&a));
        }
    }
}

/// Checks the fields and strengths of the edges of one type.
#[track_caller]
pub(super) fn check_via(text: &str, kind: &str, want: &[&str]) {
    let graph = &graph(text);
    let kind = graph.edge_type(kind).expect("a type");
    let edges = graph.edges().filter(|edge| edge.kind == kind);
    let found: Vec<String> = edges
        .map(|edge| format!("{} {} {}", label(graph, edge.to), edge.via, edge.strength.name()))
        .collect();
    assert_eq!(found, want);
}
