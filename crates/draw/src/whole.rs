//! The picture of a graph: the only module that knows [`kubewright_graph`].
//!
//! Details that clutter a picture (images, cluster nodes, old ReplicaSets) are left out unless they are asked for, and the
//! result counts them.

mod noise;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::select::is_hub;
use super::{Class, LineStyle, Picture, PictureLine, PictureNode};
use kubewright_graph::{Edge, EdgeType, Graph, Id, Sort, Strength};
use kubewright_value::{Text, Value};

/// Which part of a graph is drawn.
#[derive(Debug, Clone, Default)]
pub struct PictureScope {
    /// Only edges of these types and their ends; empty for every type that is not noisy.
    pub types: Vec<EdgeType>,
    /// Whether noisy nodes and edges are drawn, too.
    pub everything: bool,
    /// Only objects in these namespaces, with their neighbours faded; empty for all.
    pub namespaces: Vec<Text>,
    /// Only these kinds, whatever their case; empty for all.
    pub kinds: Vec<Text>,
    /// Nodes that are always drawn.
    pub keep: HashSet<Id>,
    /// The object in focus, whose edges are drawn even if they are noisy elsewhere.
    pub focus: Option<Id>,
}

/// A picture of a graph, with the positions of its nodes.
#[derive(Debug, Clone, Default)]
pub struct GraphPicture {
    /// The picture.
    pub picture: Picture,
    /// Where nodes of the graph are in it.
    pub places: HashMap<Id, usize>,
    /// The number of noisy nodes left out, by kind.
    pub left_out: BTreeMap<Text, usize>,
    /// The number of noisy edges left out between drawn nodes, by type.
    pub edges_left_out: BTreeMap<Text, usize>,
    /// Whether the graph has more edges than were read.
    pub is_cut: bool,
}

/// Limits of edges that are read, and of those that are drawn or counted.
const MAX_EDGES_READ: usize = 4_000_000;
const MAX_LINES_COUNTED: usize = 300_000;

impl Picture {
    /// Returns the picture of what `choice` wants of a graph.
    #[must_use]
    pub fn of(graph: &Graph, choice: &PictureScope) -> GraphPicture {
        let mut drawn = GraphPicture::default();
        let nodes = Nodes::new(graph, choice);
        let is_asked = choice.everything || !choice.types.is_empty();
        let (mut lines, mut others): (Vec<Edge<'_>>, Vec<Edge<'_>>) = (Vec::new(), Vec::new());
        let mut linked: HashSet<Id> = HashSet::new();
        for (at, edge) in graph.edges().enumerate() {
            if at >= MAX_EDGES_READ || lines.len() + others.len() >= MAX_LINES_COUNTED {
                drawn.is_cut = true;
                break;
            }
            let is_of_type = choice.types.is_empty() || choice.types.contains(&edge.kind);
            if !is_of_type || !nodes.is_near(&edge) {
                continue;
            }
            if is_asked
                || nodes.is_about(&edge)
                || nodes.is_between(&edge) && !noise::is_noisy_edge(graph, &edge)
            {
                linked.extend([edge.from, edge.to]);
                lines.push(edge);
            } else {
                others.push(edge);
            }
        }
        for id in graph.ids() {
            let Some(node) = graph.node(id) else { continue };
            let is_worth = choice.everything || node.sort == Sort::Object && !noise::is_noisy_alone(node);
            let is_alone = choice.types.is_empty() && nodes.is_drawn(id) && is_worth;
            if linked.contains(&id) || is_alone || choice.keep.contains(&id) {
                drawn.places.insert(id, drawn.picture.nodes.len());
                let is_context = !nodes.is_within(id) && !choice.keep.contains(&id);
                let mut node_of = picture_node(node, is_context);
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
        move_volumes_to_claims(graph, &mut drawn, &lines);
        for edge in others {
            if drawn.places.contains_key(&edge.from) && drawn.places.contains_key(&edge.to) {
                let name = graph.edge_type_name(edge.kind).into();
                *drawn.edges_left_out.entry(name).or_default() += 1;
            }
        }
        let places = &drawn.places;
        let line = |edge: Edge<'_>| {
            let style =
                if edge.strength == Strength::Required { LineStyle::Solid } else { LineStyle::Dashed };
            let label = graph.edge_type_name(edge.kind).into();
            let (from, to) = (*places.get(&edge.from)?, *places.get(&edge.to)?);
            Some(PictureLine { from, to, label, via: edge.via.into(), style, points: None })
        };
        drawn.picture.lines = lines.into_iter().filter_map(line).collect();
        drawn
    }
}

/// Draws volumes where their claims are.
fn move_volumes_to_claims(graph: &Graph, drawn: &mut GraphPicture, lines: &[Edge<'_>]) {
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
pub fn picture_node(node: &kubewright_graph::GraphNode, is_context: bool) -> PictureNode {
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
    let application = node.object.as_ref().map(application_of).unwrap_or_default();
    PictureNode { id, label, kind, namespace, class, application, ..PictureNode::default() }
}

/// Returns the application that the labels of an object name; empty where they name none.
fn application_of(object: &Value) -> Text {
    let labels = object.at(&["metadata", "labels"]);
    let label = |name: &str| labels.and_then(|labels| labels.get(name)).and_then(Value::as_str);
    ["app.kubernetes.io/name", "app.kubernetes.io/instance", "app", "k8s-app"]
        .iter()
        .find_map(|name| label(name).filter(|value| !value.is_empty()))
        .unwrap_or_default()
        .into()
}

/// The nodes to draw, decided before any edge is read.
struct Nodes<'g> {
    choice: &'g PictureScope,
    graph: &'g Graph,
    /// The noisy ones.
    noise: HashSet<Id>,
    /// The focus, if it would be noisy otherwise.
    about: Option<Id>,
}

impl<'g> Nodes<'g> {
    fn new(graph: &'g Graph, choice: &'g PictureScope) -> Self {
        let mut noise = HashSet::new();
        if !choice.everything {
            let is_noise = |id: &Id| {
                !choice.keep.contains(id)
                    && graph.node(*id).is_some_and(|node| noise::is_noisy_node(graph, *id, node))
            };
            noise.extend(graph.ids().filter(is_noise));
        }
        let is_about = |id: &Id| {
            graph.node(*id).is_some_and(|node| noise::is_noisy_node(graph, *id, node) || is_hub(&node.kind))
        };
        Self { choice, graph, noise, about: choice.focus.filter(is_about) }
    }

    /// Whether an edge is one of a focus that is left out elsewhere.
    fn is_about(&self, edge: &Edge<'_>) -> bool {
        let is_telling = |id| !self.noise.contains(&id);
        self.about == Some(edge.from) && is_telling(edge.to)
            || self.about == Some(edge.to) && is_telling(edge.from)
    }

    /// Whether neither end of an edge is noisy.
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
        let is_of = |node: &kubewright_graph::GraphNode| {
            kinds.iter().any(|kind| kind.eq_ignore_ascii_case(&node.kind))
        };
        kinds.is_empty() || self.graph.node(id).is_some_and(is_of)
    }

    /// Whether it was asked for.
    fn is_wanted(&self, id: Id) -> bool {
        self.is_within(id) && self.is_of_kind(id)
    }

    /// Whether a node is not noisy. Kinds that are asked for never are.
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
