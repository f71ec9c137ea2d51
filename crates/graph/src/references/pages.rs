//! The examples of the documentation pages, executed.

use kubewright_value::{Source, Value, yaml};

use super::References;
use crate::{Graph, Id};

const REFERENCES: &str = include_str!("../../guides/references.md");

#[test]
fn the_example_of_the_page_of_references_works() {
    let mut blocks = REFERENCES.split("```yaml\n").skip(1).filter_map(|block| block.split("```").next());
    let mut read = || yaml::read(&Source::new("example.yaml", blocks.next().unwrap())).documents;
    let (references, problems) = References::default().with(&read().remove(0));
    assert!(problems.is_empty(), "{problems:?}");
    let objects: Vec<Value> = read().into_iter().map(|document| document.value).collect();
    let graph = Graph::build(objects, &references);
    let name = |id: Id| {
        let node = graph.node(id).unwrap();
        let namespace =
            if node.namespace.is_empty() { String::new() } else { format!("{}/", node.namespace) };
        let absent = if node.object.is_none() { " (absent)" } else { "" };
        format!("{} {namespace}{}{absent}", node.kind, node.name)
    };
    let edges = graph.edges().filter(|edge| graph.edge_type_name(edge.kind) != "IS_NAMESPACE_OF");
    let found: Vec<String> = edges
        .map(|edge| {
            format!(
                "| {} | {} | {} | `{}` |",
                name(edge.from),
                graph.edge_type_name(edge.kind),
                name(edge.to),
                edge.via
            )
        })
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for row in found {
        assert!(REFERENCES.lines().any(|line| line == row), "{row}");
    }
}
