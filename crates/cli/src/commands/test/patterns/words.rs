//! Objects and evidence in the notation of cases.

use kubewright_graph::{Graph, GraphNode, Id};
use kubewright_patterns::Evidence;

use super::file::ExpectedEvidence;

/// `Kind/namespace/name`, as cases write it.
pub(super) fn case_object_name(graph: &Graph, id: Id) -> String {
    graph.node(id).map_or_else(String::new, |node| kind_object_name(&node.kind, node))
}

/// The same with another form of the kind.
pub(super) fn kind_object_name(kind: &str, node: &GraphNode) -> String {
    match node.namespace.as_str() {
        "" => format!("{kind}/{}", node.name),
        namespace => format!("{kind}/{namespace}/{}", node.name),
    }
}

/// Returns the expected evidence as text.
pub(super) fn expected_evidence_text(expected: &ExpectedEvidence) -> String {
    let mut text = format!("`{}`", expected.entry);
    match expected.held {
        Some(true) => text.push_str(" held"),
        Some(false) => text.push_str(" not held"),
        None => {}
    }
    let parts = [
        ("from", expected.from.clone()),
        ("to", expected.to.clone()),
        ("through", expected.through.clone()),
        ("via", expected.via.clone()),
        ("points", expected.points.as_ref().map(ToString::to_string)),
    ];
    for (what, value) in parts {
        if let Some(value) = value {
            text.push_str(&format!(" {what} {value}"));
        }
    }
    text
}

/// Returns the evidence of a relationship as text.
pub(super) fn evidence_text(evidence: &Evidence, graph: &Graph) -> String {
    let held = if evidence.held { "held" } else { "not held" };
    let mut text = format!("`{}` ({}) {held}", evidence.entry, evidence.rule);
    let parts = [("from", evidence.from), ("to", evidence.to), ("through", evidence.through)];
    for (what, id) in parts {
        if let Some(id) = id {
            text.push_str(&format!(" {what} {}", case_object_name(graph, id)));
        }
    }
    if !evidence.via.is_empty() {
        text.push_str(&format!(" via {}", evidence.via));
    }
    if !evidence.points.is_zero() {
        text.push_str(&format!(", {} points", evidence.points));
    }
    text
}
