//! "Did you mean": the known word nearest to a misspelt one.

use std::fmt;

/// The number of words that are compared: thousands of mistakes may meet thousands of words.
const MAX_COMPARED_WORDS: usize = 500;

/// Returns the one of `known` that is nearest to `word`, if any is near enough to be what was meant.
#[must_use]
pub fn nearest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let allowed = (length / 3).clamp(1, 3);
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= allowed)
        .take(MAX_COMPARED_WORDS)
        .map(|candidate| (edit_distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed && *distance < length)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The known word that was probably meant; displays as "did you mean `word`?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suggestion<'a> {
    word: &'a str,
    prefix: &'a str,
}

impl<'a> Suggestion<'a> {
    /// Returns the word itself.
    #[must_use]
    pub fn word(self) -> &'a str {
        self.word
    }

    /// Returns the suggestion with `prefix` in front of the word, such as `variables.`.
    #[must_use]
    pub fn with_prefix(self, prefix: &'a str) -> Self {
        Self { prefix, ..self }
    }
}

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "did you mean `{}{}`?", self.prefix, self.word)
    }
}

/// Returns the one of `known` that is nearest to `word` as a suggestion, if any is near enough.
#[must_use]
pub fn suggest_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<Suggestion<'a>> {
    nearest_word(word, known).map(|word| Suggestion { word, prefix: "" })
}

/// Counts insertions, deletions, replacements and swaps of neighbours from one word to the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let cell = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut best =
                (cell(&row, j) + usize::from(x != y)).min(cell(&row, j + 1) + 1).min(cell(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(cell(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestion_displays_as_a_question() {
        let suggestion = suggest_word("seelct", ["select", "negate"]).unwrap();
        assert_eq!(suggestion.to_string(), "did you mean `select`?");
        assert_eq!(suggestion.with_prefix("spec.").to_string(), "did you mean `spec.select`?");
        assert_eq!((suggestion.word(), suggest_word("x", ["select"])), ("select", None));
    }

    #[test]
    fn of_very_many_words_the_first_are_compared() {
        let words: Vec<String> = (1000..9000).map(|number| format!("word{number}")).collect();
        let known = || words.iter().map(String::as_str);
        assert_eq!(nearest_word("wrod1002", known()), Some("word1002"));
        assert_eq!(nearest_word("wrod8999", known().skip(7999)), Some("word8999"));
        assert_ne!(nearest_word("wrod8999", known()), Some("word8999"));
    }

    #[test]
    fn the_nearest_word_is_found_and_a_stranger_is_not() {
        let known = ["matchValue", "matchValues", "matchRegex", "select", "negate"];
        for (word, want) in [
            ("matchvalue", Some("matchValue")),
            ("matchRegexp", Some("matchRegex")),
            ("slect", Some("select")),
            ("seelct", Some("select")),
            ("foo", None),
        ] {
            assert_eq!(nearest_word(word, known), want, "{word}");
        }
        assert_eq!((nearest_word("x", ["a"]), nearest_word("A", ["a"])), (None, Some("a")));
    }
}
