//! Texts of which it is quickly known that an expression that is a plain text is in none of them.

use super::Regex;

const PAIR_BITS: usize = 512;

/// Which pairs of adjacent bytes are there.
type PairSet = [u64; PAIR_BITS / 64];

/// The pairs of the text that an expression is.
pub(super) type LiteralPairs = Box<PairSet>;

/// Some texts, by the pairs of adjacent bytes in them. Most of what rules look for in vain has a pair that is in none of the
/// texts, so that these need not be searched.
#[derive(Debug)]
pub struct SearchedTexts {
    // INVARIANT: has the bits of all pairs of the texts; others may share a bit with one of them.
    pairs: PairSet,
    steps: u64,
}

impl SearchedTexts {
    /// Reads `texts`.
    pub fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut read = Self { pairs: [0; PAIR_BITS / 64], steps: 0 };
        for text in texts {
            read.steps += super::engine::search_steps(text);
            add_pairs(text.as_bytes(), &mut read.pairs);
        }
        read
    }
}

impl Regex {
    /// Returns how many steps [`Regex::is_match`] would take for all of `texts`, if it is known that it would find nothing.
    #[must_use]
    pub fn steps_in_vain(&self, texts: &SearchedTexts) -> Option<u64> {
        let wanted = self.0.literal_pairs.get_or_init(|| {
            let literal = self.0.engine.literal_text()?;
            let mut pairs = Box::new(PairSet::default());
            add_pairs(literal, &mut pairs);
            Some(pairs)
        });
        // One of the first words nearly always tells.
        let lacks_some =
            wanted.as_ref()?.iter().zip(&texts.pairs).any(|(wanted, there)| wanted & !there != 0);
        lacks_some.then_some(texts.steps)
    }
}

/// Adds the bit of each pair in `bytes`.
fn add_pairs(bytes: &[u8], pairs: &mut PairSet) {
    for (first, second) in bytes.iter().zip(bytes.iter().skip(1)) {
        let mixed = (usize::from(*first) * 37 + usize::from(*second)) % PAIR_BITS;
        if let Some(word) = pairs.get_mut(mixed / 64) {
            *word |= 1 << (mixed % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::Budget;

    use super::super::compile_regex;
    use super::*;

    #[track_caller]
    fn check(pattern: &str, texts: &[&str], is_known_absent: bool) {
        let regex = compile_regex(pattern).unwrap();
        let steps = regex.steps_in_vain(&SearchedTexts::new(texts.iter().copied()));
        assert_eq!(steps.is_some(), is_known_absent, "{pattern} {texts:?}");
        let mut budget = Budget::default();
        let found = texts.iter().any(|text| regex.is_match(text, &mut budget).unwrap());
        if let Some(steps) = steps {
            assert_eq!((found, budget.steps_used()), (false, steps), "{pattern} {texts:?}");
        }
    }

    #[test]
    fn what_cannot_be_in_the_texts_is_known_and_costs_the_same() {
        let images =
            ["registry.example.com/shop/web:1.20", "registry.example.com/shop/log-collector:0.9.1-alpine"];
        check("other-17", &images, true);
        check(r"docker\.io/", &images, true);
        check("shop/web", &images, false);
        check("x", &images, false);
        check("", &images, false);
        check("^other", &images, false);
        check("web", &[], true);
        check("ünter", &["über"], true);
        check("über", &["über"], false);
    }
}
