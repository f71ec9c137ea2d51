//! The words on lines, where there is room for them.
//!
//! No words cover a box or other words. Missing and scored lines come first; the others may stay
//! without words, because colour and legend say the same, and a fan of alike lines is named once.

use super::LineStyle;
use super::group::Rect;
use super::route::{LabelSpot, Route};
use super::scene::{Scene, SceneLine};
use super::text;
use std::collections::HashMap;

pub(super) const CAPTION_FONT_SIZE: f64 = 9.5;
const GRID_CELL_SIZE: f64 = 64.0;

/// Words on a line, by their middle.
#[derive(Debug)]
pub(super) struct Caption {
    pub link: usize,
    pub x: f64,
    pub y: f64,
    pub text: String,
}

pub(super) fn captions(scene: &Scene<'_>, routes: &[Route], taken: &[Rect]) -> Vec<Caption> {
    let mut room = LabelSpace::default();
    taken.iter().for_each(|rect| room.take(*rect));
    let texts: Vec<String> = scene
        .links
        .iter()
        .map(|link| {
            text::fit_text(&link.caption(), CAPTION_FONT_SIZE, if is_telling(link) { 260.0 } else { 150.0 })
        })
        .collect();
    let mut fans: HashMap<(usize, bool, &str), usize> = HashMap::new();
    for (link, text) in scene.links.iter().zip(&texts) {
        *fans.entry((link.from, true, text)).or_insert(0) += 1;
        *fans.entry((link.to, false, text)).or_insert(0) += 1;
    }
    let mut named: HashMap<(usize, bool, &str), usize> = HashMap::new();
    let mut captions = Vec::new();
    let mut place = |at: usize, link: &SceneLine<'_>, text: &str| {
        let spots = routes.get(at).map_or(&[][..], |route| route.spots.as_slice());
        let width = text::text_width(text, CAPTION_FONT_SIZE) + 6.0;
        let near = |shift: f64| {
            let middle = move |spot: &LabelSpot| if spot.is_begin { spot.x + width / 2.0 } else { spot.x };
            spots.iter().map(move |spot| (middle(spot), spot.y + shift))
        };
        let always = is_telling(link);
        let shifts: &[f64] =
            if always { &[0.0, -8.0, 8.0, -14.0, 14.0, -22.0, 22.0, -30.0, 30.0] } else { &[0.0, -6.0, 6.0] };
        let found = shifts
            .iter()
            .flat_map(|shift| near(*shift))
            .find(|(x, y)| room.is_free(Rect { x: x - width / 2.0, y: y - 6.5, width, height: 13.0 }));
        let Some((x, y)) = found else { return false };
        room.take(Rect { x: x - width / 2.0, y: y - 6.5, width, height: 13.0 });
        captions.push(Caption { link: at, x, y, text: text.to_owned() });
        true
    };
    for telling in [true, false] {
        for (at, (link, text)) in scene.links.iter().zip(&texts).enumerate() {
            if is_telling(link) != telling || text.is_empty() {
                continue;
            }
            let ends = [(link.from, true, text.as_str()), (link.to, false, text.as_str())];
            let is_said = ends.iter().any(|end| {
                fans.get(end).is_some_and(|count| *count > 2)
                    && named.get(end).is_some_and(|count| *count > 0)
            });
            if (telling || !is_said) && place(at, link, text) {
                for end in ends {
                    *named.entry(end).or_insert(0) += 1;
                }
            }
        }
    }
    captions
}

fn is_telling(link: &SceneLine<'_>) -> bool {
    link.style == LineStyle::Missing || link.points.is_some()
}

/// The occupied rectangles, by square of a grid, so that only near ones are compared.
#[derive(Debug, Default)]
struct LabelSpace(HashMap<(i64, i64), Vec<Rect>>);

impl LabelSpace {
    fn take(&mut self, rect: Rect) {
        for square in squares(rect) {
            self.0.entry(square).or_default().push(rect);
        }
    }

    fn is_free(&self, rect: Rect) -> bool {
        squares(rect)
            .all(|square| self.0.get(&square).is_none_or(|all| all.iter().all(|one| !meet(*one, rect))))
    }
}

fn squares(rect: Rect) -> impl Iterator<Item = (i64, i64)> {
    let range = |from: f64, length: f64| {
        (from / GRID_CELL_SIZE).floor() as i64..=((from + length) / GRID_CELL_SIZE).floor() as i64
    };
    let rows = range(rect.y, rect.height);
    range(rect.x, rect.width).flat_map(move |column| rows.clone().map(move |row| (column, row)))
}

fn meet(one: Rect, other: Rect) -> bool {
    one.x < other.x + other.width
        && other.x < one.x + one.width
        && one.y < other.y + other.height
        && other.y < one.y + one.height
}
