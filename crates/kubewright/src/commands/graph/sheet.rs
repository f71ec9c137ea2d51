//! The picture of what a pattern says about a few objects: boxes for objects and for those that are not there.

use std::collections::HashMap;

use kubewright_draw::{
    Badge, Class, FrameLabel, LineStyle, Picture, PictureLine, PictureNode, Tone, kind_layer, picture_node,
};
use kubewright_engine::nearest_word;
use kubewright_graph::{Graph, Id, Sort};
use kubewright_patterns::{self as patterns, LabelDifference, MissReason, Pattern};
use kubewright_value::{Budget, Text};

/// How many conditions of a resource are told.
const CONDITIONS: usize = 6;

/// A picture in the making.
pub(super) struct Sheet<'s> {
    pub(super) graph: &'s Graph,
    pub(super) picture: Picture,
    /// The frame that boxes are put into; empty for those of their namespaces.
    frame: Text,
    /// The namespace that the frame names.
    namespace: Text,
    /// Boxes of the frame.
    places: HashMap<Subject, usize>,
}

/// What a box stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    Object(Id),
    /// What a resource of the pattern would be.
    Nobody(Text),
}

/// One line to draw.
#[derive(Debug, Clone)]
pub(super) struct Tie<'t> {
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

    /// Starts a frame for what is about `leader`. What was drawn so far is drawn again if it is needed.
    pub(super) fn frame(&mut self, number: usize, leader: Option<Id>) {
        let node = leader.and_then(|leader| self.graph.node(leader));
        let name = node.map(super::focus::named).unwrap_or_default();
        self.namespace = node.map(|node| node.namespace.clone()).unwrap_or_default();
        self.frame = format!("finding {number:05}").into();
        self.places.clear();
        let label = format!("{number}. {name}").into();
        self.picture.groups.push(FrameLabel { frame: self.frame.clone(), label });
    }

    /// Returns whether an object has a box in this frame.
    pub(super) fn has(&self, id: Id) -> bool {
        self.places.contains_key(&Subject::Object(id))
    }

    /// Returns the box of an object.
    pub(super) fn object(&mut self, id: Id) -> usize {
        if let Some(place) = self.places.get(&Subject::Object(id)) {
            return *place;
        }
        let mut node = self.graph.node(id).map(|node| picture_node(node, false)).unwrap_or_default();
        if !self.frame.is_empty() && !node.namespace.is_empty() && node.namespace != self.namespace {
            // The frame says where the others live.
            node.label = format!("{}/{}", node.namespace, node.label).into();
        }
        self.add(Subject::Object(id), node)
    }

    /// Returns the box of what `role` would be, if it were there.
    pub(super) fn nobody(&mut self, pattern: &Pattern, role: &Text, beside: Id) -> usize {
        if let Some(place) = self.places.get(&Subject::Nobody(role.clone())) {
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
        notes.extend(conditions.into_iter().take(CONDITIONS).map(Text::from));
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
        self.add(Subject::Nobody(role.clone()), node)
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

    /// Draws a relationship that is there between two objects, the way it leads in the graph.
    pub(super) fn related(&mut self, one: Id, other: Id, tie: &Tie<'_>) {
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
            tie.via = format!("{} of {}", tie.via, super::focus::named(through)).into();
        }
        let (from, to) = (self.object(from), self.object(to));
        self.line(from, to, &tie);
    }

    /// Draws a relationship that is there between two objects through a third one.
    pub(super) fn related_through(&mut self, one: Id, other: Id, through: Id, tie: &Tie<'_>) {
        self.related(one, through, tie);
        self.related(other, through, &Tie { via: Text::default(), points: None, ..tie.clone() });
    }

    /// Draws a relationship that is not there; from left to right as kinds mostly stand.
    pub(super) fn missing(&mut self, one: usize, other: usize, tie: &Tie<'_>) {
        let kind = |place: usize| self.picture.nodes.get(place).map_or("", |node| node.kind.as_str());
        let is_turned = kind_layer(kind(other)) < kind_layer(kind(one));
        let (from, to) = if is_turned { (other, one) } else { (one, other) };
        self.line(from, to, &Tie { style: LineStyle::Missing, ..tie.clone() });
    }

    /// Draws a relationship that is not there with the object that it nearly is with. Returns why it is not, or nothing
    /// where no object is near.
    pub(super) fn nearly(
        &mut self,
        pattern: &Pattern,
        entry: &str,
        leader: Id,
        tie: &Tie<'_>,
    ) -> Option<String> {
        let near = patterns::near_misses(pattern, entry, leader, self.graph, 1, &mut Budget::default());
        let near = near.ok().flatten().and_then(|near| near.near.into_iter().next())?;
        let node = self.graph.node(near.id).filter(|node| node.sort == Sort::Object)?;
        let MissReason::Labels(differences) = &near.miss else { return None };
        if !differences.iter().all(is_alike) || self.places.contains_key(&Subject::Object(near.id)) {
            return None;
        }
        let why = differences.iter().map(difference).collect::<Vec<_>>().join(", ");
        let (from, to) = (self.object(leader), self.object(near.id));
        self.note(to, format!("comes nearest: {why}"));
        let labels: Vec<&str> = differences.iter().map(|one| one.label.as_str()).collect();
        let label = format!("{} ({} differs)", tie.label, labels.join(", "));
        self.missing(from, to, &Tie { label: &label, ..tie.clone() });
        Some(format!("{} comes nearest: {why}", super::focus::named(node)))
    }

    fn add(&mut self, subject: Subject, mut node: PictureNode) -> usize {
        node.frame = self.frame.clone();
        let place = self.picture.nodes.len();
        self.picture.nodes.push(node);
        self.places.insert(subject, place);
        place
    }

    fn line(&mut self, from: usize, to: usize, tie: &Tie<'_>) {
        let Tie { label, via, style, points } = tie.clone();
        let line = PictureLine { from, to, label: label.into(), via, style, points };
        if !self.picture.lines.contains(&line) {
            self.picture.lines.push(line);
        }
    }
}

/// Whether a label is wrong by so little that the object may be meant.
fn is_alike(difference: &LabelDifference) -> bool {
    let wanted = difference.wanted.split_once('=').map_or("", |(_, value)| value);
    let found = difference.found.as_deref().unwrap_or_default();
    let is_part =
        !found.is_empty() && !wanted.is_empty() && (wanted.contains(found) || found.contains(wanted));
    is_part || nearest_word(wanted, [found]).is_some()
}

fn difference(difference: &LabelDifference) -> String {
    match &difference.found {
        Some(found) => format!("wants {}, has {found}", difference.wanted),
        None => format!("wants {}, has none", difference.wanted),
    }
}
