//! The picture of a graph: the only module that knows [`kubewright_graph`].
//!
//! Much of what a graph knows says little in a picture: which image a container has, which node a Pod runs on, the
//! ReplicaSets of last year. It is left out unless somebody asks for it, and the picture says what was.

mod noise;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::select::is_hub;
use super::{Class, Line, Node, Picture, Style};
use kubewright_graph::{Edge, EdgeType, Graph, Id, Sort, Strength};
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
    /// What it is about: where that says little in a picture of everything, its edges say much in one of its own.
    pub focus: Option<Id>,
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
    /// Whether there are more edges than are looked at.
    pub is_cut: bool,
}

/// How many edges are looked at, and how many are drawn or counted.
const MOST_EDGES: usize = 4_000_000;
const MOST_LINES: usize = 300_000;

impl Picture {
    /// Returns the picture of what `choice` wants of a graph.
    #[must_use]
    pub fn of(graph: &Graph, choice: &Choice) -> Drawn {
        let mut drawn = Drawn::default();
        let nodes = Nodes::new(graph, choice);
        let is_asked = choice.everything || !choice.types.is_empty();
        let (mut lines, mut others): (Vec<Edge<'_>>, Vec<Edge<'_>>) = (Vec::new(), Vec::new());
        let mut linked: HashSet<Id> = HashSet::new();
        for (at, edge) in graph.edges().enumerate() {
            if at >= MOST_EDGES || lines.len() + others.len() >= MOST_LINES {
                drawn.is_cut = true;
                break;
            }
            let is_of_type = choice.types.is_empty() || choice.types.contains(&edge.kind);
            if !is_of_type || !nodes.is_near(&edge) {
                continue;
            }
            if is_asked || nodes.is_about(&edge) || nodes.is_between(&edge) && !noise::is_edge(graph, &edge) {
                linked.extend([edge.from, edge.to]);
                lines.push(edge);
            } else {
                others.push(edge);
            }
        }
        for id in graph.ids() {
            let Some(node) = graph.node(id) else { continue };
            let is_worth = choice.everything || node.sort == Sort::Object && !noise::is_alone(node);
            let is_alone = choice.types.is_empty() && nodes.is_drawn(id) && is_worth;
            if linked.contains(&id) || is_alone || choice.keep.contains(&id) {
                drawn.places.insert(id, drawn.picture.nodes.len());
                let is_context = !nodes.is_within(id) && !choice.keep.contains(&id);
                let mut node_of = node_of(node, is_context);
                if !is_asked && noise::selects_all(node) {
                    node_of.notes.push("selects every Pod of its namespace".into());
                }
                if node.kind == "Namespace" && node.group().is_empty() {
                    // In its own frame, where there is one.
                    node_of.frame = node.name.clone();
                }
                drawn.picture.nodes.push(node_of);
            } else if nodes.is_wanted(id) && choice.types.is_empty() {
                *drawn.left_out.entry(node.kind.clone()).or_default() += 1;
            }
        }
        volumes(graph, &mut drawn, &lines);
        for edge in others {
            if drawn.places.contains_key(&edge.from) && drawn.places.contains_key(&edge.to) {
                let name = graph.edge_type_name(edge.kind).into();
                *drawn.edges_left_out.entry(name).or_default() += 1;
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

/// Draws volumes where their claims are.
fn volumes(graph: &Graph, drawn: &mut Drawn, lines: &[Edge<'_>]) {
    for edge in lines.iter().filter(|edge| edge.kind == EdgeType::BOUND_TO) {
        for (volume, claim) in [(edge.from, edge.to), (edge.to, edge.from)] {
            let (Some(place), Some(claim)) = (drawn.places.get(&volume), graph.node(claim)) else { continue };
            if let Some(node) =
                drawn.picture.nodes.get_mut(*place).filter(|node| node.kind == "PersistentVolume")
            {
                node.frame = claim.namespace.clone();
                node.class = Class::Plain;
            }
        }
    }
}

/// Returns how a node of a graph is drawn.
#[must_use]
pub fn node_of(node: &kubewright_graph::Node, is_context: bool) -> Node {
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
    /// The focus, where it would say little otherwise.
    about: Option<Id>,
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
        let is_about = |id: &Id| {
            graph.node(*id).is_some_and(|node| noise::is_node(graph, *id, node) || is_hub(&node.kind))
        };
        Self { choice, graph, noise, about: choice.focus.filter(is_about) }
    }

    /// Whether an edge is one of a focus that is left out elsewhere.
    fn is_about(&self, edge: &Edge<'_>) -> bool {
        let is_telling = |id| !self.noise.contains(&id);
        self.about == Some(edge.from) && is_telling(edge.to)
            || self.about == Some(edge.to) && is_telling(edge.from)
    }

    /// Whether both ends of an edge say something.
    fn is_between(&self, edge: &Edge<'_>) -> bool {
        self.is_telling(edge.from) && self.is_telling(edge.to)
    }

    /// Whether it is in one of the namespaces asked for.
    fn is_within(&self, id: Id) -> bool {
        let namespaces = &self.choice.namespaces;
        namespaces.is_empty() || self.graph.node(id).is_some_and(|node| namespaces.contains(&node.namespace))
    }

    fn is_of_kind(&self, id: Id) -> bool {
        let kinds = &self.choice.kinds;
        let is_of =
            |node: &kubewright_graph::Node| kinds.iter().any(|kind| kind.eq_ignore_ascii_case(&node.kind));
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
