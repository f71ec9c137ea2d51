//! The boxes and lines that are drawn, merged to a readable number.
//!
//! Which nodes share a box is decided in `merge.rs`.

use super::kinds::{KindAppearance, kind_appearance};
use super::merge::{BoxKey, box_keys};
use super::slots::IndexedList;
use super::{Badge, Class, DrawOptions, LineStyle, Picture, PictureNode, Tone};
use kubewright_value::CompactSort as _;
use kubewright_value::Text;
use std::borrow::Cow;
use std::collections::HashMap;

/// Names of merged nodes that are kept for the reader.
const MAX_MEMBER_NAMES: usize = 200;
/// Relationships of a line that are kept for the reader.
const MAX_LINE_PARTS: usize = 12;

#[derive(Debug)]
pub(super) struct Scene<'p> {
    /// By frame, layer, kind, label.
    pub glyphs: Vec<Glyph<'p>>,
    pub links: Vec<SceneLine<'p>>,
    /// For every node of the picture the place of its box.
    pub homes: Vec<usize>,
    /// Lines that did not find room.
    pub left_out: usize,
}

/// One box.
#[derive(Debug)]
pub(super) struct Glyph<'p> {
    pub kind: Cow<'p, str>,
    pub label: Cow<'p, str>,
    pub namespace: &'p str,
    pub frame: &'p str,
    pub class: Class,
    pub badges: Vec<Badge>,
    pub known: KindAppearance,
    /// Which nodes are in the box.
    pub key: BoxKey<'p>,
    /// The number of nodes in the box; of a controller that of its Pods.
    pub count: usize,
    /// Some of them.
    pub members: Vec<&'p PictureNode>,
}

/// One line: everything of one style from one box to another.
#[derive(Debug)]
pub(super) struct SceneLine<'p> {
    pub from: usize,
    pub to: usize,
    pub style: LineStyle,
    pub points: Option<f64>,
    /// The number of relationships in the line.
    pub count: usize,
    /// Some of them: label and via, each once.
    pub parts: Vec<(&'p str, &'p str)>,
}

impl SceneLine<'_> {
    /// The labels, each once, in order.
    pub(super) fn labels(&self) -> Vec<&str> {
        let mut labels: Vec<&str> = self.parts.iter().map(|part| part.0).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The caption of the line.
    pub(super) fn caption(&self) -> String {
        let mut caption = self.labels().join(", ");
        if let Some(points) = self.points.filter(|points| points.is_finite()) {
            let sign = if points < 0.0 { "−" } else { "+" };
            caption = format!("{caption} {sign}{}", rounded_points(points.abs())).trim_start().to_owned();
        }
        if self.style == LineStyle::Missing {
            caption = format!("✗ {caption}");
        }
        caption
    }
}

fn rounded_points(points: f64) -> f64 {
    if points < 1e9 { (points * 1_000.0).round() / 1_000.0 } else { points.min(1e12).round() }
}

pub(super) fn build_scene(picture: &Picture, options: DrawOptions) -> Scene<'_> {
    let options = options.bounded();
    let keys = box_keys(picture, options);
    let (glyphs, home) = merge_into_boxes(picture, &keys);
    let (links, left_out) = join_lines(picture, &home, options.lines);
    Scene { glyphs, links, homes: home.0, left_out }
}

/// Makes the boxes, and says for every node in which it is.
fn merge_into_boxes<'p>(picture: &'p Picture, keys: &[BoxKey<'p>]) -> (Vec<Glyph<'p>>, IndexedList<usize>) {
    let mut places: HashMap<BoxKey<'_>, usize> = HashMap::new();
    let mut glyphs: Vec<(Glyph<'p>, &'p str, Vec<&'p Badge>)> = Vec::new();
    let mut home: IndexedList<usize> = IndexedList::new(picture.nodes.len());
    let mut nodes: Vec<(usize, &PictureNode, &BoxKey<'_>)> =
        picture.nodes.iter().zip(keys).enumerate().map(|(place, (node, key))| (place, node, key)).collect();
    nodes.compact_sort_by(|(_, one, _), (_, other, _)| {
        let named =
            |node: &'p PictureNode| (node.frame(), &node.kind, &node.label, &node.namespace, &node.id);
        named(one).cmp(&named(other))
    });
    for (place, node, key) in nodes {
        let at = *places.entry(*key).or_insert_with(|| {
            let node = match key {
                BoxKey::Folded(top) => picture.nodes.get(*top).unwrap_or(node),
                _ => node,
            };
            glyphs.push((new_glyph(node, *key), node.id.as_str(), Vec::new()));
            glyphs.len() - 1
        });
        home.set(place, at);
        if let Some((glyph, _, badges)) = glyphs.get_mut(at) {
            // Of a controller its Pods are counted.
            let is_counted = !matches!(key, BoxKey::Folded(_)) || node.kind == "Pod";
            glyph.count += usize::from(is_counted);
            if glyph.members.len() < MAX_MEMBER_NAMES {
                glyph.members.push(node);
            }
            badges.extend(&node.badges);
        }
    }
    let mut order: Vec<usize> = (0..glyphs.len()).collect();
    order.compact_sort_by_cached_key(|at| {
        glyphs.get(*at).map(|(glyph, id, _)| {
            let known = glyph.known;
            (glyph.frame, known.layer, glyph.kind.clone(), glyph.label.clone(), *id, *at)
        })
    });
    let mut moved: IndexedList<usize> = IndexedList::new(glyphs.len());
    for (to, from) in order.iter().enumerate() {
        moved.set(*from, to);
    }
    for place in &mut home.0 {
        *place = moved.at(*place);
    }
    let settled = |(mut glyph, _, badges): (Glyph<'p>, &str, Vec<&Badge>)| {
        glyph.badges = settle_badges(&badges);
        glyph.count = glyph.count.max(1);
        if glyph.count > 1 && matches!(glyph.label, Cow::Borrowed(_)) && glyph.kind != "Namespace" {
            glyph.label = Cow::Owned(shared_name(&glyph.members));
        }
        Some(glyph)
    };
    let mut slots: Vec<Option<Glyph<'p>>> = glyphs.into_iter().map(settled).collect();
    let sorted = order.iter().filter_map(|at| slots.get_mut(*at).and_then(Option::take));
    (sorted.collect(), home)
}

/// Worst first, three at most: each role once, and of every severity the number, or the words of the only one.
fn settle_badges(badges: &[&Badge]) -> Vec<Badge> {
    let mut settled: Vec<Badge> = Vec::new();
    for (tone, one, many) in [
        (Tone::Critical, "critical", "critical"),
        (Tone::Warning, "warning", "warnings"),
        (Tone::Info, "info", "infos"),
    ] {
        let of_tone: Vec<&Text> =
            badges.iter().filter(|badge| badge.tone == tone).map(|badge| &badge.text).collect();
        let text = match of_tone.as_slice() {
            [] => continue,
            [only] if only.is_empty() => one.into(),
            [only] => (*only).clone(),
            all => format!("{} {many}", all.len()).into(),
        };
        settled.push(Badge { tone, text });
    }
    let mut roles: Vec<&Badge> = badges.iter().filter(|badge| badge.tone == Tone::Role).copied().collect();
    roles.sort_unstable();
    roles.dedup();
    settled.extend(roles.into_iter().cloned());
    settled.truncate(3);
    settled
}

fn new_glyph<'p>(node: &'p PictureNode, key: BoxKey<'p>) -> Glyph<'p> {
    let of = |kind: Cow<'p, str>, label: Cow<'p, str>, frame: &'p str, class: Class| {
        let known = kind_appearance(&kind);
        let namespace = if frame.is_empty() { "" } else { node.namespace.as_str() };
        Glyph {
            kind,
            label,
            namespace,
            frame,
            class,
            badges: Vec::new(),
            known,
            key,
            count: 0,
            members: Vec::new(),
        }
    };
    match key {
        BoxKey::Namespace("") => {
            of("Objects".into(), Cow::Owned("without namespace".into()), "", Class::Plain)
        }
        BoxKey::Namespace(name) => {
            let mut glyph = of("Namespace".into(), name.into(), "", Class::Plain);
            // The box replaces workloads, and is drawn in their column.
            glyph.known.layer = kind_appearance("Deployment").layer;
            glyph
        }
        BoxKey::Application(frame, name) => {
            of("Application".into(), Cow::Owned(name.to_owned()), frame, Class::Plain)
        }
        BoxKey::Folded(_) => of(
            node.kind.as_str().into(),
            Cow::Owned(node.label.as_str().to_owned()),
            node.frame(),
            node.class,
        ),
        BoxKey::Rest => of("Objects".into(), Cow::Owned("everything else".into()), "", Class::Plain),
        BoxKey::Alone(_) | BoxKey::Replicas(_) | BoxKey::Kind(..) => {
            of(node.kind.as_str().into(), node.label.as_str().into(), node.frame(), node.class)
        }
    }
}

/// The beginning that all names have in common and a star, or only the star.
fn shared_name(members: &[&PictureNode]) -> String {
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
fn join_lines<'p>(
    picture: &'p Picture,
    home: &IndexedList<usize>,
    limit: usize,
) -> (Vec<SceneLine<'p>>, usize) {
    let count = picture.nodes.len();
    let mut places: HashMap<(usize, usize, LineStyle, bool), usize> = HashMap::new();
    let mut links: Vec<SceneLine<'p>> = Vec::new();
    for line in picture.lines.iter().filter(|line| line.from.max(line.to) < count) {
        let (from, to) = (home.at(line.from), home.at(line.to));
        if from == to && line.from != line.to {
            continue;
        }
        let at = *places.entry((from, to, line.style, line.points.is_some())).or_insert_with(|| {
            links.push(SceneLine { from, to, style: line.style, points: None, count: 0, parts: Vec::new() });
            links.len() - 1
        });
        if let Some(link) = links.get_mut(at) {
            link.count += 1;
            if let Some(points) = line.points {
                link.points = Some(link.points.unwrap_or(0.0) + points);
            }
            let part = (line.label.as_str(), line.via.as_str());
            if link.parts.len() < MAX_LINE_PARTS && !link.parts.contains(&part) {
                link.parts.push(part);
            }
        }
    }
    for link in &mut links {
        link.parts.sort_unstable();
    }
    links.compact_sort_by(|one, other| {
        let telling = |link: &SceneLine<'_>| (link.style != LineStyle::Missing, link.points.is_none());
        telling(one)
            .cmp(&telling(other))
            .then_with(|| (one.from, one.to, one.style).cmp(&(other.from, other.to, other.style)))
    });
    let left_out = links.len().saturating_sub(limit);
    links.truncate(limit);
    (links, left_out)
}
