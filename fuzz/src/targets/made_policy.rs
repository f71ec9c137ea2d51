//! Policies and objects made of a grammar: the same request is decided the same way every time.

use kubewright_value::yaml;

use super::FuzzTarget;
use super::kyverno::check_decisions;
use crate::grammar::{GrammarText, OBJECTS, POLICIES};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "made_policy",
    run: fuzz_made_policy,
    seeds: super::GRAMMAR_SEEDS,
    dictionaries: &[],
    words: &[],
};

fn fuzz_made_policy(bytes: &[u8]) {
    let mut made = GrammarText::new(&[OBJECTS, POLICIES], bytes);
    let (policy, object) = (made.make("policy"), made.make("object"));
    if let Ok(object) = yaml::parse(&object) {
        check_decisions(&policy, &object);
    }
}
