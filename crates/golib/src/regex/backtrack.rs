//! Follows one way through an NFA after the other, and never the same place twice, for short texts.
//!
//! Go prefers the first way that leads to a match, so ways are tried in that order. A state that did not lead to a
//! match from some offset never will, so it is remembered: the work is at most the states times the bytes, as in the
//! simulation of all ways at once, but mostly far less, because the first way is mostly the right one.

use std::ops::Range;

use kubewright_value::StepMeter;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::simulate::{GroupSlots, UNSET_SLOT, VISITS_PER_STEP};

/// The maximum number of pairs of a state and an offset: a bit is remembered for each.
const MAX_PAIRS: usize = 1 << 16;

/// The number of bits in an entry of the memory.
const WORD_BITS: usize = u64::BITS as usize;

/// One search.
pub(super) struct Backtracking<'n, 't> {
    nfa: &'n NFA,
    text: &'t [u8],
    range: Range<usize>,
    slots: Vec<u32>,
    /// A bit for each pair of a state and an offset that was tried.
    tried: Vec<u64>,
    stack: Vec<BacktrackFrame>,
    visits: u64,
}

/// The work left to do when the way that is followed does not lead to a match.
enum BacktrackFrame {
    Try(StateID, usize),
    /// Puts back a slot that belongs to the way just followed.
    Restore {
        slot: usize,
        offset: u32,
    },
}

impl<'n, 't> Backtracking<'n, 't> {
    /// Returns a search in `range` of `text` that remembers `slots` slots; `None` when there is too much to remember.
    pub(super) fn new(nfa: &'n NFA, text: &'t [u8], range: Range<usize>, slots: usize) -> Option<Self> {
        let pairs = nfa.states().len().checked_mul(range.len() + 1).filter(|pairs| *pairs <= MAX_PAIRS)?;
        let tried = vec![0; pairs.div_ceil(WORD_BITS)];
        let visits = tried.len() as u64 / 16;
        Some(Self { nfa, text, range, slots: vec![UNSET_SLOT; slots], tried, stack: Vec::new(), visits })
    }

    /// Returns the slots of the first match that begins and ends in the range.
    pub(super) fn run<M: StepMeter>(mut self, meter: &mut M) -> Result<Option<GroupSlots>, M::Stopped> {
        let is_anchored = self.nfa.is_always_start_anchored();
        let mut found = false;
        for at in self.range.start..=self.range.end {
            if is_anchored && at > 0 {
                break;
            }
            // An empty match inside of a character does not count.
            let is_boundary = self.text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
            if is_boundary && self.matches_from(at) {
                found = true;
                break;
            }
        }
        meter.take(1 + self.visits / VISITS_PER_STEP)?;
        Ok(found.then(|| self.slots.into_boxed_slice()))
    }

    fn matches_from(&mut self, start: usize) -> bool {
        self.stack.push(BacktrackFrame::Try(self.nfa.start_anchored(), start));
        while let Some(frame) = self.stack.pop() {
            match frame {
                BacktrackFrame::Restore { slot, offset } => {
                    if let Some(place) = self.slots.get_mut(slot) {
                        *place = offset;
                    }
                }
                BacktrackFrame::Try(state, at) => {
                    if self.follow(state, at) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Follows the preferred way from `id` on. Returns whether it leads to a match.
    fn follow(&mut self, mut id: StateID, mut at: usize) -> bool {
        while self.is_new(id, at) {
            self.visits += 1;
            let byte = self.text.get(at).copied().filter(|_| at < self.range.end);
            let next = match (self.nfa.state(id), byte) {
                (State::Match { .. }, _) => return true,
                (State::ByteRange { trans }, Some(byte)) => trans.matches_byte(byte).then_some(trans.next),
                (State::Sparse(transitions), Some(byte)) => transitions.matches_byte(byte),
                (State::Dense(transitions), Some(byte)) => transitions.matches_byte(byte),
                (state, _) => match self.without_byte(state, at) {
                    Some(next) => {
                        id = next;
                        continue;
                    }
                    None => return false,
                },
            };
            let Some(next) = next else { return false };
            (id, at) = (next, at + 1);
        }
        false
    }

    /// Returns the preferred state that `state` leads to without a byte; the others are tried later.
    fn without_byte(&mut self, state: &State, at: usize) -> Option<StateID> {
        match state {
            State::Look { look, next } => {
                self.nfa.look_matcher().matches(*look, self.text, at).then_some(*next)
            }
            State::Union { alternates } => {
                let (first, rest) = alternates.split_first()?;
                self.visits += rest.len() as u64;
                self.stack.extend(rest.iter().rev().map(|state| BacktrackFrame::Try(*state, at)));
                Some(*first)
            }
            State::BinaryUnion { alt1, alt2 } => {
                self.stack.push(BacktrackFrame::Try(*alt2, at));
                Some(*alt1)
            }
            State::Capture { next, slot, .. } => {
                let slot = slot.as_usize();
                if let Some(place) = self.slots.get_mut(slot) {
                    let offset = std::mem::replace(place, u32::try_from(at).unwrap_or(UNSET_SLOT));
                    self.stack.push(BacktrackFrame::Restore { slot, offset });
                }
                Some(*next)
            }
            State::ByteRange { .. }
            | State::Sparse(_)
            | State::Dense(_)
            | State::Match { .. }
            | State::Fail => None,
        }
    }

    /// Remembers that `state` is tried at `at`. Returns whether it was not before.
    fn is_new(&mut self, state: StateID, at: usize) -> bool {
        let pair = state.as_usize() * (self.range.len() + 1) + (at - self.range.start);
        let Some(word) = self.tried.get_mut(pair / WORD_BITS) else { return false };
        let bit = 1 << (pair % WORD_BITS);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}
