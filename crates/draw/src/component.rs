//! One connected set of boxes in columns: their order and heights.
//!
//! Columns are given. A line that passes a column gets a place of its own there (a bend),
//! so that it goes between boxes and not through them; lines of one box share theirs.
//! Order is by barycentre, heights by the nearest heights to the neighbours that keep the order.

use super::slots::IndexedList;
use kubewright_value::CompactSort as _;
use std::collections::{BTreeMap, HashMap};

pub(super) const BOX_HEIGHT: f64 = 38.0;
const ORDERING_SWEEPS: usize = 10;

/// A place in a column: a box or a bend.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub column: usize,
    pub y: f64,
    is_box: bool,
    /// Linked to another box of its column.
    is_tied: bool,
}

#[derive(Debug)]
pub(super) struct ArrangedComponent {
    /// The boxes first, in the order given, then the bends.
    pub cells: Vec<Cell>,
    /// For every link the bends from its left end to its right end.
    pub chains: Vec<Vec<usize>>,
    pub height: f64,
}

/// A link between two boxes of this component.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub from: usize,
    pub to: usize,
    /// Lines of one look may share their bends.
    pub look: usize,
}

/// Arranges the boxes of `columns`, linked by `pairs`.
pub(super) fn arrange(columns: &[usize], pairs: &[Pair]) -> ArrangedComponent {
    let mut plan = ComponentPlan::new(columns, pairs);
    plan.order();
    plan.heights();
    let top = plan.cells.0.iter().map(|cell| cell.top()).fold(f64::INFINITY, f64::min);
    let mut height = 0.0_f64;
    for cell in &mut plan.cells.0 {
        cell.y -= top;
        height = height.max(cell.y + cell.half());
    }
    ArrangedComponent { cells: plan.cells.0, chains: plan.chains, height }
}

impl Cell {
    fn half(self) -> f64 {
        if self.is_box { BOX_HEIGHT / 2.0 } else { 2.0 }
    }

    fn top(self) -> f64 {
        self.y - self.half()
    }
}

#[derive(Debug)]
struct ComponentPlan {
    cells: IndexedList<Cell>,
    chains: Vec<Vec<usize>>,
    /// The cells of every used column, from the top.
    ranks: Vec<Vec<usize>>,
    left: IndexedList<Vec<usize>>,
    right: IndexedList<Vec<usize>>,
}

impl ComponentPlan {
    fn new(columns: &[usize], pairs: &[Pair]) -> Self {
        let mut ranks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (cell, column) in columns.iter().enumerate() {
            ranks.entry(*column).or_default().push(cell);
        }
        let used: Vec<usize> = ranks.keys().copied().collect();
        let mut cells: Vec<Cell> =
            columns.iter().map(|&column| Cell { column, is_box: true, ..Cell::default() }).collect();
        let boxes = IndexedList(columns.to_vec());
        // How many lines of a box pass a column.
        let mut long: IndexedList<usize> = IndexedList::new(columns.len());
        let rank = |column: usize| used.partition_point(|one| *one < column);
        for pair in pairs {
            if rank(boxes.at(pair.from)).abs_diff(rank(boxes.at(pair.to))) > 1 {
                long.change(pair.from, |count| *count += 1);
                long.change(pair.to, |count| *count += 1);
            }
        }
        let mut bends: HashMap<(usize, usize, usize), usize> = HashMap::new();
        let mut steps: Vec<(usize, usize)> = Vec::new();
        let mut chains = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let (mut low, mut high) = (pair.from, pair.to);
            if boxes.at(low) > boxes.at(high) {
                std::mem::swap(&mut low, &mut high);
            }
            let hub = if long.at(low) >= long.at(high) { low } else { high };
            let (start, end) = (boxes.at(low), boxes.at(high));
            let first = used.partition_point(|column| *column <= start);
            let chain: Vec<usize> = used
                .iter()
                .skip(first)
                .take_while(|column| **column < end)
                .map(|&column| {
                    *bends.entry((hub, column, pair.look)).or_insert_with(|| {
                        cells.push(Cell { column, ..Cell::default() });
                        ranks.entry(column).or_default().push(cells.len() - 1);
                        cells.len() - 1
                    })
                })
                .collect();
            if start == end {
                for end in [low, high] {
                    cells.get_mut(end).into_iter().for_each(|cell| cell.is_tied = true);
                }
            } else {
                let mut before = low;
                for &next in chain.iter().chain([&high]) {
                    steps.push((before, next));
                    before = next;
                }
            }
            chains.push(chain);
        }
        steps.sort_unstable();
        steps.dedup();
        let mut left: IndexedList<Vec<usize>> = IndexedList::new(cells.len());
        let mut right: IndexedList<Vec<usize>> = IndexedList::new(cells.len());
        for (one, other) in steps {
            right.change(one, |all| all.push(other));
            left.change(other, |all| all.push(one));
        }
        Self { cells: IndexedList(cells), chains, ranks: ranks.into_values().collect(), left, right }
    }

    /// Orders every column so that few lines cross.
    fn order(&mut self) {
        let mut places = self.places();
        let mut best = (self.crossings(), self.ranks.clone());
        for sweep in 0..ORDERING_SWEEPS {
            if best.0 == 0 {
                break;
            }
            let backward = sweep % 2 == 1;
            let sides = if backward { &self.right } else { &self.left };
            let count = self.ranks.len();
            for step in 0..count {
                let at = if backward { count - 1 - step } else { step };
                let Some(rank) = self.ranks.get_mut(at) else { continue };
                let mut wishes: Vec<(f64, usize)> = rank
                    .iter()
                    .map(|&cell| {
                        let wish = mean_place(sides.of(cell), |near| places.at(near));
                        (wish.unwrap_or_else(|| places.at(cell)), cell)
                    })
                    .collect();
                wishes.compact_sort_by(|one, other| one.0.total_cmp(&other.0));
                *rank = wishes
                    .chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq())
                    .flat_map(|equals| self.cells.bends_inside(equals))
                    .collect();
                settle_rank(rank, &mut places);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.ranks.clone());
            }
        }
        self.ranks = best.1;
    }

    /// The relative position of every cell in its column, from 0 to 1, so that columns of different length compare.
    fn places(&self) -> IndexedList<f64> {
        let mut places = IndexedList::new(self.cells.0.len());
        for rank in &self.ranks {
            settle_rank(rank, &mut places);
        }
        places
    }

    fn crossings(&self) -> usize {
        let mut total = 0;
        for (rank, next) in self.ranks.iter().zip(self.ranks.iter().skip(1)) {
            let mut index: HashMap<usize, usize> = HashMap::new();
            for (place, cell) in next.iter().enumerate() {
                index.insert(*cell, place);
            }
            let mut tree = FenwickTree(IndexedList::new(next.len() + 1), 0);
            for cell in rank {
                let mut ends: Vec<usize> =
                    self.right.of(*cell).iter().filter_map(|end| index.get(end).copied()).collect();
                ends.sort_unstable();
                total += ends.iter().map(|end| tree.above(*end)).sum::<usize>();
                ends.iter().for_each(|end| tree.add(*end));
            }
        }
        total
    }

    fn heights(&mut self) {
        for rank in &self.ranks {
            let mut y = 0.0;
            let mut before: Option<Cell> = None;
            for &at in rank {
                let cell = self.cells.at(at);
                y += before.map_or(0.0, |before| cell_distance(before, cell));
                self.cells.change(at, |cell| cell.y = y);
                before = Some(cell);
            }
        }
        let count = self.ranks.len();
        for sweep in 0..10 {
            for step in 0..count {
                let backward = sweep % 2 == 1;
                let at = if backward { count - 1 - step } else { step };
                let Some(rank) = self.ranks.get(at) else { continue };
                let wishes: Vec<f64> = rank
                    .iter()
                    .map(|&cell| {
                        let left = mean_place(self.left.of(cell), |near| self.cells.at(near).y);
                        let right = mean_place(self.right.of(cell), |near| self.cells.at(near).y);
                        let here = self.cells.at(cell).y;
                        match (left, right) {
                            (Some(left), Some(right)) if sweep >= 6 => f64::midpoint(left, right),
                            (left, right) if backward => right.or(left).unwrap_or(here),
                            (left, right) => left.or(right).unwrap_or(here),
                        }
                    })
                    .collect();
                let rank = rank.clone();
                self.nearest(&rank, &wishes);
            }
        }
    }

    /// Sets the heights nearest to `wishes` that keep order and distance (pool adjacent violators).
    fn nearest(&mut self, rank: &[usize], wishes: &[f64]) {
        let mut offsets = Vec::with_capacity(rank.len());
        let mut offset = 0.0;
        let mut before: Option<Cell> = None;
        for &at in rank {
            let cell = self.cells.at(at);
            offset += before.map_or(0.0, |before| cell_distance(before, cell));
            offsets.push(offset);
            before = Some(cell);
        }
        // Blocks of (sum of wishes, count) that move together.
        let mut blocks: Vec<(f64, f64)> = Vec::new();
        for (wish, offset) in wishes.iter().zip(&offsets) {
            let mut block = (wish - offset, 1.0);
            while let Some(last) = blocks.last().copied() {
                if last.0 / last.1 <= block.0 / block.1 {
                    break;
                }
                block = (block.0 + last.0, block.1 + last.1);
                blocks.pop();
            }
            blocks.push(block);
        }
        let bases = blocks.iter().flat_map(|(sum, count)| {
            let base = sum / count;
            (0..*count as usize).map(move |_| base)
        });
        for ((&at, offset), base) in rank.iter().zip(offsets).zip(bases) {
            self.cells.change(at, |cell| cell.y = (base + offset).round());
        }
    }
}

impl IndexedList<Cell> {
    /// Bends go through the middle of the boxes they compete with, so that columns do not drift away.
    fn bends_inside(&self, equals: &[(f64, usize)]) -> Vec<usize> {
        let all = equals.iter().map(|(_, cell)| *cell);
        let (boxes, bends): (Vec<usize>, Vec<usize>) = all.partition(|cell| self.at(*cell).is_box);
        let (above, below) = boxes.split_at_checked(boxes.len() / 2).unwrap_or_default();
        above.iter().chain(&bends).chain(below).copied().collect()
    }
}

/// The distance of the middles of two cells, one above the other.
fn cell_distance(one: Cell, other: Cell) -> f64 {
    let gap = match (one.is_tied && other.is_tied, one.is_box && other.is_box) {
        (true, _) => 34.0,
        (false, true) => 14.0,
        (false, false) => 7.0,
    };
    one.half() + gap + other.half()
}

fn settle_rank(rank: &[usize], places: &mut IndexedList<f64>) {
    let count = rank.len().max(1) as f64;
    for (place, cell) in rank.iter().enumerate() {
        places.set(*cell, (place as f64 + 0.5) / count);
    }
}

fn mean_place(all: &[usize], value: impl Fn(usize) -> f64) -> Option<f64> {
    if all.is_empty() {
        return None;
    }
    Some(all.iter().map(|one| value(*one)).sum::<f64>() / all.len() as f64)
}

/// Counts by place, with sums in logarithmic time (a Fenwick tree), and how many there are.
#[derive(Debug)]
struct FenwickTree(IndexedList<usize>, usize);

impl FenwickTree {
    fn add(&mut self, place: usize) {
        self.1 += 1;
        let mut at = place + 1;
        while at < self.0.0.len() {
            self.0.change(at, |count| *count += 1);
            at += at & at.wrapping_neg();
        }
    }

    /// The number of counts after `place`.
    fn above(&self, place: usize) -> usize {
        let (mut at, mut upto) = (place + 1, 0);
        while at > 0 {
            upto += self.0.at(at);
            at &= at - 1;
        }
        self.1 - upto
    }
}
