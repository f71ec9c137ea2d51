//! A graph as a picture.
//!
//! Much of what a graph knows says little in a picture: which image a container has, which node a Pod runs on, the
//! ReplicaSets of last year. It is left out unless somebody asks for it, and the picture says what was.

mod noise;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Class, Line, Node, Picture, Style};
use crate::{Edge, EdgeType, Graph, Id, Sort, Strength};
use kubewright_value::Text;

/// Which part of a graph is drawn.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Only edges of these types, and what they join; empty for those that people mostly want.
    pub types: Vec<EdgeType>,
    /// Whether nothing is left out for saying little.
    pub everything: bool,
    /// Only what is in these namespaces, and faded what that is linked to; empty for all.
    pub namespaces: Vec<Text>,
    /// Only these kinds, whatever their case; empty for all.
    pub kinds: Vec<Text>,
    /// Nodes that are drawn whatever else is left out.
    pub keep: HashSet<Id>,
}

/// A picture of a graph, and what it is of.
#[derive(Debug, Clone, Default)]
pub struct Drawn {
    /// The picture.
    pub picture: Picture,
    /// Where nodes of the graph are in it.
    pub places: HashMap<Id, usize>,
    /// How many nodes of each kind say too little to be drawn.
    pub left_out: BTreeMap<Text, usize>,
    /// How many edges of each type say too little to be drawn, though both ends are.
    pub edges_left_out: BTreeMap<Text, usize>,
}

impl Picture {
    /// Returns the picture of what `choice` wants of a graph.
    #[must_use]
    pub fn of(graph: &Graph, choice: &Choice) -> Drawn {
        let mut drawn = Drawn::default();
        let nodes = Nodes::new(graph, choice);
        let mut lines: Vec<Edge<'_>> = Vec::new();
        let mut linked: HashSet<Id> = HashSet::new();
        for edge in graph.edges().filter(|edge| choice.types.is_empty() || choice.types.contains(&edge.kind))
        {
            if !nodes.is_near(&edge) {
                continue;
            }
            let is_asked = choice.everything || !choice.types.is_empty();
            if !is_asked && noise::is_edge(graph, &edge) {
                if nodes.is_drawn(edge.from) && nodes.is_drawn(edge.to) {
                    let name = graph.edge_type_name(edge.kind).into();
                    *drawn.edges_left_out.entry(name).or_default() += 1;
                }
                continue;
            }
            if is_asked || nodes.is_telling(edge.from) && nodes.is_telling(edge.to) {
                linked.extend([edge.from, edge.to]);
                lines.push(edge);
            }
        }
        for id in graph.ids() {
            let Some(node) = graph.node(id) else { continue };
            let is_alone_worth = choice.types.is_empty()
                && nodes.is_drawn(id)
                && (choice.everything || node.sort == Sort::Object);
            if linked.contains(&id) || is_alone_worth || choice.keep.contains(&id) {
                drawn.places.insert(id, drawn.picture.nodes.len());
                let is_context = !nodes.is_within(id) && !choice.keep.contains(&id);
                drawn.picture.nodes.push(node_of(node, is_context));
            } else if nodes.is_wanted(id) && choice.types.is_empty() && node.sort == Sort::Object {
                *drawn.left_out.entry(node.kind.clone()).or_default() += 1;
            }
        }
        let places = &drawn.places;
        let line = |edge: Edge<'_>| {
            let style = if edge.strength == Strength::Required { Style::Solid } else { Style::Dashed };
            let label = graph.edge_type_name(edge.kind).into();
            let (from, to) = (*places.get(&edge.from)?, *places.get(&edge.to)?);
            Some(Line { from, to, label, via: edge.via.into(), style, points: None })
        };
        drawn.picture.lines = lines.into_iter().filter_map(line).collect();
        drawn
    }
}

/// Returns how a node of a graph is drawn.
#[must_use]
pub fn node_of(node: &crate::Node, is_context: bool) -> Node {
    let class = match node.sort {
        Sort::Object if is_context => Class::Faded,
        Sort::Object => Class::Plain,
        Sort::Absent => Class::Absent,
        Sort::Virtual => Class::Virtual,
    };
    let place = if node.namespace.is_empty() { String::new() } else { format!("{}/", node.namespace) };
    let group = if node.group().is_empty() { String::new() } else { format!(".{}", node.group()) };
    let id = format!("{}{group}/{place}{}", node.kind, node.name).into();
    let (label, kind, namespace) = (node.name.clone(), node.kind.clone(), node.namespace.clone());
    Node { id, label, kind, namespace, class, ..Node::default() }
}

/// What is said of each node before any edge is looked at.
struct Nodes<'g> {
    choice: &'g Choice,
    graph: &'g Graph,
    /// Those that say little.
    noise: HashSet<Id>,
}

impl<'g> Nodes<'g> {
    fn new(graph: &'g Graph, choice: &'g Choice) -> Self {
        let mut noise = HashSet::new();
        if !choice.everything {
            let is_noise = |id: &Id| {
                !choice.keep.contains(id)
                    && graph.node(*id).is_some_and(|node| noise::is_node(graph, *id, node))
            };
            noise.extend(graph.ids().filter(is_noise));
        }
        Self { choice, graph, noise }
    }

    /// Whether it is in one of the namespaces asked for.
    fn is_within(&self, id: Id) -> bool {
        let namespaces = &self.choice.namespaces;
        namespaces.is_empty() || self.graph.node(id).is_some_and(|node| namespaces.contains(&node.namespace))
    }

    fn is_of_kind(&self, id: Id) -> bool {
        let kinds = &self.choice.kinds;
        let is_of = |node: &crate::Node| kinds.iter().any(|kind| kind.eq_ignore_ascii_case(&node.kind));
        kinds.is_empty() || self.graph.node(id).is_some_and(is_of)
    }

    /// Whether it was asked for.
    fn is_wanted(&self, id: Id) -> bool {
        self.is_within(id) && self.is_of_kind(id)
    }

    /// Whether it says something. A kind that is asked for does.
    fn is_telling(&self, id: Id) -> bool {
        !self.choice.kinds.is_empty() || !self.noise.contains(&id)
    }

    fn is_drawn(&self, id: Id) -> bool {
        self.is_wanted(id) && self.is_telling(id)
    }

    /// Whether an edge joins what is wanted with itself or its surroundings.
    fn is_near(&self, edge: &Edge<'_>) -> bool {
        (self.is_within(edge.from) || self.is_within(edge.to))
            && self.is_of_kind(edge.from)
            && self.is_of_kind(edge.to)
    }
}
