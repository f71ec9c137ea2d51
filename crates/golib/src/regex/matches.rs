//! The matches of an expression in a text, one after the other.

use std::ops::Range;

use kubewright_value::StepMeter;

use super::engine::RegexEngine;
use super::simulate::{GroupSlots, UNSET_SLOT};

/// The matches in a text, left to right, without overlap. Each is searched for, and charged for, when it is taken.
pub struct MatchIterator<'r, 't> {
    engine: &'r RegexEngine,
    text: &'t str,
    groups: usize,
    /// Where the next search begins; behind the text when there is nothing left.
    at: usize,
    /// Where the last match ended.
    last_end: Option<usize>,
}

/// A match and its groups.
#[derive(Debug, Clone)]
pub struct MatchGroups<'t> {
    text: &'t str,
    slots: GroupSlots,
}

impl<'r, 't> MatchIterator<'r, 't> {
    pub(super) fn new(engine: &'r RegexEngine, text: &'t str) -> Self {
        Self { engine, text, groups: engine.group_count(), at: 0, last_end: None }
    }

    /// Leaves out the groups but the whole match, which is cheaper.
    #[must_use]
    pub fn without_groups(self) -> Self {
        Self { groups: 1, ..self }
    }

    /// Returns the next match.
    ///
    /// # Errors
    /// When `meter` has too few steps left for the search.
    pub fn next<M: StepMeter>(&mut self, meter: &mut M) -> Result<Option<MatchGroups<'t>>, M::Stopped> {
        while self.at <= self.text.len() {
            let Some(slots) = self.engine.search(self.text, self.at, self.groups, meter)? else {
                self.at = self.text.len() + 1;
                break;
            };
            let found = MatchGroups { text: self.text, slots };
            let range = found.range();
            let is_empty = range.is_empty();
            // A character is behind an empty match, or the end.
            self.at = if is_empty { next_boundary(self.text, range.end) } else { range.end };
            // As in Go, an empty match right behind another match does not count.
            if is_empty && self.last_end == Some(range.end) {
                continue;
            }
            self.last_end = Some(range.end);
            return Ok(Some(found));
        }
        Ok(None)
    }
}

impl<'t> MatchGroups<'t> {
    /// Returns the whole match.
    #[must_use]
    pub fn whole(&self) -> &'t str {
        self.get(0).unwrap_or_default()
    }

    /// Returns where the whole match is.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.range_of(0).unwrap_or_default()
    }

    /// Returns what group `number` matched; `None` when it took no part or does not exist.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&'t str> {
        self.text.get(self.range_of(number)?)
    }

    fn range_of(&self, number: usize) -> Option<Range<usize>> {
        let start = number.checked_mul(2)?;
        match *self.slots.get(start..start.checked_add(2)?)? {
            [UNSET_SLOT, _] | [_, UNSET_SLOT] => None,
            [start, end] => Some(start as usize..end as usize),
            _ => None,
        }
    }
}

/// Returns where the next character begins; behind the text after the last one.
fn next_boundary(text: &str, at: usize) -> usize {
    at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
}
