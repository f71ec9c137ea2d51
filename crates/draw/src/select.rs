//! Selecting a part of a picture, and removing redundant lines.

use super::kinds::kind_layer;
use super::slots::IndexedList;
use super::{LineStyle, Picture};
use kubewright_graph::EdgeTypeSpec;
use kubewright_value::Text;
use std::collections::{HashMap, HashSet};

/// Owners of one object that are looked at.
const MAX_OWNERS_PER_OBJECT: usize = 16;

/// The direction in which lines are followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FollowDirection {
    /// Against the lines: to the objects that refer to it.
    In,
    /// Along the lines: to the objects that it refers to.
    Out,
    /// Either.
    #[default]
    Both,
}

impl Picture {
    /// Returns the part of the picture that is at most `depth` lines away from `places`.
    ///
    /// Hubs, such as cluster nodes, are included but not followed.
    #[must_use]
    pub fn around(&self, places: &[usize], depth: usize, way: FollowDirection) -> Self {
        let count = self.nodes.len();
        let mut near: IndexedList<Vec<usize>> = IndexedList::new(count);
        for line in self.lines.iter().filter(|line| line.from.max(line.to) < count) {
            if way != FollowDirection::In {
                near.change(line.from, |all| all.push(line.to));
            }
            if way != FollowDirection::Out {
                near.change(line.to, |all| all.push(line.from));
            }
        }
        let mut is_in: IndexedList<bool> = IndexedList::new(count);
        let mut edge: Vec<usize> = places.iter().copied().filter(|place| *place < count).collect();
        edge.iter().for_each(|place| is_in.set(*place, true));
        for _ in 0..depth {
            let mut next = Vec::new();
            for &other in edge.iter().flat_map(|place| near.of(*place)) {
                if !is_in.at(other) {
                    is_in.set(other, true);
                    next.push(other);
                }
            }
            next.retain(|place| self.nodes.get(*place).is_some_and(|node| !is_hub(&node.kind)));
            if next.is_empty() {
                break;
            }
            edge = next;
        }
        self.part(&is_in)
    }

    /// Leaves out lines that the picture shows already, and returns how many.
    ///
    /// A frame says what is in a namespace, so lines from a Namespace to its objects go. A workload
    /// that owns what owns a Pod need not be linked to the Pod, nor to what the Pod is linked to
    /// in the same way. Missing and scored lines stay.
    pub fn simplify(&mut self) -> usize {
        let before = self.lines.len();
        let mut owners: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut owned: HashSet<(usize, usize)> = HashSet::new();
        for line in
            self.lines.iter().filter(|line| is_ownership(&line.label) && line.style != LineStyle::Missing)
        {
            if line.from != line.to && owned.insert((line.from, line.to)) {
                owners.entry(line.to).or_default().push(line.from);
                children.entry(line.from).or_default().push(line.to);
            }
        }
        let first = |all: &HashMap<usize, Vec<usize>>, place: usize| -> Vec<usize> {
            let some = all.get(&place).map_or(&[][..], Vec::as_slice);
            some.iter().take(MAX_OWNERS_PER_OBJECT).copied().collect()
        };
        // Of two that own each other, one line must stay.
        let owns = |one: usize, other: usize| owned.contains(&(one, other)) && !owned.contains(&(other, one));
        let known: HashSet<(usize, usize, Text)> =
            self.lines.iter().map(|line| (line.from, line.to, line.label.clone())).collect();
        let nodes = &self.nodes;
        self.lines.retain(|line| {
            if line.style == LineStyle::Missing || line.points.is_some() {
                return true;
            }
            let (Some(from), Some(to)) = (nodes.get(line.from), nodes.get(line.to)) else { return false };
            if from.kind == "Namespace" && from.label == to.namespace {
                return false;
            }
            if is_ownership(&line.label) {
                if line.label == "MANAGES" && known.contains(&(line.from, line.to, Text::from("OWNS"))) {
                    return false;
                }
                return !first(&owners, line.to).iter().any(|middle| owns(line.from, *middle));
            }
            // Of two that name each other, the left one says it.
            let reversed = (line.to, line.from, line.label.clone());
            if line.from != line.to
                && known.contains(&reversed)
                && kind_layer(&from.kind) > kind_layer(&to.kind)
            {
                return false;
            }
            let from_child = first(&children, line.from)
                .into_iter()
                .any(|child| owns(line.from, child) && known.contains(&(child, line.to, line.label.clone())));
            let to_child = first(&children, line.to)
                .into_iter()
                .any(|child| owns(line.to, child) && known.contains(&(line.from, child, line.label.clone())));
            !(from_child || to_child)
        });
        before - self.lines.len()
    }

    /// The nodes that are in, and the lines between them.
    fn part(&self, is_in: &IndexedList<bool>) -> Self {
        let mut moved: IndexedList<usize> = IndexedList::new(self.nodes.len());
        let mut nodes = Vec::new();
        for (place, node) in self.nodes.iter().enumerate().filter(|(place, _)| is_in.at(*place)) {
            moved.set(place, nodes.len());
            nodes.push(node.clone());
        }
        let lines = self.lines.iter().filter(|line| is_in.at(line.from) && is_in.at(line.to)).cloned();
        let lines = lines
            .map(|mut line| {
                (line.from, line.to) = (moved.at(line.from), moved.at(line.to));
                line
            })
            .collect();
        Self { nodes, lines, ..self.clone_words() }
    }

    fn clone_words(&self) -> Self {
        Self {
            title: self.title.clone(),
            groups: self.groups.clone(),
            legend: self.legend.clone(),
            open: self.open.clone(),
            ..Self::default()
        }
    }
}

/// Whether so much hangs on one object of this kind that two neighbours of it are not near.
pub(super) fn is_hub(kind: &str) -> bool {
    kind.ends_with("Class")
        || matches!(
            kind,
            "Namespace"
                | "Node"
                | "NetworkPolicy"
                | "Image"
                | "ClusterRole"
                | "CustomResourceDefinition"
                | "CSIDriver"
        )
}

pub(super) fn is_ownership(label: &str) -> bool {
    EdgeTypeSpec::named(label).is_some_and(|spec| spec.is_ownership)
}
