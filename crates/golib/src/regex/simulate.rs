//! Runs an NFA over a text, all its states at once, and counts the states it visits.
//!
//! A thread is a state of the NFA and where the groups on the way to it began and ended. Threads are in the
//! order in which Go prefers them, so the first that reaches a match decides, and those behind it are dropped.

use kubewright_value::StepMeter;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

/// The number of visits of a state that count as a step.
pub(super) const VISITS_PER_STEP: u64 = 8;

/// The number of slots that can be copied in the time of a visit.
const SLOTS_PER_VISIT: u64 = 8;

/// After how many visits they are paid for.
const VISITS_PER_CHARGE: u64 = 4096;

/// The offsets at which groups begin and end: two entries for each, the whole match first; [`UNSET_SLOT`] for a group that took no part.
pub(super) type GroupSlots = Box<[u32]>;

/// No offset. Half as large as an `Option<usize>`, because there is a row of them for every state.
pub(super) const UNSET_SLOT: u32 = u32::MAX;

/// One search.
pub(super) struct Simulation<'n, 't> {
    nfa: &'n NFA,
    text: &'t [u8],
    slots: usize,
    current: SimulationThreads,
    next: SimulationThreads,
    stack: Vec<SimulationFrame>,
    visits: u64,
}

/// The threads at one position of the text, the preferred ones first.
struct SimulationThreads {
    // INVARIANT: `sparse[state]` is the index of `state` in `dense`, if it is there.
    dense: Vec<StateID>,
    sparse: Vec<u32>,
    /// The slots of each state, one row for each.
    slots: Vec<u32>,
    row: usize,
}

/// The work left to do while the states that need no byte are followed.
enum SimulationFrame {
    Explore(StateID),
    /// Puts back a slot that belongs to the way just followed.
    Restore {
        slot: usize,
        offset: u32,
    },
}

impl<'n, 't> Simulation<'n, 't> {
    /// Returns a search that remembers `slots` slots.
    pub(super) fn new(nfa: &'n NFA, text: &'t [u8], slots: usize) -> Self {
        let states = nfa.states().len();
        Self {
            nfa,
            text,
            slots,
            current: SimulationThreads::new(states, slots),
            next: SimulationThreads::new(states, slots),
            stack: Vec::new(),
            // Making room for the states is work too.
            visits: states as u64 / 16,
        }
    }

    /// Returns the slots of the first match that begins at `start` or behind it and ends at `end` or before.
    pub(super) fn run<M: StepMeter>(
        mut self,
        start: usize,
        end: usize,
        meter: &mut M,
    ) -> Result<Option<GroupSlots>, M::Stopped> {
        let is_anchored = self.nfa.is_always_start_anchored();
        let mut found = None;
        let mut row = vec![UNSET_SLOT; self.slots];
        for at in start..=end {
            if self.current.dense.is_empty() && (found.is_some() || (is_anchored && at > 0)) {
                break;
            }
            // An empty match inside of a character does not count.
            if found.is_none() && !(is_anchored && at > 0) && self.is_boundary(at) {
                row.fill(UNSET_SLOT);
                self.follow(self.nfa.start_anchored(), at, &mut row, true);
            }
            if self.step(at, at < end, &mut row) {
                found = Some(row.clone().into_boxed_slice());
                if self.slots == 0 {
                    break;
                }
            }
            std::mem::swap(&mut self.current, &mut self.next);
            self.next.dense.clear();
            self.visits += 1;
            if self.visits >= VISITS_PER_CHARGE {
                meter.take(std::mem::take(&mut self.visits) / VISITS_PER_STEP)?;
            }
        }
        meter.take(1 + self.visits / VISITS_PER_STEP)?;
        Ok(found)
    }

    fn is_boundary(&self, at: usize) -> bool {
        self.text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
    }

    /// Takes every thread over the byte at `at`. Returns whether one is at a match, whose slots are then in `row`.
    fn step(&mut self, at: usize, has_byte: bool, row: &mut [u32]) -> bool {
        let byte = self.text.get(at).copied().filter(|_| has_byte);
        for place in 0..self.current.dense.len() {
            let Some(id) = self.current.dense.get(place).copied() else { break };
            self.visits += 1;
            let next = match (self.nfa.state(id), byte) {
                (State::Match { .. }, _) => {
                    row.copy_from_slice(self.current.slots_of(id));
                    return true;
                }
                (State::ByteRange { trans }, Some(byte)) => trans.matches_byte(byte).then_some(trans.next),
                (State::Sparse(transitions), Some(byte)) => transitions.matches_byte(byte),
                (State::Dense(transitions), Some(byte)) => transitions.matches_byte(byte),
                _ => None,
            };
            if let Some(next) = next {
                row.copy_from_slice(self.current.slots_of(id));
                self.visits += row.len() as u64 / SLOTS_PER_VISIT;
                self.follow(next, at + 1, row, false);
            }
        }
        false
    }

    /// Adds `state` and all that is reached from it without a byte, to the threads of this position or of the next.
    fn follow(&mut self, state: StateID, at: usize, row: &mut [u32], is_current: bool) {
        self.stack.push(SimulationFrame::Explore(state));
        while let Some(frame) = self.stack.pop() {
            match frame {
                SimulationFrame::Restore { slot, offset } => {
                    if let Some(place) = row.get_mut(slot) {
                        *place = offset;
                    }
                }
                SimulationFrame::Explore(state) => self.explore(state, at, row, is_current),
            }
        }
    }

    fn explore(&mut self, mut id: StateID, at: usize, row: &mut [u32], is_current: bool) {
        loop {
            self.visits += 1;
            let threads = if is_current { &mut self.current } else { &mut self.next };
            if !threads.insert(id) {
                return;
            }
            match self.nfa.state(id) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                    threads.set_slots(id, row);
                    self.visits += row.len() as u64 / SLOTS_PER_VISIT;
                    return;
                }
                State::Fail => return,
                State::Look { look, next } => {
                    if !self.nfa.look_matcher().matches(*look, self.text, at) {
                        return;
                    }
                    id = *next;
                }
                State::Union { alternates } => {
                    let Some((first, rest)) = alternates.split_first() else { return };
                    self.visits += rest.len() as u64;
                    self.stack.extend(rest.iter().rev().map(|state| SimulationFrame::Explore(*state)));
                    id = *first;
                }
                State::BinaryUnion { alt1, alt2 } => {
                    self.stack.push(SimulationFrame::Explore(*alt2));
                    id = *alt1;
                }
                State::Capture { next, slot, .. } => {
                    let slot = slot.as_usize();
                    if let Some(place) = row.get_mut(slot) {
                        let offset = std::mem::replace(place, u32::try_from(at).unwrap_or(UNSET_SLOT));
                        self.stack.push(SimulationFrame::Restore { slot, offset });
                    }
                    id = *next;
                }
            }
        }
    }
}

impl SimulationThreads {
    fn new(states: usize, row: usize) -> Self {
        let slots = vec![0; states.saturating_mul(row)];
        Self { dense: Vec::new(), sparse: vec![0; states], slots, row }
    }

    /// Adds a state at the end, unless it is there.
    fn insert(&mut self, state: StateID) -> bool {
        let end = self.dense.len();
        let Some(place) = self.sparse.get_mut(state.as_usize()) else { return false };
        if self.dense.get(*place as usize) == Some(&state) {
            return false;
        }
        *place = u32::try_from(end).unwrap_or(u32::MAX);
        self.dense.push(state);
        true
    }

    fn slots_of(&self, state: StateID) -> &[u32] {
        let start = state.as_usize() * self.row;
        self.slots.get(start..start + self.row).unwrap_or_default()
    }

    fn set_slots(&mut self, state: StateID, row: &[u32]) {
        let start = state.as_usize() * self.row;
        if let Some(place) = self.slots.get_mut(start..start + self.row) {
            place.copy_from_slice(row);
        }
    }
}
