//! Patterns and the graphs of objects made of a grammar: detection finds the same alone and among threads.

use super::FuzzTarget;
use super::pattern_detect::fuzz_pattern_detect;
use crate::grammar::{GrammarText, OBJECTS, PATTERNS};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "made_pattern",
    run: fuzz_made_pattern,
    seeds: super::GRAMMAR_SEEDS,
    dictionaries: &[],
    words: &[],
};

fn fuzz_made_pattern(bytes: &[u8]) {
    let mut made = GrammarText::new(&[OBJECTS, PATTERNS], bytes);
    let (pattern, objects) = (made.make("pattern_document"), made.make("objects"));
    fuzz_pattern_detect(format!("{pattern}\n---\n{objects}\n").as_bytes());
}
