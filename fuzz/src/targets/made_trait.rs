//! Traits and manifests made of a grammar: rendering gives the same every time.

use kubewright_value::{Source, yaml};

use super::FuzzTarget;
use super::traits::render_twice;
use crate::grammar::{GrammarText, OBJECTS, TRAITS};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "made_trait",
    run: fuzz_made_trait,
    seeds: super::GRAMMAR_SEEDS,
    dictionaries: &[],
    words: &[],
};

fn fuzz_made_trait(bytes: &[u8]) {
    let mut made = GrammarText::new(&[OBJECTS, TRAITS], bytes);
    let (text, manifests) = (made.make("trait"), made.make("manifests"));
    for document in &yaml::read(&Source::new("trait.yaml", text.as_str())).documents {
        render_twice(document, &manifests);
    }
}
