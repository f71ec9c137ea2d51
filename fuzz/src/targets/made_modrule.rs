//! ModRules and objects made of a grammar: the same request is decided the same way every time.

use kubewright_value::yaml;

use super::FuzzTarget;
use super::modrule::check_rule_decisions;
use crate::grammar::{GrammarText, MODRULES, OBJECTS};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "made_modrule",
    run: fuzz_made_modrule,
    seeds: super::GRAMMAR_SEEDS,
    dictionaries: &[],
    words: &[],
};

fn fuzz_made_modrule(bytes: &[u8]) {
    let mut made = GrammarText::new(&[OBJECTS, MODRULES], bytes);
    let (rule, object) = (made.make("modrule"), made.make("object"));
    if let Ok(object) = yaml::parse(&object) {
        check_rule_decisions(&rule, &object);
    }
}
