//! Where everything is: groups in strips from the left, routes between them.

use super::Picture;
use super::component::BOX_HEIGHT;
use super::group::{GroupLayout, PlacedGroup, Rect, Seat};
use super::labels::{Caption, captions};
use super::route::{Route, routes};
use super::scene::Scene;
use super::slots::IndexedList;
use std::collections::BTreeMap;

/// Between two strips, and between two groups of one strip.
pub(super) const GUTTER_WIDTH: f64 = 44.0;
/// How wide for its height a picture should be.
const ASPECT_RATIO: f64 = 1.7;

#[derive(Debug)]
pub(super) struct PictureLayout {
    pub width: f64,
    pub height: f64,
    /// By glyph.
    pub boxes: IndexedList<Rect>,
    pub frames: Vec<FramePlace>,
    /// By link.
    pub routes: Vec<Route>,
    pub captions: Vec<Caption>,
}

/// The rectangle of one namespace.
#[derive(Debug, Clone, Default)]
pub(super) struct FramePlace {
    pub label: String,
    pub rect: Rect,
    pub strip: usize,
    /// From the top of its strip.
    pub place: usize,
}

/// The frames and gutters through which lines are routed.
#[derive(Debug)]
pub(super) struct Ground {
    pub seats: IndexedList<Seat>,
    /// The frame of a glyph.
    pub home: IndexedList<usize>,
    pub frames: Vec<FramePlace>,
    /// The middle of the gutter before every strip, and after the last.
    pub gutters: Vec<f64>,
    pub top: f64,
    pub bottom: f64,
    pub passes: BTreeMap<usize, Vec<Rect>>,
}

pub(super) fn lay_out_picture(picture: &Picture, scene: &Scene<'_>) -> PictureLayout {
    let groups = group_layouts(picture, scene);
    let (ground, width, height) = pack_groups(scene, &groups);
    let routes = routes(scene, &ground);
    // Badges extend above their box.
    let mut taken: Vec<Rect> = ground
        .seats
        .0
        .iter()
        .zip(&scene.glyphs)
        .map(|(seat, glyph)| {
            let above = if glyph.badges.is_empty() { 1.0 } else { 11.0 };
            Rect { y: seat.rect.y - above, height: seat.rect.height + above, ..seat.rect }
        })
        .collect();
    for frame in &ground.frames {
        taken.push(Rect { height: 34.0, width: frame.rect.width.min(400.0), ..frame.rect });
    }
    let captions = captions(scene, &routes, &taken);
    let boxes = IndexedList(ground.seats.0.iter().map(|seat| seat.rect).collect());
    PictureLayout { width, height, boxes, frames: ground.frames, routes, captions }
}

/// Glyphs are sorted by frame, so a group is a range of them. What is in none comes last.
fn group_layouts<'p>(picture: &Picture, scene: &Scene<'p>) -> Vec<GroupLayout<'p>> {
    let mut ranges: Vec<(&str, std::ops::Range<usize>)> = Vec::new();
    for (place, glyph) in scene.glyphs.iter().enumerate() {
        match ranges.last_mut() {
            Some((namespace, range)) if *namespace == glyph.frame => range.end = place + 1,
            _ => ranges.push((glyph.frame, place..place + 1)),
        }
    }
    let home: IndexedList<usize> = IndexedList(
        ranges.iter().enumerate().flat_map(|(at, (_, range))| range.clone().map(move |_| at)).collect(),
    );
    let mut inside: IndexedList<Vec<usize>> = IndexedList::new(ranges.len());
    for (at, link) in scene.links.iter().enumerate() {
        if home.at(link.from) == home.at(link.to) && link.from != link.to {
            inside.change(home.at(link.from), |all| all.push(at));
        }
    }
    let mut groups: Vec<GroupLayout<'_>> = ranges
        .into_iter()
        .enumerate()
        .map(|(at, (frame, range))| {
            let mut group = GroupLayout::new(scene, frame, range, inside.of(at));
            group.label = frame_label(picture, frame);
            group
        })
        .collect();
    if groups.first().is_some_and(|group| group.frame.is_empty()) {
        groups.rotate_left(1);
    }
    groups
}

/// Tries heights and takes the one whose picture comes nearest to the wanted shape and is small.
fn pack_groups(scene: &Scene<'_>, groups: &[GroupLayout<'_>]) -> (Ground, f64, f64) {
    let area: f64 = groups
        .iter()
        .map(|group| group.place(scene, f64::INFINITY))
        .map(|placed| (placed.width + GUTTER_WIDTH) * (placed.height + GUTTER_WIDTH))
        .sum();
    let side = (area / ASPECT_RATIO).sqrt().max(240.0);
    let mut best: Option<(f64, Vec<PlacedGroup>, f64)> = None;
    for factor in [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.45, 1.7, 2.1, 3.0] {
        let limit = side * factor;
        let placed: Vec<PlacedGroup> = groups.iter().map(|group| group.place(scene, limit)).collect();
        let (width, height) = extent(&placed, limit);
        let cost = (width / ASPECT_RATIO).max(height);
        if best.as_ref().is_none_or(|best| cost < best.0) {
            best = Some((cost, placed, limit));
        }
    }
    let (_, placed, limit) = best.unwrap_or_default();
    ground(scene, groups, &placed, limit)
}

/// Sizes of the strips: width and height.
fn strips(placed: &[PlacedGroup], limit: f64) -> Vec<(usize, f64, f64)> {
    let mut strips: Vec<(usize, f64, f64)> = Vec::new();
    for group in placed {
        match strips.last_mut() {
            Some((count, width, height)) if *height + group.height <= limit * 1.08 => {
                *count += 1;
                *width = width.max(group.width);
                *height += group.height + GUTTER_WIDTH;
            }
            _ => strips.push((1, group.width, group.height + GUTTER_WIDTH)),
        }
    }
    strips
}

fn extent(placed: &[PlacedGroup], limit: f64) -> (f64, f64) {
    let strips = strips(placed, limit);
    let width = strips.iter().map(|strip| strip.1 + GUTTER_WIDTH).sum::<f64>() + GUTTER_WIDTH;
    let height = strips.iter().map(|strip| strip.2).fold(0.0, f64::max) + GUTTER_WIDTH;
    (width, height)
}

fn ground(
    scene: &Scene<'_>,
    groups: &[GroupLayout<'_>],
    placed: &[PlacedGroup],
    limit: f64,
) -> (Ground, f64, f64) {
    let mut ground = Ground {
        seats: IndexedList::new(scene.glyphs.len()),
        home: IndexedList::new(scene.glyphs.len()),
        frames: Vec::new(),
        gutters: vec![GUTTER_WIDTH / 2.0],
        top: GUTTER_WIDTH / 2.0,
        bottom: 0.0,
        passes: BTreeMap::new(),
    };
    let mut both = groups.iter().zip(placed);
    let (mut x, mut bottom) = (GUTTER_WIDTH, GUTTER_WIDTH);
    for (strip, (count, width, _)) in strips(placed, limit).into_iter().enumerate() {
        let mut y = GUTTER_WIDTH;
        for (place, (group, placed)) in both.by_ref().take(count).enumerate() {
            let moved = |rect: Rect| Rect { x: rect.x + x, y: rect.y + y, ..rect };
            for seat in &placed.boxes {
                ground.home.set(seat.glyph, ground.frames.len());
                ground.seats.set(seat.glyph, Seat { rect: moved(seat.rect), ..*seat });
            }
            for (link, passes) in &placed.passes {
                ground.passes.insert(*link, passes.iter().copied().map(moved).collect());
            }
            let rect = Rect { x, y, width: placed.width, height: placed.height };
            ground.frames.push(FramePlace { label: group.label.clone(), rect, strip, place });
            y += placed.height + GUTTER_WIDTH;
        }
        bottom = f64::max(bottom, y);
        x += width + GUTTER_WIDTH;
        ground.gutters.push(x - GUTTER_WIDTH / 2.0);
    }
    ground.bottom = bottom - GUTTER_WIDTH / 2.0;
    debug_assert!(ground.seats.0.iter().all(|seat| seat.rect.height == BOX_HEIGHT));
    (ground, x, bottom)
}

pub(super) fn frame_label(picture: &Picture, frame: &str) -> String {
    let named = picture.groups.iter().find(|group| group.frame == frame);
    match named {
        Some(group) => group.label.to_string(),
        None if frame.is_empty() => "cluster".to_owned(),
        None => frame.to_owned(),
    }
}
