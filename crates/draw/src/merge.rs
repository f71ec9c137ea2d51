//! Which objects are drawn as one box.
//!
//! The copies that one controller makes always are, if that is wanted, and so are a controller and its Pods, and above
//! a limit of their own the objects of an application. Above the limit of boxes, in this order and only as
//! far as needed: nodes of one kind under the same neighbours, then the kinds of the largest namespaces, then whole
//! namespaces, then all that is left. Objects with roles and the ends of missing and scored lines stay themselves.

use super::application::{application_key, applications, folded_places, namespace_key};
use super::kinds::kind_appearance;
use super::select::is_ownership;
use super::slots::IndexedList;
use super::{Class, DrawOptions, LineStyle, Picture, PictureNode, Tone};
use kubewright_value::CompactSort as _;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The key that nodes of one box share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum BoxKey<'p> {
    Alone(usize),
    Replicas(usize),
    Kind(&'p str, &'p str, Class),
    Namespace(&'p str),
    /// A controller, at this place, and what it made.
    Folded(usize),
    /// A frame and an application.
    Application(&'p str, &'p str),
    Rest,
}

/// Returns the key of the box of every node.
pub(super) fn box_keys(picture: &Picture, options: DrawOptions) -> Vec<BoxKey<'_>> {
    let kept = kept_nodes(picture, options.glyphs / 2);
    if options.merges {
        let copies = replica_boxes(picture, &kept, MergeRule::Copies);
        let mut keys: Vec<BoxKey<'_>> = copies.0.into_iter().map(BoxKey::Replicas).collect();
        if options.folds {
            fold_controllers(picture, &kept, &mut keys);
        }
        if box_count(&keys) > options.applications_above {
            join_applications(picture, &kept, &mut keys);
            join_namespaces(picture, &kept, &mut keys, options.glyphs);
        }
        if box_count(&keys) <= options.glyphs {
            return keys;
        }
    } else if picture.nodes.len() <= options.glyphs {
        return (0..picture.nodes.len()).map(BoxKey::Alone).collect();
    }
    merge_boxes(picture, &kept, options.glyphs)
}

fn box_count(keys: &[BoxKey<'_>]) -> usize {
    keys.iter().collect::<HashSet<_>>().len()
}

/// Puts each controller and what it made into one box.
fn fold_controllers(picture: &Picture, kept: &IndexedList<bool>, keys: &mut [BoxKey<'_>]) {
    let places = folded_places(picture, kept);
    let folded: HashSet<usize> =
        places.iter().enumerate().filter(|(place, top)| place != *top).map(|(_, top)| *top).collect();
    for (key, top) in keys.iter_mut().zip(&places) {
        if folded.contains(top) {
            *key = BoxKey::Folded(*top);
        }
    }
}

/// Puts each application of a namespace into one box.
fn join_applications<'p>(picture: &'p Picture, kept: &IndexedList<bool>, keys: &mut [BoxKey<'p>]) {
    let names = applications(picture);
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    for (node, name) in picture.nodes.iter().zip(&names) {
        *counts.entry((node.frame(), name)).or_default() += 1;
    }
    for (place, ((node, name), key)) in picture.nodes.iter().zip(names).zip(keys).enumerate() {
        let is_several = counts.get(&(node.frame(), name)).is_some_and(|count| *count > 1);
        let is_open = || picture.open.contains(&application_key(node.frame(), name));
        if !name.is_empty() && is_several && !kept.at(place) && !is_open() {
            *key = BoxKey::Application(node.frame(), name);
        }
    }
}

/// Puts the namespaces with the most boxes into one box each, until there are at most `limit`. Opened applications stay, and
/// so do opened namespaces that have room.
fn join_namespaces<'p>(
    picture: &'p Picture,
    kept: &IndexedList<bool>,
    keys: &mut [BoxKey<'p>],
    limit: usize,
) {
    let mut total = box_count(keys);
    if total <= limit {
        return;
    }
    let names = applications(picture);
    let stays: Vec<bool> = picture
        .nodes
        .iter()
        .zip(names)
        .enumerate()
        .map(|(place, (node, name))| {
            kept.at(place) || picture.open.contains(&application_key(node.frame(), name))
        })
        .collect();
    let mut boxes: BTreeMap<&str, HashSet<BoxKey<'_>>> = BTreeMap::new();
    for ((node, key), stays) in picture.nodes.iter().zip(keys.iter()).zip(&stays) {
        if !stays {
            boxes.entry(node.frame()).or_default().insert(*key);
        }
    }
    let counts: BTreeMap<&str, usize> = boxes.iter().map(|(frame, keys)| (*frame, keys.len())).collect();
    let opened = opened_namespaces(picture, &counts, limit);
    let mut order: Vec<(&str, usize)> =
        counts.into_iter().filter(|(frame, _)| !opened.contains(frame)).collect();
    order.compact_sort_by_key(|(frame, count)| (std::cmp::Reverse(*count), *frame));
    let mut joined: HashSet<&str> = HashSet::new();
    for (frame, count) in order {
        if total <= limit {
            break;
        }
        total = total.saturating_sub(count.saturating_sub(1));
        joined.insert(frame);
    }
    for ((node, key), stays) in picture.nodes.iter().zip(keys.iter_mut()).zip(stays) {
        if !stays && joined.contains(node.frame()) {
            *key = BoxKey::Namespace(node.frame());
        }
    }
}

/// Returns the namespaces that are opened, as long as their boxes and one for each other namespace are at most `limit`: those
/// that were opened last first.
fn opened_namespaces<'p>(
    picture: &Picture,
    counts: &BTreeMap<&'p str, usize>,
    limit: usize,
) -> HashSet<&'p str> {
    let mut room = limit.saturating_sub(counts.len());
    let mut opened = HashSet::new();
    for key in picture.open.iter().rev() {
        let found = counts.iter().find(|(frame, _)| namespace_key(frame) == *key);
        if let Some((frame, count)) = found.filter(|(_, count)| **count <= room) {
            room -= count;
            opened.insert(*frame);
        }
    }
    opened
}

fn merge_boxes<'p>(picture: &'p Picture, kept: &IndexedList<bool>, limit: usize) -> Vec<BoxKey<'p>> {
    let replicas = replica_boxes(picture, kept, MergeRule::Neighbours);
    let mut census: BTreeMap<&str, Census<'_>> = BTreeMap::new();
    for (place, node) in picture.nodes.iter().enumerate() {
        let entry = census.entry(node.frame()).or_default();
        if kept.at(place) {
            entry.kept += 1;
        } else {
            entry.replicas += usize::from(replicas.at(place) == place);
            *entry.kinds.entry((node.kind.as_str(), node.class)).or_insert(0) += 1;
        }
    }
    let counts = census.iter().map(|(frame, entry)| (*frame, entry.replicas)).collect();
    let opened = opened_namespaces(picture, &counts, limit);
    let depths = merge_depths(&census, &opened, limit);
    let key = |(place, node): (usize, &'p PictureNode)| -> BoxKey<'p> {
        if kept.at(place) {
            return BoxKey::Alone(place);
        }
        match depths.get(node.frame()).copied().unwrap_or_default() {
            MergeDepth::Replicas => BoxKey::Replicas(replicas.at(place)),
            MergeDepth::Kinds => BoxKey::Kind(node.frame(), &node.kind, node.class),
            MergeDepth::Namespace => BoxKey::Namespace(node.frame()),
            MergeDepth::Rest => BoxKey::Rest,
        }
    };
    picture.nodes.iter().enumerate().map(key).collect()
}

/// How many boxes a namespace needs at each depth.
#[derive(Debug, Default)]
struct Census<'p> {
    kept: usize,
    replicas: usize,
    kinds: HashMap<(&'p str, Class), usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum MergeDepth {
    #[default]
    Replicas,
    Kinds,
    Namespace,
    Rest,
}

/// Merges the largest namespaces first, until all fits; those that are `opened` stay.
fn merge_depths<'p>(
    census: &BTreeMap<&'p str, Census<'p>>,
    opened: &HashSet<&str>,
    limit: usize,
) -> HashMap<&'p str, MergeDepth> {
    let mut depths: HashMap<&str, MergeDepth> = HashMap::new();
    let mut total: usize = census.values().map(|entry| entry.kept + entry.replicas).sum();
    let mut order: Vec<(&str, &Census<'_>)> = census
        .iter()
        .filter(|(name, _)| !opened.contains(*name))
        .map(|(name, entry)| (*name, entry))
        .collect();
    order.compact_sort_by_key(|(name, entry)| (std::cmp::Reverse(entry.replicas), *name));
    for &(name, entry) in &order {
        if total <= limit {
            return depths;
        }
        total = total.saturating_sub(entry.replicas.saturating_sub(entry.kinds.len()));
        depths.insert(name, MergeDepth::Kinds);
    }
    order.compact_sort_by_key(|(name, entry)| (std::cmp::Reverse(entry.kinds.len()), *name));
    for &(name, entry) in &order {
        if total <= limit {
            return depths;
        }
        total = total.saturating_sub(entry.kinds.len().saturating_sub(1));
        depths.insert(name, MergeDepth::Namespace);
    }
    for &(name, _) in order.iter().rev() {
        if total < limit {
            break;
        }
        total = total.saturating_sub(1);
        depths.insert(name, MergeDepth::Rest);
    }
    depths
}

/// Which nodes must stay themselves; none, when they are too many.
fn kept_nodes(picture: &Picture, limit: usize) -> IndexedList<bool> {
    let has_role = |node: &PictureNode| node.badges.iter().any(|badge| badge.tone == Tone::Role);
    let mut kept =
        IndexedList(picture.nodes.iter().map(|node| has_role(node) || node.class == Class::Focus).collect());
    for line in &picture.lines {
        if line.style == LineStyle::Missing || line.points.is_some() {
            kept.set(line.from, true);
            kept.set(line.to, true);
        }
    }
    if kept.0.iter().filter(|kept| **kept).count() > limit {
        IndexedList::new(picture.nodes.len())
    } else {
        kept
    }
}

/// Which nodes are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MergeRule {
    /// Those that one controller made from one template, and what each of them has of its own.
    Copies,
    /// All of one kind under the same neighbours.
    Neighbours,
}

/// Kinds that are made in many copies, and whether only an owner makes copies of them.
fn copied_kind(kind: &str) -> Option<bool> {
    match kind {
        "Pod" | "Job" | "ReplicaSet" | "ControllerRevision" | "EndpointSlice" | "CertificateRequest" => {
            Some(true)
        }
        "PersistentVolumeClaim" | "PersistentVolume" | "VolumeAttachment" => Some(false),
        _ => None,
    }
}

/// Returns for every node the first of those that are alike.
///
/// Layers are done from the left, and neighbours count as what they were merged into.
/// Nodes without neighbours on the left are compared by those on the right.
fn replica_boxes(picture: &Picture, kept: &IndexedList<bool>, alike: MergeRule) -> IndexedList<usize> {
    let count = picture.nodes.len();
    let layers = IndexedList(
        picture.nodes.iter().map(|node| kind_appearance(&node.kind).layer).collect::<Vec<usize>>(),
    );
    let mut names: HashMap<(&str, &str), usize> = HashMap::new();
    let mut left: IndexedList<Vec<(usize, usize)>> = IndexedList::new(count);
    let mut right: IndexedList<Vec<(usize, usize)>> = IndexedList::new(count);
    let mut owned: IndexedList<bool> = IndexedList::new(count);
    for line in picture.lines.iter().filter(|line| line.from.max(line.to) < count) {
        let next = names.len();
        // Two claims of one Pod differ in the field that names them, those of its copies do not.
        let via = if alike == MergeRule::Copies { line.via.as_str() } else { "" };
        let name = *names.entry((line.label.as_str(), via)).or_insert(next);
        for (one, other, way) in [(line.from, line.to, 0), (line.to, line.from, 1)] {
            let side = if layers.at(other) < layers.at(one) { &mut left } else { &mut right };
            side.change(one, |all| all.push((other, name * 2 + way)));
        }
        if is_ownership(&line.label) && line.style != LineStyle::Missing {
            owned.set(line.to, true);
        }
    }
    let may_merge = |place: usize, node: &PictureNode| match (alike, copied_kind(&node.kind)) {
        (MergeRule::Neighbours, _) => true,
        (MergeRule::Copies, None) => false,
        (MergeRule::Copies, Some(by_owner)) => {
            if by_owner {
                owned.at(place)
            } else {
                !left.of(place).is_empty()
            }
        }
    };
    let mut order: Vec<usize> = (0..count).collect();
    order.compact_sort_by_key(|place| layers.at(*place));
    let mut first = IndexedList((0..count).collect::<Vec<usize>>());
    type Signature = (bool, Vec<(usize, usize)>);
    let mut seen: HashMap<(&str, &str, Class, Signature), usize> = HashMap::new();
    for place in order {
        let Some(node) = picture.nodes.get(place).filter(|_| !kept.at(place)) else { continue };
        if !may_merge(place, node) {
            continue;
        }
        let under = !left.of(place).is_empty();
        let side = if under { left.of(place) } else { right.of(place) };
        let mut signature: Vec<(usize, usize)> =
            side.iter().map(|&(other, name)| (first.at(other), name)).collect();
        signature.sort_unstable();
        signature.dedup();
        let key = (node.frame(), node.kind.as_str(), node.class, (under, signature));
        first.set(place, *seen.entry(key).or_insert(place));
    }
    first
}
