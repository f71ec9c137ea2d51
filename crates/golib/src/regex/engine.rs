//! The automata of one expression, and searches with them that are charged for what they do.
//!
//! The `regex` crate picks an engine while it searches, and its memory of earlier searches makes the same
//! search cheap once and expensive another time. A budget needs work that is known, bounded and the same
//! every time. So there are several engines here, chosen when the expression is compiled: a complete DFA where
//! that is small, which looks at each byte once and finds the end of a match; a one-pass DFA for the groups of an
//! anchored expression; and otherwise the NFA, one way after the other in a short text, all ways at once in a long one,
//! where every visit of a state counts.

use std::cell::RefCell;
use std::ops::Range;

use kubewright_value::StepMeter;
use memchr::memmem;
use regex_automata::dfa::{Automaton as _, dense, onepass};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::backtrack::Backtracking;
use super::simulate::{GroupSlots, Simulation, UNSET_SLOT};
use super::translate;

/// The maximum size of the complete DFA of an expression; for a larger one the NFA is simulated.
const MAX_DFA_BYTES: usize = 64 << 10;

/// The maximum size of the DFA that finds groups in one pass.
const MAX_ONE_PASS_BYTES: usize = 32 << 10;

/// The memory that making the DFA may take.
const MAX_DETERMINIZE_BYTES: usize = 256 << 10;

/// The maximum number of states of an expression, times its groups: a search has so many places to remember.
const MAX_GROUP_STATES: usize = 1 << 17;

/// The number of bytes the DFA reads in a step.
const DFA_BYTES_PER_STEP: u64 = 32;

/// The number of bytes that are read in a step while groups are found.
const ONE_PASS_BYTES_PER_STEP: u64 = 16;

/// The automata that run an expression.
pub(super) struct RegexEngine {
    nfa: NFA,
    dfa: Option<dense::DFA<Vec<u32>>>,
    /// Finds the groups of an expression that matches at the start alone and never has a choice between two ways.
    one_pass: Option<onepass::DFA>,
    /// Finds the text of an expression that is nothing else.
    literal: Option<Box<memmem::Finder<'static>>>,
}

thread_local! {
    /// Its tables of characters, which are as large as many automata together, are made once.
    static COMPILER: RefCell<thompson::Compiler> = RefCell::new(new_compiler());
}

fn new_compiler() -> thompson::Compiler {
    let mut compiler = NFA::compiler();
    compiler.syntax(syntax::Config::new().nest_limit(translate::NEST_LIMIT));
    compiler
}

/// Builds the NFA of `text` in at most `max_bytes`.
fn build_nfa(text: &str, max_bytes: usize) -> Result<NFA, BuildFailure> {
    let config = thompson::Config::new().nfa_size_limit(Some(max_bytes));
    let build = |compiler: &mut thompson::Compiler| {
        compiler.configure(config.clone()).build(text).map_err(|error| match error.size_limit() {
            Some(_) => BuildFailure::TooLarge,
            None => BuildFailure::Unsupported,
        })
    };
    COMPILER.with(|kept| match kept.try_borrow_mut() {
        Ok(mut kept) => build(&mut kept),
        Err(_) => build(&mut new_compiler()),
    })
}

/// The reason why no engine could be built for an expression.
pub(super) enum BuildFailure {
    TooLarge,
    Unsupported,
}

impl RegexEngine {
    /// Builds the automata of `text`, which is in the syntax of `regex`, with an NFA of at most `max_bytes`. `literal`: the
    /// text that it matches, where it is nothing else.
    pub(super) fn build(text: &str, literal: Option<&str>, max_bytes: usize) -> Result<Self, BuildFailure> {
        let nfa = build_nfa(text, max_bytes)?;
        let config = dense::Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .start_kind(regex_automata::dfa::StartKind::Unanchored)
            .dfa_size_limit(Some(MAX_DFA_BYTES))
            .determinize_size_limit(Some(MAX_DETERMINIZE_BYTES));
        let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa).ok();
        let literal = literal.map(|text| Box::new(memmem::Finder::new(text).into_owned()));
        let engine = Self { one_pass: one_pass_dfa(&nfa), nfa, dfa, literal };
        match engine.nfa.states().len().saturating_mul(engine.group_count()) > MAX_GROUP_STATES {
            true => Err(BuildFailure::TooLarge),
            false => Ok(engine),
        }
    }

    /// Returns how many bytes of heap the automata take.
    pub(super) fn heap_bytes(&self) -> usize {
        let one_pass = self.one_pass.as_ref().map_or(0, onepass::DFA::memory_usage);
        let literal =
            self.literal.as_ref().map_or(0, |finder| size_of_val(&**finder) + finder.needle().len());
        self.nfa.memory_usage() + self.dfa.as_ref().map_or(0, dense::DFA::memory_usage) + one_pass + literal
    }

    /// Returns how many steps building the automata took, estimated from their sizes.
    pub(super) fn build_steps(&self) -> u64 {
        // A DFA that became too large was built up to its limit.
        let dfa = self.dfa.as_ref().map_or(MAX_DETERMINIZE_BYTES, dense::DFA::memory_usage);
        (self.nfa.memory_usage() + dfa) as u64 / 16
    }

    /// Returns the number of groups, the whole match included.
    pub(super) fn group_count(&self) -> usize {
        self.nfa.group_info().group_len(regex_automata::PatternID::ZERO)
    }

    /// Returns the text that is looked for where the expression is nothing else, and a search takes [`search_steps`].
    pub(super) fn literal_text(&self) -> Option<&[u8]> {
        self.literal.as_ref().filter(|_| self.dfa.is_some()).map(|literal| literal.needle())
    }

    /// Returns whether there is a match in `text`.
    pub(super) fn is_match<M: StepMeter>(&self, text: &str, meter: &mut M) -> Result<bool, M::Stopped> {
        let Some(dfa) = &self.dfa else {
            return Ok(self.simulate(text, 0, text.len(), 0, meter)?.is_some());
        };
        meter.take(search_steps(text))?;
        if let Some(literal) = &self.literal {
            return Ok(literal.find(text.as_bytes()).is_some());
        }
        // The DFA has no byte at which it gives up, so it cannot fail.
        Ok(dfa.try_search_fwd(&Input::new(text).earliest(true)).is_ok_and(|end| end.is_some()))
    }

    /// Returns the first match in `text` from `at` on, with `groups` of its groups.
    pub(super) fn search<M: StepMeter>(
        &self,
        text: &str,
        at: usize,
        groups: usize,
        meter: &mut M,
    ) -> Result<Option<GroupSlots>, M::Stopped> {
        let Some(dfa) = &self.dfa else { return self.simulate(text, at, text.len(), groups * 2, meter) };
        let mut from = at;
        while let Some(end) = match_end(dfa, text, from, meter)? {
            if text.is_char_boundary(end) {
                return self.groups_of_match(text, from..end, groups, meter);
            }
            // An empty match inside of a character does not count.
            from = end + 1;
        }
        Ok(None)
    }

    /// Returns the groups of the match that begins somewhere in `range` and ends at its end.
    fn groups_of_match<M: StepMeter>(
        &self,
        text: &str,
        range: Range<usize>,
        groups: usize,
        meter: &mut M,
    ) -> Result<Option<GroupSlots>, M::Stopped> {
        let slot = |offset: usize| u32::try_from(offset).unwrap_or(UNSET_SLOT);
        if groups == 1 && self.nfa.is_always_start_anchored() {
            return Ok(Some([slot(range.start), slot(range.end)].into()));
        }
        let Some(dfa) = &self.one_pass else {
            return self.simulate(text, range.start, range.end, groups * 2, meter);
        };
        meter.take(1 + range.len() as u64 / ONE_PASS_BYTES_PER_STEP)?;
        let mut slots: Vec<Option<NonMaxUsize>> = vec![None; groups * 2];
        let input = Input::new(text).range(range).anchored(Anchored::Yes);
        let found = dfa.try_search_slots(&mut dfa.create_cache(), &input, &mut slots);
        let offset = |found: Option<NonMaxUsize>| found.map_or(UNSET_SLOT, |offset| slot(offset.get()));
        Ok(found.ok().flatten().map(|_| slots.into_iter().map(offset).collect()))
    }

    fn simulate<M: StepMeter>(
        &self,
        text: &str,
        at: usize,
        end: usize,
        slots: usize,
        meter: &mut M,
    ) -> Result<Option<GroupSlots>, M::Stopped> {
        match Backtracking::new(&self.nfa, text.as_bytes(), at..end, slots) {
            Some(backtracking) => backtracking.run(meter),
            None => Simulation::new(&self.nfa, text.as_bytes(), slots).run(at, end, meter),
        }
    }
}

/// Returns how many steps it takes to look with a DFA whether there is a match in `text`.
pub(super) fn search_steps(text: &str) -> u64 {
    1 + text.len() as u64 / DFA_BYTES_PER_STEP
}

fn one_pass_dfa(nfa: &NFA) -> Option<onepass::DFA> {
    // The search takes a start, and only that of an anchored expression is known.
    let has_groups = nfa.group_info().group_len(regex_automata::PatternID::ZERO) > 1;
    if !has_groups || !nfa.is_always_start_anchored() {
        return None;
    }
    let config = onepass::Config::new().size_limit(Some(MAX_ONE_PASS_BYTES));
    onepass::Builder::new().configure(config).build_from_nfa(nfa.clone()).ok()
}

/// Returns where the first match in `text` from `at` on ends, and charges for what was looked at to find that out.
///
/// To know that a match cannot become longer, more may have to be read than the match, up to the whole rest. Who looks
/// for all matches does so for each of them.
fn match_end<M: StepMeter>(
    dfa: &dense::DFA<Vec<u32>>,
    text: &str,
    start: usize,
    meter: &mut M,
) -> Result<Option<usize>, M::Stopped> {
    let Ok(mut state) = dfa.start_state_forward(&Input::new(text).range(start..)) else { return Ok(None) };
    let (mut end, mut at) = (None, start);
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    for chunk in rest.chunks(DFA_BYTES_PER_STEP as usize) {
        meter.take(1)?;
        for byte in chunk {
            state = dfa.next_state(state, *byte);
            if dfa.is_special_state(state) {
                if dfa.is_match_state(state) {
                    // A match is known one byte late.
                    end = Some(at);
                } else if dfa.is_dead_state(state) {
                    return Ok(end);
                }
            }
            at += 1;
        }
    }
    state = dfa.next_eoi_state(state);
    Ok(if dfa.is_match_state(state) { Some(text.len()) } else { end })
}
