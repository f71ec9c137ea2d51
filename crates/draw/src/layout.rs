//! Where everything is: groups in strips from the left, routes between them.

use super::Picture;
use super::component::BOX;
use super::group::{Group, Placed, Rect, Seat};
use super::labels::{Caption, captions};
use super::route::{Route, routes};
use super::scene::Scene;
use super::slots::Slots;
use std::collections::BTreeMap;

/// Between two strips, and between two groups of one strip.
pub(super) const GUTTER: f64 = 44.0;
/// How wide for its height a picture should be.
const SHAPE: f64 = 1.7;

#[derive(Debug)]
pub(super) struct Layout {
    pub width: f64,
    pub height: f64,
    /// By glyph.
    pub boxes: Slots<Rect>,
    pub frames: Vec<Frame>,
    /// By link.
    pub routes: Vec<Route>,
    pub captions: Vec<Caption>,
}

/// The rectangle of one namespace.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub label: String,
    pub rect: Rect,
    pub strip: usize,
    /// From the top of its strip.
    pub place: usize,
}

/// What routes are laid through.
#[derive(Debug)]
pub(super) struct Ground {
    pub seats: Slots<Seat>,
    /// The frame of a glyph.
    pub home: Slots<usize>,
    pub frames: Vec<Frame>,
    /// The middle of the gutter before every strip, and after the last.
    pub gutters: Vec<f64>,
    pub top: f64,
    pub bottom: f64,
    pub passes: BTreeMap<usize, Vec<Rect>>,
}

pub(super) fn layout(picture: &Picture, scene: &Scene<'_>) -> Layout {
    let groups = groups(picture, scene);
    let (ground, width, height) = pack(scene, &groups);
    let routes = routes(scene, &ground);
    // Badges stand out above their box.
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
    let boxes = Slots(ground.seats.0.iter().map(|seat| seat.rect).collect());
    Layout { width, height, boxes, frames: ground.frames, routes, captions }
}

/// Glyphs are sorted by frame, so a group is a range of them. What is in none comes last.
fn groups<'p>(picture: &Picture, scene: &Scene<'p>) -> Vec<Group<'p>> {
    let mut ranges: Vec<(&str, std::ops::Range<usize>)> = Vec::new();
    for (place, glyph) in scene.glyphs.iter().enumerate() {
        match ranges.last_mut() {
            Some((namespace, range)) if *namespace == glyph.frame => range.end = place + 1,
            _ => ranges.push((glyph.frame, place..place + 1)),
        }
    }
    let home: Slots<usize> = Slots(
        ranges.iter().enumerate().flat_map(|(at, (_, range))| range.clone().map(move |_| at)).collect(),
    );
    let mut inside: Slots<Vec<usize>> = Slots::new(ranges.len());
    for (at, link) in scene.links.iter().enumerate() {
        if home.at(link.from) == home.at(link.to) && link.from != link.to {
            inside.change(home.at(link.from), |all| all.push(at));
        }
    }
    let mut groups: Vec<Group<'_>> = ranges
        .into_iter()
        .enumerate()
        .map(|(at, (frame, range))| {
            let mut group = Group::new(scene, frame, range, inside.of(at));
            group.label = name(picture, frame);
            group
        })
        .collect();
    if groups.first().is_some_and(|group| group.frame.is_empty()) {
        groups.rotate_left(1);
    }
    groups
}

/// Tries heights and takes the one whose picture comes nearest to the wanted shape and is small.
fn pack(scene: &Scene<'_>, groups: &[Group<'_>]) -> (Ground, f64, f64) {
    let area: f64 = groups
        .iter()
        .map(|group| group.place(scene, f64::INFINITY))
        .map(|placed| (placed.width + GUTTER) * (placed.height + GUTTER))
        .sum();
    let side = (area / SHAPE).sqrt().max(240.0);
    let mut best: Option<(f64, Vec<Placed>, f64)> = None;
    for factor in [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.45, 1.7, 2.1, 3.0] {
        let limit = side * factor;
        let placed: Vec<Placed> = groups.iter().map(|group| group.place(scene, limit)).collect();
        let (width, height) = extent(&placed, limit);
        let cost = (width / SHAPE).max(height);
        if best.as_ref().is_none_or(|best| cost < best.0) {
            best = Some((cost, placed, limit));
        }
    }
    let (_, placed, limit) = best.unwrap_or_default();
    ground(scene, groups, &placed, limit)
}

/// Sizes of the strips: width and height.
fn strips(placed: &[Placed], limit: f64) -> Vec<(usize, f64, f64)> {
    let mut strips: Vec<(usize, f64, f64)> = Vec::new();
    for group in placed {
        match strips.last_mut() {
            Some((count, width, height)) if *height + group.height <= limit * 1.08 => {
                *count += 1;
                *width = width.max(group.width);
                *height += group.height + GUTTER;
            }
            _ => strips.push((1, group.width, group.height + GUTTER)),
        }
    }
    strips
}

fn extent(placed: &[Placed], limit: f64) -> (f64, f64) {
    let strips = strips(placed, limit);
    let width = strips.iter().map(|strip| strip.1 + GUTTER).sum::<f64>() + GUTTER;
    let height = strips.iter().map(|strip| strip.2).fold(0.0, f64::max) + GUTTER;
    (width, height)
}

fn ground(scene: &Scene<'_>, groups: &[Group<'_>], placed: &[Placed], limit: f64) -> (Ground, f64, f64) {
    let mut ground = Ground {
        seats: Slots::new(scene.glyphs.len()),
        home: Slots::new(scene.glyphs.len()),
        frames: Vec::new(),
        gutters: vec![GUTTER / 2.0],
        top: GUTTER / 2.0,
        bottom: 0.0,
        passes: BTreeMap::new(),
    };
    let mut both = groups.iter().zip(placed);
    let (mut x, mut bottom) = (GUTTER, GUTTER);
    for (strip, (count, width, _)) in strips(placed, limit).into_iter().enumerate() {
        let mut y = GUTTER;
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
            ground.frames.push(Frame { label: group.label.clone(), rect, strip, place });
            y += placed.height + GUTTER;
        }
        bottom = f64::max(bottom, y);
        x += width + GUTTER;
        ground.gutters.push(x - GUTTER / 2.0);
    }
    ground.bottom = bottom - GUTTER / 2.0;
    debug_assert!(ground.seats.0.iter().all(|seat| seat.rect.height == BOX));
    (ground, x, bottom)
}

pub(super) fn name(picture: &Picture, frame: &str) -> String {
    let named = picture.groups.iter().find(|group| group.frame == frame);
    match named {
        Some(group) => group.label.to_string(),
        None if frame.is_empty() => "cluster".to_owned(),
        None => frame.to_owned(),
    }
}
