//! A lazy merge of several lists of edges, each in canonical order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Edges;
use crate::Edge;

pub(super) struct Merged<'g, R> {
    lists: Vec<Edges<'g>>,
    /// The next edge of each list.
    heads: Vec<Option<Edge<'g>>>,
    /// The lists that have one, the first in order on top: by rank, field and list.
    order: BinaryHeap<Reverse<(u64, &'g str, usize)>>,
    rank: R,
}

impl<'g, R: Fn(&Edge<'g>) -> u64> Merged<'g, R> {
    pub(super) fn new(lists: impl Iterator<Item = Edges<'g>>, rank: R) -> Self {
        let lists: Vec<Edges<'g>> = lists.collect();
        let heads = vec![None; lists.len()];
        let mut merged = Self { order: BinaryHeap::with_capacity(lists.len()), lists, heads, rank };
        (0..merged.lists.len()).for_each(|list| merged.advance(list));
        merged
    }

    fn advance(&mut self, list: usize) {
        let next = self.lists.get_mut(list).and_then(Iterator::next);
        if let Some(edge) = &next {
            self.order.push(Reverse(((self.rank)(edge), edge.via, list)));
        }
        if let Some(head) = self.heads.get_mut(list) {
            *head = next;
        }
    }
}

impl<'g, R: Fn(&Edge<'g>) -> u64> Iterator for Merged<'g, R> {
    type Item = Edge<'g>;

    fn next(&mut self) -> Option<Edge<'g>> {
        let Reverse((_, _, list)) = self.order.pop()?;
        let edge = self.heads.get_mut(list)?.take();
        self.advance(list);
        edge
    }
}
