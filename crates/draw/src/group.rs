//! The boxes of one namespace: columns by layer, components one under the other.
//!
//! A namespace that would be too high continues in a second panel to the right. Columns go
//! through a whole panel, so that the strips between them are free of boxes from top to bottom.

use super::component::{ArrangedComponent, BOX_HEIGHT, Pair, arrange};
use super::scene::{Glyph, Scene};
use super::slots::IndexedList;
use super::{Badge, text};
use kubewright_value::CompactSort as _;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const GROUP_PADDING: f64 = 26.0;
const BOX_PITCH: f64 = BOX_HEIGHT + 14.0;
/// Boxes of one layer in one column; more continue in the next, unless they are very many.
const MAX_COLUMN_BOXES: usize = 24;
const PANEL_GAP: f64 = 64.0;

/// A rectangle by its upper left corner.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub(super) fn middle(self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// The boxes of one namespace, arranged but not yet placed.
#[derive(Debug)]
pub(super) struct GroupLayout<'p> {
    pub frame: &'p str,
    /// The heading.
    pub label: String,
    blocks: Vec<GroupBlock>,
    /// Boxes without a line inside this group.
    loose: Vec<usize>,
    widths: BTreeMap<usize, f64>,
    gap: f64,
    /// Columns with lines between their own boxes, which need more room on the right.
    tied: BTreeSet<usize>,
}

#[derive(Debug)]
struct GroupBlock {
    glyphs: Vec<usize>,
    links: Vec<usize>,
    component: ArrangedComponent,
}

/// Where everything of a group is, from its upper left corner.
#[derive(Debug, Default)]
pub(super) struct PlacedGroup {
    pub width: f64,
    pub height: f64,
    pub boxes: Vec<Seat>,
    /// Of a link inside: what it passes, from the left.
    pub passes: Vec<(usize, Vec<Rect>)>,
}

/// A box, its column and the free strips beside it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seat {
    pub glyph: usize,
    pub rect: Rect,
    pub column: usize,
    /// Width of the free strip on the left and on the right.
    pub free: (f64, f64),
}

impl<'p> GroupLayout<'p> {
    /// Arranges `glyphs`, linked by those `links` whose both ends are among them.
    pub(super) fn new(
        scene: &Scene<'p>,
        frame: &'p str,
        glyphs: std::ops::Range<usize>,
        links: &[usize],
    ) -> Self {
        let base = glyphs.start;
        let ends = |link: &usize| scene.links.get(*link).map(|link| (link.from - base, link.to - base));
        let mut sets = Sets::new(glyphs.len());
        for (from, to) in links.iter().filter_map(ends) {
            sets.join(from, to);
        }
        let mut members: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        for glyph in 0..glyphs.len() {
            members.entry(sets.root(glyph)).or_default().0.push(base + glyph);
        }
        for link in links {
            if let Some((from, _)) = ends(link) {
                members.entry(sets.root(from)).or_default().1.push(*link);
            }
        }
        let loose = members.values().filter(|set| set.0.len() == 1).flat_map(|set| set.0.clone()).collect();
        let joined: Vec<(Vec<usize>, Vec<usize>)> =
            members.into_values().filter(|set| set.0.len() > 1).collect();
        let layer = |glyph: usize| scene.glyphs.get(glyph).map_or(0, |glyph| glyph.known.layer);
        let mut most: BTreeMap<usize, usize> = BTreeMap::new();
        for (glyphs, _) in &joined {
            let counts = count_columns(glyphs.iter().map(|glyph| layer(*glyph)));
            let rows = rows_per_column(&counts);
            for (layer, count) in counts {
                let needed = count.div_ceil(rows);
                let slot = most.entry(layer).or_insert(0);
                *slot = needed.max(*slot);
            }
        }
        let mut first: BTreeMap<usize, usize> = BTreeMap::new();
        let mut columns = 0;
        for (layer, needed) in &most {
            first.insert(*layer, columns);
            columns += needed;
        }
        let mut widths: BTreeMap<usize, f64> = BTreeMap::new();
        let mut blocks: Vec<GroupBlock> = Vec::new();
        let mut tied = BTreeSet::new();
        let mut looks = BTreeMap::new();
        for (glyphs, links) in joined {
            let columns = spread_over_columns(&glyphs, &links, scene, &layer, &first);
            for (glyph, column) in glyphs.iter().zip(&columns) {
                let slot = widths.entry(*column).or_insert(0.0);
                *slot = scene.glyphs.get(*glyph).map_or(0.0, box_width).max(*slot);
            }
            let index: BTreeMap<usize, usize> =
                glyphs.iter().enumerate().map(|(at, glyph)| (*glyph, at)).collect();
            let place = |glyph: usize| index.get(&glyph).copied().unwrap_or_default();
            let pairs: Vec<Pair> = links
                .iter()
                .filter_map(|link| scene.links.get(*link))
                .map(|link| {
                    let look = (link.style, link.points.is_some(), link.parts.first().map(|part| part.0));
                    let next = looks.len();
                    let look = *looks.entry(look).or_insert(next);
                    Pair { from: place(link.from), to: place(link.to), look }
                })
                .collect();
            let column = |place: usize| columns.get(place).copied();
            tied.extend(
                pairs
                    .iter()
                    .filter(|pair| column(pair.from) == column(pair.to))
                    .filter_map(|pair| column(pair.from)),
            );
            blocks.push(GroupBlock { component: arrange(&columns, &pairs), glyphs, links });
        }
        blocks.compact_sort_by_key(|block| {
            (std::cmp::Reverse(block.glyphs.len()), block.glyphs.first().copied())
        });
        let captions = links.iter().filter_map(|link| scene.links.get(*link));
        let widest = captions.map(|link| text::text_width(&link.caption(), 9.5)).fold(0.0, f64::max);
        Self {
            frame,
            label: String::new(),
            blocks,
            loose,
            widths,
            gap: (widest + 30.0).clamp(60.0, 112.0),
            tied,
        }
    }

    /// Places everything so that no panel is much higher than `limit`.
    pub(super) fn place(&self, scene: &Scene<'_>, limit: f64) -> PlacedGroup {
        let mut panels: Vec<Vec<&GroupBlock>> = Vec::new();
        let mut height = 0.0;
        for block in &self.blocks {
            if panels.is_empty() || height + block.component.height > limit {
                panels.push(Vec::new());
                height = 0.0;
            }
            height += block.component.height + 26.0;
            if let Some(panel) = panels.last_mut() {
                panel.push(block);
            }
        }
        if panels.is_empty() {
            panels.push(Vec::new());
        }
        let mut placed = PlacedGroup::default();
        let last = panels.len() - 1;
        let mut x = GROUP_PADDING;
        for (at, panel) in panels.iter().enumerate() {
            x = self.panel(scene, panel, at == last, x, &mut placed) + PANEL_GAP;
        }
        let heading =
            text::text_width(&text::clean_text(&self.label), heading_size(scene.glyphs.len())) + 30.0;
        placed.width = (x - PANEL_GAP + GROUP_PADDING).max(heading.min(360.0));
        placed.height += 16.0;
        placed
    }

    /// Places one panel at `start` and returns where it ends.
    fn panel(
        &self,
        scene: &Scene<'_>,
        blocks: &[&GroupBlock],
        with_loose: bool,
        start: f64,
        placed: &mut PlacedGroup,
    ) -> f64 {
        let used: BTreeSet<usize> =
            blocks.iter().flat_map(|block| block.component.cells.iter().map(|cell| cell.column)).collect();
        let loose: &[usize] = if with_loose { &self.loose } else { &[] };
        let across = match loose.len() {
            0 => 0,
            count => used.len().max((count as f64 / 3.5).sqrt().ceil() as usize),
        };
        let mut widths: Vec<(Option<usize>, f64)> =
            used.iter().map(|at| (Some(*at), self.widths.get(at).copied().unwrap_or(0.0))).collect();
        widths.resize(widths.len().max(across), (None, 0.0));
        let widths = &mut widths;
        for (place, glyph) in loose.iter().enumerate() {
            let needed = scene.glyphs.get(*glyph).map_or(0.0, box_width);
            if let Some(slot) = widths.get_mut(place % across.max(1)) {
                slot.1 = slot.1.max(needed);
            }
        }
        let mut columns: Vec<(f64, f64, (f64, f64))> = Vec::new();
        let mut at: BTreeMap<usize, usize> = BTreeMap::new();
        let (mut x, mut before) = (start, GROUP_PADDING);
        for (place, (column, width)) in widths.iter().enumerate() {
            if let Some(column) = column {
                at.insert(*column, place);
            }
            let is_tied = column.is_some_and(|column| self.tied.contains(&column));
            let next = match widths.get(place + 1) {
                Some((Some(_), _)) if is_tied => self.gap + 90.0,
                Some((Some(_), _)) => self.gap,
                _ if is_tied => self.gap + 40.0,
                Some((None, _)) => 28.0,
                None => GROUP_PADDING,
            };
            columns.push((x, *width, (before, next)));
            x += width + next;
            before = next;
        }
        let end = x - before + if before > GROUP_PADDING { before - GROUP_PADDING } else { 0.0 };
        let column = |place: usize| columns.get(place).copied().unwrap_or_default();
        let mut y = heading_size(scene.glyphs.len()) + 30.0;
        for block in blocks {
            for (cell, glyph) in block.component.cells.iter().zip(&block.glyphs) {
                let place = at.get(&cell.column).copied().unwrap_or_default();
                let (x, width, free) = column(place);
                let rect = Rect { x, y: y + cell.y - BOX_HEIGHT / 2.0, width, height: BOX_HEIGHT };
                placed.boxes.push(Seat { glyph: *glyph, rect, column: cell.column, free });
            }
            for (link, chain) in block.links.iter().zip(&block.component.chains) {
                let passes = chain.iter().filter_map(|cell| block.component.cells.get(*cell)).map(|cell| {
                    let (x, width, _) = column(at.get(&cell.column).copied().unwrap_or_default());
                    Rect { x, y: y + cell.y, width, height: 0.0 }
                });
                placed.passes.push((*link, passes.collect()));
            }
            y += block.component.height + 26.0;
        }
        for (place, glyph) in loose.iter().enumerate() {
            let (row, place) = (place / across.max(1), place % across.max(1));
            let (x, width, free) = column(place);
            let rect = Rect { x, y: y + row as f64 * BOX_PITCH, width, height: BOX_HEIGHT };
            placed.boxes.push(Seat { glyph: *glyph, rect, column: place, free });
        }
        y += loose.len().div_ceil(across.max(1)) as f64 * BOX_PITCH;
        placed.height = placed.height.max(y - if loose.is_empty() { 12.0 } else { 0.0 });
        end
    }
}

/// The size of the names of groups: larger in large pictures, which are looked at from afar.
pub(super) fn heading_size(glyphs: usize) -> f64 {
    12.0 + (glyphs as f64).min(1_500.0).sqrt() * 1.5
}

/// How wide a box must be for its words.
pub(super) fn box_width(glyph: &Glyph<'_>) -> f64 {
    let name = text::text_width(&text::clean_text(&glyph.label), 12.0);
    let kind = text::text_width(&text::clean_text(&glyph.kind), 9.5);
    let count = if glyph.count > 1 { 20.0 + text::text_width(&glyph.count.to_string(), 10.0) } else { 0.0 };
    let words = (name + count).max(kind + count).clamp(50.0, 158.0) + chip_width(glyph) + 18.0;
    let badges: f64 = glyph.badges.iter().map(|badge| text::text_width(&badge_text(badge), 9.5) + 15.0).sum();
    words.max(badges + 10.0)
}

/// The text of a badge, shortened.
pub(super) fn badge_text(badge: &Badge) -> String {
    text::fit_text(&badge.text, 9.5, 110.0)
}

pub(super) fn chip_width(glyph: &Glyph<'_>) -> f64 {
    (text::text_width(glyph.known.short, 9.0) + 8.0).max(22.0)
}

/// The column of every glyph: that of its layer, and when the layer is long, the next ones by turns,
/// in the order of the neighbours on the left.
fn spread_over_columns(
    glyphs: &[usize],
    links: &[usize],
    scene: &Scene<'_>,
    layer: &impl Fn(usize) -> usize,
    first: &BTreeMap<usize, usize>,
) -> Vec<usize> {
    let mut near: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for link in links.iter().filter_map(|link| scene.links.get(*link)) {
        for (one, other) in [(link.from, link.to), (link.to, link.from)] {
            if layer(other) < layer(one) {
                near.entry(one).or_default().push(other);
            }
        }
    }
    let mut layers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for glyph in glyphs {
        layers.entry(layer(*glyph)).or_default().push(*glyph);
    }
    let rows = rows_per_column(&layers.iter().map(|(layer, all)| (*layer, all.len())).collect());
    let (mut order, mut column) = (BTreeMap::new(), BTreeMap::new());
    for (layer, members) in layers {
        let mut wishes: Vec<(f64, usize)> = members
            .iter()
            .map(|glyph| {
                let all: Vec<f64> = near
                    .get(glyph)
                    .into_iter()
                    .flatten()
                    .filter_map(|near| order.get(near).copied())
                    .collect();
                let sum: f64 = all.iter().sum();
                (if all.is_empty() { 0.0 } else { sum / all.len() as f64 }, *glyph)
            })
            .collect();
        wishes.compact_sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let across = wishes.len().div_ceil(rows);
        let count = wishes.len() as f64;
        for (place, (_, glyph)) in wishes.into_iter().enumerate() {
            order.insert(glyph, place as f64 / count);
            column.insert(glyph, first.get(&layer).copied().unwrap_or_default() + place % across.max(1));
        }
    }
    glyphs.iter().map(|glyph| column.get(glyph).copied().unwrap_or_default()).collect()
}

/// How many boxes one column may have: not many more than most columns have.
fn rows_per_column(counts: &BTreeMap<usize, usize>) -> usize {
    let mut sizes: Vec<usize> = counts.values().copied().collect();
    sizes.compact_sort_by(|one, other| other.cmp(one));
    let largest = sizes.first().copied().unwrap_or_default();
    let most = MAX_COLUMN_BOXES.max((largest as f64 * 4.0).sqrt() as usize);
    (sizes.get(1).copied().unwrap_or_default() * 3 / 2).clamp(8.max(most / 2), most)
}

fn count_columns(all: impl Iterator<Item = usize>) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_insert(0) += 1;
    }
    counts
}

/// Which places belong together; the smallest is the root.
#[derive(Debug)]
struct Sets(IndexedList<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self(IndexedList((0..count).collect()))
    }

    fn root(&mut self, place: usize) -> usize {
        let mut at = place;
        while self.0.at(at) != at {
            let above = self.0.at(self.0.at(at));
            self.0.set(at, above);
            at = above;
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0.set(one.max(other), one.min(other));
    }
}
