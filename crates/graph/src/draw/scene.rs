//! What is really drawn: boxes and lines, few enough to be seen.
//!
//! Up to the limit every node is a box. Above it, in this order and only as far as needed:
//! nodes of one kind under the same neighbours become one box (the replicas of a workload),
//! then the kinds of the largest namespaces, then whole namespaces, then all that is left.
//! Objects with badges and the ends of missing and scored lines stay themselves.

use super::kinds::{Known, known};
use super::slots::Slots;
use super::{Badge, Class, Node, Options, Picture, Style};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// Names of merged nodes that are kept for the reader.
const NAMED: usize = 200;
/// Relationships of a line that are kept for the reader.
const PARTS: usize = 12;

#[derive(Debug)]
pub(super) struct Scene<'p> {
    /// By namespace, layer, kind, label.
    pub glyphs: Vec<Glyph<'p>>,
    pub links: Vec<Link<'p>>,
    /// Lines that did not find room.
    pub left_out: usize,
}

/// One box.
#[derive(Debug)]
pub(super) struct Glyph<'p> {
    pub kind: Cow<'p, str>,
    pub label: Cow<'p, str>,
    pub namespace: &'p str,
    pub class: Class,
    pub badges: Vec<Badge>,
    pub known: Known,
    /// How many nodes it stands for.
    pub count: usize,
    /// Some of them.
    pub members: Vec<&'p Node>,
}

/// One line: everything of one style from one box to another.
#[derive(Debug)]
pub(super) struct Link<'p> {
    pub from: usize,
    pub to: usize,
    pub style: Style,
    pub points: Option<f64>,
    /// How many relationships it stands for.
    pub count: usize,
    /// Some of them: label and via, each once.
    pub parts: Vec<(&'p str, &'p str)>,
}

impl Link<'_> {
    /// The labels, each once, in order.
    pub(super) fn labels(&self) -> Vec<&str> {
        let mut labels: Vec<&str> = self.parts.iter().map(|part| part.0).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// What is written on the line.
    pub(super) fn caption(&self) -> String {
        let mut caption = self.labels().join(", ");
        if let Some(points) = self.points.filter(|points| points.is_finite()) {
            let sign = if points < 0.0 { "−" } else { "+" };
            caption = format!("{caption} {sign}{}", rounded(points.abs())).trim_start().to_owned();
        }
        if self.style == Style::Missing {
            caption = format!("✗ {caption}");
        }
        caption
    }
}

fn rounded(points: f64) -> f64 {
    if points < 1e9 { (points * 1_000.0).round() / 1_000.0 } else { points.min(1e12).round() }
}

pub(super) fn scene(picture: &Picture, options: Options) -> Scene<'_> {
    let options = options.bounded();
    let keys = if picture.nodes.len() > options.glyphs {
        merged(picture, options.glyphs)
    } else {
        (0..picture.nodes.len()).map(Key::Alone).collect()
    };
    let (glyphs, home) = boxes(picture, &keys);
    let (links, left_out) = links(picture, &home, options.lines);
    Scene { glyphs, links, left_out }
}

/// What nodes of one box have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'p> {
    Alone(usize),
    Replicas(usize),
    Kind(&'p str, &'p str, Class),
    Namespace(&'p str),
    Rest,
}

fn merged(picture: &Picture, limit: usize) -> Vec<Key<'_>> {
    let kept = kept(picture, limit / 2);
    let replicas = replicas(picture, &kept);
    let mut census: BTreeMap<&str, Census<'_>> = BTreeMap::new();
    for (place, node) in picture.nodes.iter().enumerate() {
        let entry = census.entry(node.namespace.as_str()).or_default();
        if kept.at(place) {
            entry.kept += 1;
        } else {
            entry.replicas += usize::from(replicas.at(place) == place);
            *entry.kinds.entry((node.kind.as_str(), node.class)).or_insert(0) += 1;
        }
    }
    let depths = depths(&census, limit);
    let key = |(place, node): (usize, &'_ Node)| -> Key<'_> {
        let namespace: &str = node.namespace.as_str();
        let Some(node) = picture.nodes.get(place) else { return Key::Rest };
        if kept.at(place) {
            return Key::Alone(place);
        }
        match depths.get(namespace).copied().unwrap_or_default() {
            Depth::Replicas => Key::Replicas(replicas.at(place)),
            Depth::Kinds => Key::Kind(&node.namespace, &node.kind, node.class),
            Depth::Namespace => Key::Namespace(&node.namespace),
            Depth::Rest => Key::Rest,
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
enum Depth {
    #[default]
    Replicas,
    Kinds,
    Namespace,
    Rest,
}

/// Merges the largest namespaces first, until all fits.
fn depths<'p>(census: &BTreeMap<&'p str, Census<'p>>, limit: usize) -> HashMap<&'p str, Depth> {
    let mut depths: HashMap<&str, Depth> = HashMap::new();
    let mut total: usize = census.values().map(|entry| entry.kept + entry.replicas).sum();
    let mut order: Vec<(&str, &Census<'_>)> = census.iter().map(|(name, entry)| (*name, entry)).collect();
    order.sort_by_key(|(name, entry)| (std::cmp::Reverse(entry.replicas), *name));
    for &(name, entry) in &order {
        if total <= limit {
            return depths;
        }
        total = total.saturating_sub(entry.replicas.saturating_sub(entry.kinds.len()));
        depths.insert(name, Depth::Kinds);
    }
    order.sort_by_key(|(name, entry)| (std::cmp::Reverse(entry.kinds.len()), *name));
    for &(name, entry) in &order {
        if total <= limit {
            return depths;
        }
        total = total.saturating_sub(entry.kinds.len().saturating_sub(1));
        depths.insert(name, Depth::Namespace);
    }
    for &(name, _) in order.iter().rev() {
        if total < limit {
            break;
        }
        total = total.saturating_sub(1);
        depths.insert(name, Depth::Rest);
    }
    depths
}

/// Which nodes must stay themselves; none, when they are too many.
fn kept(picture: &Picture, limit: usize) -> Slots<bool> {
    let mut kept = Slots(
        picture.nodes.iter().map(|node| !node.badges.is_empty() || node.class == Class::Focus).collect(),
    );
    for line in &picture.lines {
        if line.style == Style::Missing || line.points.is_some() {
            kept.set(line.from, true);
            kept.set(line.to, true);
        }
    }
    if kept.0.iter().filter(|kept| **kept).count() > limit { Slots::new(picture.nodes.len()) } else { kept }
}

/// Returns for every node the first of those that stand under the same neighbours.
///
/// Layers are done from the left, and neighbours count as what they were merged into.
/// What has no neighbour on the left is compared by those on the right.
fn replicas(picture: &Picture, kept: &Slots<bool>) -> Slots<usize> {
    let count = picture.nodes.len();
    let layers = Slots(picture.nodes.iter().map(|node| known(&node.kind).layer).collect::<Vec<usize>>());
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut left: Slots<Vec<(usize, usize)>> = Slots::new(count);
    let mut right: Slots<Vec<(usize, usize)>> = Slots::new(count);
    for line in picture.lines.iter().filter(|line| line.from.max(line.to) < count) {
        let next = names.len();
        let name = *names.entry(line.label.as_str()).or_insert(next);
        for (one, other, way) in [(line.from, line.to, 0), (line.to, line.from, 1)] {
            let side = if layers.at(other) < layers.at(one) { &mut left } else { &mut right };
            side.change(one, |all| all.push((other, name * 2 + way)));
        }
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|place| layers.at(*place));
    let mut first = Slots((0..count).collect::<Vec<usize>>());
    type Signature = (bool, Vec<(usize, usize)>);
    let mut seen: HashMap<(&str, &str, Class, Signature), usize> = HashMap::new();
    for place in order {
        let Some(node) = picture.nodes.get(place).filter(|_| !kept.at(place)) else { continue };
        let under = !left.of(place).is_empty();
        let side = if under { left.of(place) } else { right.of(place) };
        let mut signature: Vec<(usize, usize)> =
            side.iter().map(|&(other, name)| (first.at(other), name)).collect();
        signature.sort_unstable();
        signature.dedup();
        let key = (node.namespace.as_str(), node.kind.as_str(), node.class, (under, signature));
        first.set(place, *seen.entry(key).or_insert(place));
    }
    first
}

/// Makes the boxes, and says for every node in which it is.
fn boxes<'p>(picture: &'p Picture, keys: &[Key<'p>]) -> (Vec<Glyph<'p>>, Slots<usize>) {
    let mut places: HashMap<Key<'_>, usize> = HashMap::new();
    let mut glyphs: Vec<(Glyph<'p>, &'p str)> = Vec::new();
    let mut home: Slots<usize> = Slots::new(picture.nodes.len());
    let mut nodes: Vec<(usize, &Node, &Key<'_>)> =
        picture.nodes.iter().zip(keys).enumerate().map(|(place, (node, key))| (place, node, key)).collect();
    nodes.sort_by(|(_, one, _), (_, other, _)| {
        let named = |node: &'p Node| (&node.namespace, &node.kind, &node.label, &node.id);
        named(one).cmp(&named(other))
    });
    for (place, node, key) in nodes {
        let at = *places.entry(*key).or_insert_with(|| {
            glyphs.push((glyph(node, *key), node.id.as_str()));
            glyphs.len() - 1
        });
        home.set(place, at);
        if let Some((glyph, _)) = glyphs.get_mut(at) {
            glyph.count += 1;
            if glyph.members.len() < NAMED {
                glyph.members.push(node);
            }
            glyph.badges.extend(node.badges.iter().take(4).cloned());
            if glyph.badges.len() > 8 {
                settle(&mut glyph.badges);
            }
        }
    }
    let mut order: Vec<usize> = (0..glyphs.len()).collect();
    order.sort_by_cached_key(|at| {
        glyphs.get(*at).map(|(glyph, id)| {
            let known = glyph.known;
            (glyph.namespace, known.layer, glyph.kind.clone(), glyph.label.clone(), *id, *at)
        })
    });
    let mut moved: Slots<usize> = Slots::new(glyphs.len());
    for (to, from) in order.iter().enumerate() {
        moved.set(*from, to);
    }
    for place in &mut home.0 {
        *place = moved.at(*place);
    }
    let mut slots: Vec<Option<Glyph<'p>>> = glyphs.into_iter().map(|(glyph, _)| Some(glyph)).collect();
    let mut sorted: Vec<Glyph<'p>> =
        order.iter().filter_map(|at| slots.get_mut(*at).and_then(Option::take)).collect();
    for glyph in &mut sorted {
        settle(&mut glyph.badges);
        if glyph.count > 1 && matches!(glyph.label, Cow::Borrowed(_)) && glyph.kind != "Namespace" {
            glyph.label = Cow::Owned(shared_name(&glyph.members));
        }
    }
    (sorted, home)
}

/// Worst first, each once, three at most.
fn settle(badges: &mut Vec<Badge>) {
    badges.sort_unstable_by(|one, other| other.tone.cmp(&one.tone).then_with(|| one.text.cmp(&other.text)));
    badges.dedup();
    badges.truncate(3);
}

fn glyph<'p>(node: &'p Node, key: Key<'p>) -> Glyph<'p> {
    let of = |kind: Cow<'p, str>, label: Cow<'p, str>, namespace: &'p str, class: Class| {
        let known = known(&kind);
        Glyph { kind, label, namespace, class, badges: Vec::new(), known, count: 0, members: Vec::new() }
    };
    match key {
        Key::Namespace("") => of("Objects".into(), Cow::Owned("without namespace".into()), "", Class::Plain),
        Key::Namespace(name) => {
            let mut glyph = of("Namespace".into(), name.into(), "", Class::Plain);
            // It stands for workloads, and is drawn where they are.
            glyph.known.layer = known("Deployment").layer;
            glyph
        }
        Key::Rest => of("Objects".into(), Cow::Owned("everything else".into()), "", Class::Plain),
        Key::Alone(_) | Key::Replicas(_) | Key::Kind(..) => {
            of(node.kind.as_str().into(), node.label.as_str().into(), &node.namespace, node.class)
        }
    }
}

/// The beginning that all names have in common and a star, or only the star.
fn shared_name(members: &[&Node]) -> String {
    let Some((first, others)) = members.split_first() else { return String::new() };
    let mut length = first.label.len();
    for other in others {
        let same =
            first.label.char_indices().zip(other.label.chars()).take_while(|((_, one), other)| one == other);
        length = length.min(same.last().map_or(0, |((at, one), _)| at + one.len_utf8()));
    }
    format!("{}*", first.label.get(..length).unwrap_or_default())
}

/// Joins lines between the same boxes; keeps the telling ones when there are too many.
fn links<'p>(picture: &'p Picture, home: &Slots<usize>, limit: usize) -> (Vec<Link<'p>>, usize) {
    let count = picture.nodes.len();
    let mut places: HashMap<(usize, usize, Style, bool), usize> = HashMap::new();
    let mut links: Vec<Link<'p>> = Vec::new();
    for line in picture.lines.iter().filter(|line| line.from.max(line.to) < count) {
        let (from, to) = (home.at(line.from), home.at(line.to));
        if from == to && line.from != line.to {
            continue;
        }
        let at = *places.entry((from, to, line.style, line.points.is_some())).or_insert_with(|| {
            links.push(Link { from, to, style: line.style, points: None, count: 0, parts: Vec::new() });
            links.len() - 1
        });
        if let Some(link) = links.get_mut(at) {
            link.count += 1;
            if let Some(points) = line.points {
                link.points = Some(link.points.unwrap_or(0.0) + points);
            }
            let part = (line.label.as_str(), line.via.as_str());
            if link.parts.len() < PARTS && !link.parts.contains(&part) {
                link.parts.push(part);
            }
        }
    }
    for link in &mut links {
        link.parts.sort_unstable();
    }
    links.sort_by(|one, other| {
        let telling = |link: &Link<'_>| (link.style != Style::Missing, link.points.is_none());
        telling(one)
            .cmp(&telling(other))
            .then_with(|| (one.from, one.to, one.style).cmp(&(other.from, other.to, other.style)))
    });
    let left_out = links.len().saturating_sub(limit);
    links.truncate(limit);
    (links, left_out)
}
