//! A picture for a page that has the style sheet already: the drawing, and what each box and line stands for.
//!
//! Box `i` is the element `n{i}`, line `j` the j-th element of the class `e`, so that a page can link both without
//! reading the drawing.

use super::application::{application_key, applications, namespace_key};
use super::layout::lay_out_picture;
use super::legend::legend_notes;
use super::merge::BoxKey;
use super::palette::Palette;
use super::scene::{Glyph, Scene, SceneLine, build_scene};
use super::svg::write_svg_body;
use super::{Badge, Class, DrawOptions, LineStyle, Picture, Tone};
use kubewright_value::Text;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Names of members that a page can search.
const MAX_SEARCHABLE_MEMBERS: usize = 200;

/// A drawing and its geometry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlacedPicture {
    /// One `svg` element without style sheet, title and legend.
    pub svg: String,
    /// The boxes, in the order of their elements.
    pub boxes: Vec<PlacedBox>,
    /// The lines, in the order of their elements.
    pub lines: Vec<PlacedLine>,
    /// For each of [`Picture::nodes`] the place of its box in `boxes`.
    pub homes: Vec<usize>,
    /// The applications of more than one object, by key.
    pub applications: Vec<PictureApplication>,
    /// Every type of line that is drawn, with the number of its colour and how many lines have it.
    pub types: Vec<(Text, usize, usize)>,
    /// What was merged or left out, in sentences.
    pub notes: Vec<String>,
}

/// One box.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlacedBox {
    /// The id of its object, of the controller that it was folded into, or of the first of those alike.
    pub id: Text,
    /// The kind; `Application`, `Namespace` and `Objects` for boxes of several kinds.
    pub kind: Text,
    /// The namespace; may be empty.
    pub namespace: Text,
    /// What is written on it.
    pub label: Text,
    /// How it is drawn.
    pub class: Class,
    /// What is written on its edge.
    pub badges: Vec<Badge>,
    /// Sentences of the tooltip.
    pub notes: Vec<Text>,
    /// The key of its application; empty where none is known.
    pub application: Text,
    /// Whether it stands for that whole application.
    pub is_application: bool,
    /// The key in [`Picture::open`] that draws what is in it; empty for a box that cannot be opened, or has no room.
    pub opens: Text,
    /// How many nodes of the picture are in it.
    pub objects: usize,
    /// The ids of some of them.
    pub members: Vec<Text>,
    /// The upper left corner.
    pub corner: (f64, f64),
    /// Width and height.
    pub size: (f64, f64),
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlacedLine {
    /// The place of the box where it begins.
    pub from: usize,
    /// The place of the box where it ends.
    pub to: usize,
    /// How it is drawn.
    pub style: LineStyle,
    /// The types of its relationships, each once.
    pub types: Vec<Text>,
    /// The fields that made them, each once; some of them.
    pub fields: Vec<Text>,
    /// How many relationships it stands for.
    pub count: usize,
    /// The points that it adds to a score.
    pub points: Option<f64>,
}

/// An application: objects of one frame that labels, owners and neighbours put together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PictureApplication {
    /// `FRAME/NAME`, by which it is opened.
    pub key: Text,
    /// The name.
    pub label: Text,
    /// How many objects it has.
    pub objects: usize,
    /// How many findings are about them.
    pub findings: usize,
    /// Whether it is one box in this picture.
    pub is_one_box: bool,
}

/// Draws `picture` for a page.
#[must_use]
pub fn place_picture(picture: &Picture, options: &DrawOptions) -> PlacedPicture {
    let scene = build_scene(picture, *options);
    let palette = Palette::new(&scene);
    let layout = lay_out_picture(picture, &scene);
    let (width, height) = (layout.width, layout.height);
    let mut svg = String::with_capacity(1024 + scene.glyphs.len() * 700 + scene.links.len() * 400);
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kw\" role=\"group\" data-w=\"{width:.0}\" \
         data-h=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">"
    );
    write_svg_body(&mut svg, &scene, &palette, &layout, true);
    svg.push_str("</svg>");
    let names = applications(picture);
    let mut boxes: Vec<PlacedBox> = scene.glyphs.iter().map(placed_box).collect();
    for (place, one) in boxes.iter_mut().enumerate() {
        let rect = layout.boxes.at(place);
        (one.corner, one.size) = ((rect.x, rect.y), (rect.width, rect.height));
    }
    for ((node, name), home) in picture.nodes.iter().zip(&names).zip(&scene.homes) {
        let Some(home) = boxes.get_mut(*home) else { continue };
        home.objects += 1;
        if home.application.is_empty() && !name.is_empty() {
            home.application = application_key(node.frame(), name);
        }
    }
    for (one, glyph) in boxes.iter_mut().zip(&scene.glyphs) {
        one.opens = opening_key(glyph.key).filter(|key| !picture.open.contains(key)).unwrap_or_default();
    }
    PlacedPicture {
        svg,
        applications: counted_applications(picture, &names, &boxes),
        boxes,
        lines: scene.links.iter().map(placed_line).collect(),
        types: counted_types(&scene, &palette),
        notes: legend_notes(picture, &scene),
        homes: scene.homes,
    }
}

fn placed_box(glyph: &Glyph<'_>) -> PlacedBox {
    let members: Vec<Text> =
        glyph.members.iter().take(MAX_SEARCHABLE_MEMBERS).map(|member| member.id.clone()).collect();
    let first = || members.first().cloned().unwrap_or_default();
    let id = match glyph.key {
        BoxKey::Application(frame, name) => format!("application:{frame}/{name}").into(),
        BoxKey::Namespace(name) => namespace_key(name),
        BoxKey::Rest => "rest".into(),
        BoxKey::Folded(_) => {
            let is_top =
                |node: &&&super::PictureNode| *node.kind == *glyph.kind && *node.label == *glyph.label;
            glyph.members.iter().find(is_top).map_or_else(first, |node| node.id.clone())
        }
        BoxKey::Alone(_) | BoxKey::Replicas(_) | BoxKey::Kind(..) => first(),
    };
    PlacedBox {
        id,
        kind: glyph.kind.as_ref().into(),
        namespace: glyph.namespace.into(),
        label: glyph.label.as_ref().into(),
        class: glyph.class,
        badges: glyph.badges.clone(),
        notes: glyph.members.iter().flat_map(|node| node.notes.iter().cloned()).take(20).collect(),
        is_application: matches!(glyph.key, BoxKey::Application(..)),
        members,
        ..PlacedBox::default()
    }
}

/// Returns the key that opens a box.
fn opening_key(key: BoxKey<'_>) -> Option<Text> {
    match key {
        BoxKey::Application(frame, name) => Some(application_key(frame, name)),
        BoxKey::Namespace(name) => Some(namespace_key(name)),
        BoxKey::Alone(_) | BoxKey::Replicas(_) | BoxKey::Kind(..) | BoxKey::Folded(_) | BoxKey::Rest => None,
    }
}

fn placed_line(link: &SceneLine<'_>) -> PlacedLine {
    let mut fields: Vec<Text> = link.parts.iter().map(|part| part.1.into()).collect();
    fields.retain(|field: &Text| !field.is_empty());
    fields.sort_unstable();
    fields.dedup();
    PlacedLine {
        from: link.from,
        to: link.to,
        style: link.style,
        types: link.labels().into_iter().map(Text::from).collect(),
        fields,
        count: link.count,
        points: link.points.filter(|points| points.is_finite()),
    }
}

fn counted_applications(picture: &Picture, names: &[&str], boxes: &[PlacedBox]) -> Vec<PictureApplication> {
    let mut all: BTreeMap<Text, PictureApplication> = BTreeMap::new();
    for (node, name) in picture.nodes.iter().zip(names).filter(|(_, name)| !name.is_empty()) {
        let key = application_key(node.frame(), name);
        let one = all.entry(key.clone()).or_insert_with(|| PictureApplication {
            key,
            label: (*name).into(),
            ..PictureApplication::default()
        });
        one.objects += 1;
        one.findings += node.badges.iter().filter(|badge| badge.tone != Tone::Role).count();
    }
    for one in boxes.iter().filter(|one| one.is_application) {
        if let Some(application) = all.get_mut(&one.application) {
            application.is_one_box = true;
        }
    }
    all.into_values().filter(|application| application.objects > 1).collect()
}

fn counted_types(scene: &Scene<'_>, palette: &Palette<'_>) -> Vec<(Text, usize, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for link in scene.links.iter().filter(|link| link.style != LineStyle::Missing) {
        link.labels().into_iter().for_each(|label| *counts.entry(label).or_default() += 1);
    }
    let count = |label: &str| counts.get(label).copied();
    palette.labels().filter_map(|(label, colour)| Some((label.into(), colour, count(label)?))).collect()
}
