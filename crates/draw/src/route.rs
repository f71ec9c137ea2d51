//! The way of every line, never through a box that is not its own.
//!
//! Inside a group lines run from column to column and pass the columns between at their bends.
//! Between groups they use the free strips beside columns and the gutters between groups.

use super::group::{Rect, Seat};
use super::layout::{FramePlace, GUTTER_WIDTH, Ground};
use super::scene::{Scene, SceneLine};
use super::slots::IndexedList;
use kubewright_value::CompactSort as _;
use std::fmt::Write as _;

/// A drawn line.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// The path in the words of SVG.
    pub path: String,
    /// Leaves its group.
    pub is_outside: bool,
    /// Where it ends, and whether it goes to the right there.
    pub tip: (f64, f64, bool),
    /// Where its words could be, best first.
    pub spots: Vec<LabelSpot>,
}

/// A place for words: their middle, or where they begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct LabelSpot {
    pub x: f64,
    pub y: f64,
    pub is_begin: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum BoxSide {
    #[default]
    Left,
    Right,
}

pub(super) fn routes(scene: &Scene<'_>, ground: &Ground) -> Vec<Route> {
    let sides: Vec<(BoxSide, BoxSide)> = scene.links.iter().map(|link| sides(link, ground)).collect();
    let ports = ports(scene, ground, &sides);
    let mut routes = Vec::with_capacity(scene.links.len());
    for (at, (link, sides)) in scene.links.iter().zip(sides).enumerate() {
        let (start, end) = ports.at(at);
        let way = LineEnds {
            link,
            sides,
            start: port_point(link.from, sides.0, start, ground),
            end: port_point(link.to, sides.1, end, ground),
        };
        let route = if link.from == link.to {
            route_to_self(&way)
        } else if ground.home.at(link.from) == ground.home.at(link.to) {
            route_inside(&way, ground.passes.get(&at).map_or(&[], Vec::as_slice), ground)
        } else {
            route_outside(&way, ground)
        };
        routes.push(route);
    }
    routes
}

struct LineEnds<'l, 'p> {
    link: &'l SceneLine<'p>,
    sides: (BoxSide, BoxSide),
    start: (f64, f64),
    end: (f64, f64),
}

fn sides(link: &SceneLine<'_>, ground: &Ground) -> (BoxSide, BoxSide) {
    let (from, to) = (ground.seats.at(link.from), ground.seats.at(link.to));
    if ground.home.at(link.from) == ground.home.at(link.to) {
        return match from.column.cmp(&to.column) {
            std::cmp::Ordering::Less => (BoxSide::Right, BoxSide::Left),
            std::cmp::Ordering::Equal => (BoxSide::Right, BoxSide::Right),
            std::cmp::Ordering::Greater => (BoxSide::Left, BoxSide::Right),
        };
    }
    if to.rect.middle().0 >= from.rect.middle().0 {
        (BoxSide::Right, BoxSide::Left)
    } else {
        (BoxSide::Left, BoxSide::Right)
    }
}

/// Spreads the ends of lines along the sides of their boxes, in the order of the other ends.
fn ports(scene: &Scene<'_>, ground: &Ground, sides: &[(BoxSide, BoxSide)]) -> IndexedList<(f64, f64)> {
    let mut ends: Vec<LineEnd> = Vec::with_capacity(sides.len() * 2);
    for (at, (link, sides)) in scene.links.iter().zip(sides).enumerate() {
        let height = |glyph: usize| ground.seats.at(glyph).rect.middle().1;
        let passes = ground.passes.get(&at).map_or(&[][..], Vec::as_slice);
        let (mut near, mut far) = (passes.first().map(|rect| rect.y), passes.last().map(|rect| rect.y));
        if sides.0 == BoxSide::Left {
            std::mem::swap(&mut near, &mut far);
        }
        // Lines on one side of a column nest, so the order turns at the lower box.
        let turn = |glyph: usize, other: usize| {
            let is_lower = sides.0 == sides.1 && height(glyph) > height(other);
            if is_lower { -(at as isize) } else { at as isize }
        };
        for (is_start, glyph, other, side, bend) in
            [(true, link.from, link.to, sides.0, near), (false, link.to, link.from, sides.1, far)]
        {
            ends.push(LineEnd {
                side: (glyph, side),
                height: bend.unwrap_or_else(|| height(other)),
                is_bend: bend.is_some(),
                turn: turn(glyph, other),
                link: at,
                is_start,
            });
        }
    }
    ends.compact_sort_by(|one, other| {
        let height = one.height.total_cmp(&other.height);
        one.side.cmp(&other.side).then(height).then(one.turn.cmp(&other.turn))
    });
    let mut ports: IndexedList<(f64, f64)> = IndexedList::new(sides.len());
    for run in ends.chunk_by(|one, other| one.side == other.side) {
        // Lines that go the same way leave from the same place.
        let is_same =
            |one: &LineEnd, other: &LineEnd| one.is_bend && other.is_bend && one.height == other.height;
        let count = run.chunk_by(is_same).count();
        let step = (24.0 / count as f64).min(7.0);
        for (place, ends) in run.chunk_by(is_same).enumerate() {
            let offset = (place as f64 - (count - 1) as f64 / 2.0) * step;
            for end in ends {
                ports
                    .change(end.link, |ports| if end.is_start { ports.0 = offset } else { ports.1 = offset });
            }
        }
    }
    ports
}

/// One end of a line at a side of a box.
#[derive(Debug)]
struct LineEnd {
    side: (usize, BoxSide),
    /// Of what it goes to next: a bend or the other box.
    height: f64,
    is_bend: bool,
    /// The order among equals.
    turn: isize,
    link: usize,
    is_start: bool,
}

fn port_point(glyph: usize, side: BoxSide, offset: f64, ground: &Ground) -> (f64, f64) {
    let rect = ground.seats.at(glyph).rect;
    let x = if side == BoxSide::Left { rect.x } else { rect.x + rect.width };
    (x, rect.middle().1 + offset)
}

/// A line from a box to itself: a loop on the right.
fn route_to_self(way: &LineEnds<'_, '_>) -> Route {
    let (x, y) = way.start;
    let path = format!("M{x:.0} {:.0}c26 -14 26 22 0 8", y - 4.0);
    Route {
        path,
        is_outside: false,
        tip: (x, y + 4.0, false),
        spots: vec![LabelSpot { x: x + 22.0, y, is_begin: true }],
    }
}

fn route_inside(way: &LineEnds<'_, '_>, passes: &[Rect], ground: &Ground) -> Route {
    let mut route = Route::default();
    let (start, end) = (way.start, way.end);
    let _ = write!(route.path, "M{:.0} {:.0}", start.0, start.1);
    if way.sides.0 == way.sides.1 {
        let room = ground.seats.at(way.link.from).free.1;
        let out = (14.0 + (end.1 - start.1).abs() * 0.5).min(room * 0.7);
        let (one, other) = (start.0 + out, end.0 + out);
        let _ =
            write!(route.path, "C{one:.0} {:.0} {other:.0} {:.0} {:.0} {:.0}", start.1, end.1, end.0, end.1);
        route.tip = (end.0, end.1, false);
        let x = start.0.max(end.0) + out * 0.75 - 3.0;
        for part in [0.5, 0.35, 0.65, 0.2, 0.8] {
            route.spots.push(LabelSpot { x, y: start.1 + (end.1 - start.1) * part, is_begin: true });
        }
        return route;
    }
    let rightward = way.sides.0 == BoxSide::Right;
    let mut before = start;
    let edge = 8.0;
    let mut visit = |rect: &Rect| {
        let (near, far) = (rect.x - edge, rect.x + rect.width + edge);
        let (near, far) = if rightward { (near, far) } else { (far, near) };
        push_curve(&mut route, before, (near, rect.y));
        let _ = write!(route.path, "H{far:.0}");
        before = (far, rect.y);
    };
    if rightward {
        passes.iter().for_each(&mut visit);
    } else {
        passes.iter().rev().for_each(&mut visit);
    }
    push_curve(&mut route, before, end);
    route.tip = (end.0, end.1, rightward);
    // The middle of each step first, then places further out.
    let steps = route.spots.len() / 5;
    let order = (0..5).flat_map(|part| (0..steps).map(move |step| step * 5 + part));
    route.spots = order.filter_map(|at| route.spots.get(at).copied()).collect();
    route
}

fn push_curve(route: &mut Route, from: (f64, f64), to: (f64, f64)) {
    let bend = (to.0 - from.0) / 2.0;
    let (one, other) = (from.0 + bend, to.0 - bend);
    let _ = write!(route.path, "C{one:.0} {:.0} {other:.0} {:.0} {:.0} {:.0}", from.1, to.1, to.0, to.1);
    for part in [0.5, 0.38, 0.62, 0.28, 0.72] {
        let rest: f64 = 1.0 - part;
        let (a, b, c, d) =
            (rest * rest * rest, 3.0 * rest * rest * part, 3.0 * rest * part * part, part * part * part);
        route.spots.push(LabelSpot {
            x: a * from.0 + b * one + c * other + d * to.0,
            y: (a + b) * from.1 + (c + d) * to.1,
            is_begin: false,
        });
    }
}

/// Leaves its group through the free strip beside the box, and follows gutters.
fn route_outside(way: &LineEnds<'_, '_>, ground: &Ground) -> Route {
    let frame = |glyph: usize| ground.frames.get(ground.home.at(glyph)).cloned().unwrap_or_default();
    let (from, to) = (frame(way.link.from), frame(way.link.to));
    // Lines to the same box share their lane.
    let lane = (way.link.to * 7 % 9) as f64 - 4.0;
    let strip_of = |seat: Seat, side: BoxSide, own: f64| match side {
        BoxSide::Left => seat.rect.x - seat.free.0 * (0.5 + own * 0.04),
        BoxSide::Right => seat.rect.x + seat.rect.width + seat.free.1 * (0.5 + own * 0.04),
    };
    let leave = strip_of(ground.seats.at(way.link.from), way.sides.0, lane);
    let enter = strip_of(ground.seats.at(way.link.to), way.sides.1, lane);
    let shift = lane * 3.0;
    let mut points = vec![way.start, (leave, way.start.1)];
    let is_next = from.strip == to.strip && from.place.abs_diff(to.place) == 1;
    if is_next {
        let y = if to.place > from.place { below_frame(&from) } else { above_frame(&from) } + shift;
        points.extend([(leave, y), (enter, y)]);
    } else {
        let down = to.rect.middle().1 > from.rect.middle().1;
        let exit = if down { below_frame(&from) } else { above_frame(&from) } + shift;
        let entry = if exit <= to.rect.y { above_frame(&to) } else { below_frame(&to) } + shift;
        let gutter = |strip: usize| ground.gutters.get(strip).copied().unwrap_or_default() + shift;
        let (first, last) = match from.strip.cmp(&to.strip) {
            std::cmp::Ordering::Less => (gutter(from.strip + 1), gutter(to.strip)),
            std::cmp::Ordering::Greater => (gutter(from.strip), gutter(to.strip + 1)),
            std::cmp::Ordering::Equal => {
                let (left, right) = (gutter(from.strip), gutter(from.strip + 1));
                let nearer =
                    if leave + enter - 2.0 * left < 2.0 * right - leave - enter { left } else { right };
                (nearer, nearer)
            }
        };
        points.extend([(leave, exit), (first, exit)]);
        if first != last {
            let over = exit + entry - 2.0 * ground.top < 2.0 * ground.bottom - exit - entry;
            let y = if over { ground.top } else { ground.bottom } + shift;
            points.extend([(first, y), (last, y)]);
        }
        points.extend([(last, entry), (enter, entry)]);
    }
    points.extend([(enter, way.end.1), way.end]);
    let mut route = rounded_route(&points);
    route.is_outside = true;
    route.tip = (way.end.0, way.end.1, way.sides.1 == BoxSide::Left);
    route
}

fn above_frame(frame: &FramePlace) -> f64 {
    frame.rect.y - GUTTER_WIDTH / 2.0
}

fn below_frame(frame: &FramePlace) -> f64 {
    frame.rect.y + frame.rect.height + GUTTER_WIDTH / 2.0
}

/// A way of straight pieces with rounded corners.
fn rounded_route(points: &[(f64, f64)]) -> Route {
    let mut route = Route::default();
    let Some(first) = points.first() else { return route };
    let _ = write!(route.path, "M{:.0} {:.0}", first.0, first.1);
    let mut lengths: Vec<(f64, (f64, f64))> = Vec::new();
    for triple in points.windows(3) {
        let [before, corner, after] = triple else { continue };
        let (one, other) = (corner_point(*corner, *before), corner_point(*corner, *after));
        let _ = write!(
            route.path,
            "L{:.0} {:.0}Q{:.0} {:.0} {:.0} {:.0}",
            one.0, one.1, corner.0, corner.1, other.0, other.1
        );
    }
    if let Some(last) = points.last() {
        let _ = write!(route.path, "L{:.0} {:.0}", last.0, last.1);
    }
    for pair in points.windows(2) {
        let [one, other] = pair else { continue };
        if one.1 == other.1 {
            let length = (one.0 - other.0).abs();
            for part in [0.5, 0.3, 0.7] {
                lengths.push((length, (one.0 + (other.0 - one.0) * part, one.1)));
            }
        }
    }
    lengths.compact_sort_by(|one, other| other.0.total_cmp(&one.0));
    route.spots =
        lengths.into_iter().take(12).map(|(_, (x, y))| LabelSpot { x, y, is_begin: false }).collect();
    route
}

/// The point at most eight from `corner` on the way to `end`.
fn corner_point(corner: (f64, f64), end: (f64, f64)) -> (f64, f64) {
    let (x, y) = (end.0 - corner.0, end.1 - corner.1);
    let length = x.hypot(y);
    let part = if length < 1e-6 { 0.0 } else { (8.0 / length).min(0.5) };
    (corner.0 + x * part, corner.1 + y * part)
}
