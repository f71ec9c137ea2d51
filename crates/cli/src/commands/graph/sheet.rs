//! The picture of a finding: boxes for objects and for missing ones.

use std::collections::HashMap;

use kubewright_draw::{
    Badge, Class, FrameLabel, LineStyle, Picture, PictureLine, PictureNode, Tone, kind_layer, picture_node,
};
use kubewright_engine::nearest_word;
use kubewright_graph::{Graph, Id, Sort};
use kubewright_patterns::{self as patterns, LabelDifference, MissReason, Pattern};
use kubewright_value::{Budget, Text};

/// The maximum number of conditions listed for a resource.
const MAX_CONDITIONS: usize = 6;

/// A picture that is being built.
pub(super) struct Sheet<'s> {
    pub(super) graph: &'s Graph,
    pub(super) picture: Picture,
    /// The frame that boxes are put into; empty for the frames of their namespaces.
    frame: Text,
    /// The namespace that the frame names.
    namespace: Text,
    /// Boxes of the frame.
    places: HashMap<BoxSubject, usize>,
}

/// The subject of a box.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum BoxSubject {
    Object(Id),
    /// A resource of the pattern that no object fills.
    Missing(Text),
}

/// One line to draw.
#[derive(Debug, Clone)]
pub(super) struct SheetLine<'t> {
    /// The type of the relationship.
    pub(super) label: &'t str,
    /// The field that made it, where it is known.
    pub(super) via: Text,
    /// How it is drawn.
    pub(super) style: LineStyle,
    /// What it adds to the score.
    pub(super) points: Option<f64>,
}

impl<'s> Sheet<'s> {
    pub(super) fn new(graph: &'s Graph) -> Self {
        let (frame, namespace) = (Text::default(), Text::default());
        Self { graph, picture: Picture::default(), frame, namespace, places: HashMap::new() }
    }

    /// Starts a frame for `leader`. Objects of earlier frames get a new box.
    pub(super) fn frame(&mut self, number: usize, leader: Option<Id>) {
        let node = leader.and_then(|leader| self.graph.node(leader));
        let name = node.map(super::focus::node_argument).unwrap_or_default();
        self.namespace = node.map(|node| node.namespace.clone()).unwrap_or_default();
        self.frame = format!("finding {number:05}").into();
        self.places.clear();
        let label = format!("{number}. {name}").into();
        self.picture.groups.push(FrameLabel { frame: self.frame.clone(), label });
    }

    /// Returns whether an object has a box in this frame.
    pub(super) fn has(&self, id: Id) -> bool {
        self.places.contains_key(&BoxSubject::Object(id))
    }

    /// Returns the box of an object.
    pub(super) fn object(&mut self, id: Id) -> usize {
        if let Some(place) = self.places.get(&BoxSubject::Object(id)) {
            return *place;
        }
        let mut node = self.graph.node(id).map(|node| picture_node(node, false)).unwrap_or_default();
        if !self.frame.is_empty() && !node.namespace.is_empty() && node.namespace != self.namespace {
            // The frame says where the others live.
            node.label = format!("{}/{}", node.namespace, node.label).into();
        }
        self.add(BoxSubject::Object(id), node)
    }

    /// Returns the box of the missing object of `role`.
    pub(super) fn missing_box(&mut self, pattern: &Pattern, role: &Text, beside: Id) -> usize {
        if let Some(place) = self.places.get(&BoxSubject::Missing(role.clone())) {
            return *place;
        }
        let resource = pattern.resource(role);
        let (kinds, conditions) = resource.map(|one| (one.kinds, one.conditions)).unwrap_or_default();
        let kind = kinds.first().cloned().unwrap_or_default();
        let named: Vec<&str> = kinds.iter().map(Text::as_str).collect();
        let label =
            if named.len() > 1 { format!("none of {} kinds", named.len()) } else { "none".to_owned() };
        let mut notes: Vec<Text> = Vec::new();
        if named.len() > 1 {
            notes.push(format!("of the kinds {}", named.join(", ")).into());
        }
        notes.extend(conditions.into_iter().take(MAX_CONDITIONS).map(Text::from));
        let namespace = self.graph.node(beside).map(|node| node.namespace.clone()).unwrap_or_default();
        let node = PictureNode {
            id: format!("absent/{}/{role}", self.frame).into(),
            label: label.into(),
            kind,
            namespace,
            badges: vec![Badge { tone: Tone::Role, text: role.clone() }],
            class: Class::Absent,
            notes,
            ..PictureNode::default()
        };
        self.add(BoxSubject::Missing(role.clone()), node)
    }

    /// Returns a box for an object that two should have in common, of the kind of `like`.
    pub(super) fn common_box(&mut self, like: Option<Id>, beside: Id) -> usize {
        let subject = BoxSubject::Missing("in common".into());
        if let Some(place) = self.places.get(&subject) {
            return *place;
        }
        let node = PictureNode {
            id: format!("absent/{}/in-common", self.frame).into(),
            label: "none in common".into(),
            kind: like.and_then(|id| self.graph.node(id)).map(|node| node.kind.clone()).unwrap_or_default(),
            namespace: self.graph.node(beside).map(|node| node.namespace.clone()).unwrap_or_default(),
            class: Class::Absent,
            ..PictureNode::default()
        };
        self.add(subject, node)
    }

    /// Puts a badge on a box, once.
    pub(super) fn badge(&mut self, place: usize, tone: Tone, text: &str) {
        let badge = Badge { tone, text: text.into() };
        if let Some(node) = self.picture.nodes.get_mut(place).filter(|node| !node.badges.contains(&badge)) {
            node.badges.push(badge);
        }
    }

    pub(super) fn class(&mut self, place: usize, class: Class) {
        if let Some(node) = self.picture.nodes.get_mut(place) {
            node.class = class;
        }
    }

    pub(super) fn note(&mut self, place: usize, note: impl Into<Text>) {
        if let Some(node) = self.picture.nodes.get_mut(place) {
            node.notes.push(note.into());
        }
    }

    /// Draws an existing relationship between two objects, in the direction of its edge.
    pub(super) fn related(&mut self, one: Id, other: Id, tie: &SheetLine<'_>) {
        let graph = self.graph;
        let edge = graph.edge_type(tie.label).and_then(|kind| graph.between(one, other, kind));
        let (from, to) = edge.map_or((one, other), |edge| (edge.from, edge.to));
        let mut tie = tie.clone();
        if tie.via.is_empty()
            && let Some(edge) = edge
        {
            tie.via = edge.via.into();
        }
        if let Some(through) = edge.and_then(|edge| edge.through).and_then(|id| graph.node(id)) {
            tie.via = format!("{} of {}", tie.via, super::focus::node_argument(through)).into();
        }
        let (from, to) = (self.object(from), self.object(to));
        self.line(from, to, &tie);
    }

    /// Draws an existing relationship between two objects through a third one.
    pub(super) fn related_through(&mut self, one: Id, other: Id, through: Id, tie: &SheetLine<'_>) {
        self.related(one, through, tie);
        self.related(other, through, &SheetLine { via: Text::default(), points: None, ..tie.clone() });
    }

    /// Draws an absent relationship, from left to right in the usual order of kinds.
    pub(super) fn missing(&mut self, one: usize, other: usize, tie: &SheetLine<'_>) {
        let kind = |place: usize| self.picture.nodes.get(place).map_or("", |node| node.kind.as_str());
        let is_turned = kind_layer(kind(other)) < kind_layer(kind(one));
        let (from, to) = if is_turned { (other, one) } else { (one, other) };
        self.line(from, to, &SheetLine { style: LineStyle::Missing, ..tie.clone() });
    }

    /// Draws an absent relationship with the object that nearly matches. Returns why it does not match, or `None` if no
    /// object is near.
    pub(super) fn nearly(
        &mut self,
        pattern: &Pattern,
        entry: &str,
        leader: Id,
        tie: &SheetLine<'_>,
    ) -> Option<String> {
        let near = patterns::near_misses(pattern, entry, leader, self.graph, 1, &mut Budget::default());
        let near = near.ok().flatten().and_then(|near| near.near.into_iter().next())?;
        let node = self.graph.node(near.id).filter(|node| node.sort == Sort::Object)?;
        let MissReason::Labels(differences) = &near.miss else { return None };
        if !differences.iter().all(is_alike) || self.places.contains_key(&BoxSubject::Object(near.id)) {
            return None;
        }
        let why = differences.iter().map(label_difference_text).collect::<Vec<_>>().join(", ");
        let (from, to) = (self.object(leader), self.object(near.id));
        self.note(to, format!("comes nearest: {why}"));
        let labels: Vec<&str> = differences.iter().map(|one| one.label.as_str()).collect();
        let label = format!("{} ({} differs)", tie.label, labels.join(", "));
        self.missing(from, to, &SheetLine { label: &label, ..tie.clone() });
        Some(format!("{} comes nearest: {why}", super::focus::node_argument(node)))
    }

    fn add(&mut self, subject: BoxSubject, mut node: PictureNode) -> usize {
        node.frame = self.frame.clone();
        let place = self.picture.nodes.len();
        self.picture.nodes.push(node);
        self.places.insert(subject, place);
        place
    }

    fn line(&mut self, from: usize, to: usize, tie: &SheetLine<'_>) {
        let SheetLine { label, via, style, points } = tie.clone();
        let line = PictureLine { from, to, label: label.into(), via, style, points };
        if !self.picture.lines.contains(&line) {
            self.picture.lines.push(line);
        }
    }
}

/// Whether a label differs so little that the object is probably the intended one.
fn is_alike(difference: &LabelDifference) -> bool {
    let wanted = difference.wanted.split_once('=').map_or("", |(_, value)| value);
    let found = difference.found.as_deref().unwrap_or_default();
    let is_part =
        !found.is_empty() && !wanted.is_empty() && (wanted.contains(found) || found.contains(wanted));
    is_part || nearest_word(wanted, [found]).is_some()
}

fn label_difference_text(difference: &LabelDifference) -> String {
    match &difference.found {
        Some(found) => format!("wants {}, has {found}", difference.wanted),
        None => format!("wants {}, has none", difference.wanted),
    }
}
