//! A graph as a picture.

use std::collections::HashMap;

use super::{Class, Line, Node, Picture, Style};
use crate::{EdgeType, Graph, Id, Sort, Strength};

impl Picture {
    /// Returns the picture of a whole graph.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let mut places: HashMap<Id, usize> = HashMap::new();
        let mut picture = Self::default();
        for id in graph.ids() {
            let Some(node) = graph.node(id) else { continue };
            places.insert(id, picture.nodes.len());
            let class = match node.sort {
                Sort::Object => Class::Plain,
                Sort::Absent => Class::Absent,
                Sort::Virtual => Class::Virtual,
            };
            let id = format!("{}/{}/{}", node.kind, node.namespace, node.name).into();
            let (label, kind, namespace) = (node.name.clone(), node.kind.clone(), node.namespace.clone());
            picture.nodes.push(Node { id, label, kind, namespace, badges: Vec::new(), class });
        }
        for edge in graph.edges().filter(|edge| edge.kind != EdgeType::IS_NAMESPACE_OF) {
            let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) else { continue };
            let style = if edge.strength == Strength::Required { Style::Solid } else { Style::Dashed };
            let label = graph.edge_type_name(edge.kind).into();
            picture.lines.push(Line {
                from: *from,
                to: *to,
                label,
                via: edge.via.into(),
                style,
                points: None,
            });
        }
        picture
    }
}
