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

/// Returns the one of `known` that `word` is a misspelling of; nothing when it is one of them, or none is so near that
/// hardly anything else can be meant: at most two letters differ, and the first is the same.
#[must_use]
pub fn nearest_misspelling<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let initial = |text: &str| text.chars().next().map(|first| first.to_ascii_lowercase());
    let mut near: Vec<&str> = Vec::new();
    for candidate in known {
        if candidate == word {
            return None;
        }
        if initial(candidate) == initial(word) {
            near.push(candidate);
        }
    }
    let length = word.chars().count();
    let allowed = if length < 6 { 1 } else { 2 };
    let near = nearest_word(word, near).filter(|_| length > 2)?;
    (edit_distance(&word.to_lowercase(), &near.to_lowercase()) <= allowed).then_some(near)
}

/// Returns the question whether `word` was meant, as the help of a diagnostic asks it.
#[must_use]
pub fn did_you_mean(word: impl fmt::Display) -> String {
    format!("did you mean `{word}`?")
}

/// Counts insertions, deletions, replacements and swaps of neighbours from one word to the other.
#[must_use]
pub fn edit_distance(a: &str, b: &str) -> usize {
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
    fn did_you_mean_is_a_question() {
        let near = nearest_word("seelct", ["select", "negate"]).map(did_you_mean);
        assert_eq!(near.as_deref(), Some("did you mean `select`?"));
    }

    #[test]
    fn a_misspelling_differs_by_a_letter_or_two() {
        let known = ["Pod", "Deployment", "StatefulSet", "ClusterRole"];
        for (word, want) in [
            ("Deploymnet", Some("Deployment")),
            ("deployment", Some("Deployment")),
            ("Pods", Some("Pod")),
            ("Pod", None),
            ("ClusterPool", None),
            ("Rollout", None),
        ] {
            assert_eq!(nearest_misspelling(word, known), want, "{word}");
        }
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
