//! Wildcards: `*` matches any characters, `?` matches one; everything else is literal.
//!
//! There is no way to escape a wildcard in the text, but a glob can be made of parts of which only some
//! may have wildcards in them, so that text from elsewhere is literal.

use kubewright_value::{Budget, Exhausted};

/// A pattern of wildcards, ready to be compared with texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WildcardPattern {
    shape: WildcardShape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum WildcardShape {
    Exact(Box<str>),
    /// `x*`
    Prefix(Box<str>),
    /// `*x`
    Suffix(Box<str>),
    /// `*x*`
    Contains(Box<str>),
    Any,
    /// One character at least.
    Some,
    Other(Vec<WildcardToken>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WildcardToken {
    Char(char),
    One,
    Any,
}

impl WildcardPattern {
    /// Returns the pattern that `text` is.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "*" => Self { shape: WildcardShape::Any },
            // Most texts in the place of a pattern have none.
            text if !has_wildcard(text) => Self { shape: WildcardShape::Exact(text.into()) },
            text => Self::of_parts([(text, true)]),
        }
    }

    /// Returns the pattern that is made of `parts`, each with whether its wildcards count.
    #[must_use]
    pub fn of_parts<'t>(parts: impl IntoIterator<Item = (&'t str, bool)>) -> Self {
        let mut tokens = Vec::new();
        for (text, is_wild) in parts {
            for character in text.chars() {
                match character {
                    '*' if is_wild && tokens.last() == Some(&WildcardToken::Any) => {}
                    '*' if is_wild => tokens.push(WildcardToken::Any),
                    '?' if is_wild => tokens.push(WildcardToken::One),
                    _ => tokens.push(WildcardToken::Char(character)),
                }
            }
        }
        Self { shape: wildcard_shape(tokens) }
    }

    /// Returns the only text that the pattern fits, if it has no wildcards.
    #[must_use]
    pub fn as_exact(&self) -> Option<&str> {
        match &self.shape {
            WildcardShape::Exact(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the pattern fits every text.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.shape == WildcardShape::Any
    }

    /// Returns whether the pattern fits the whole of `text`.
    ///
    /// # Errors
    /// When comparing takes more steps than are left.
    pub fn matches(&self, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
        budget.step(1 + text.len() as u64 / 16)?;
        match &self.shape {
            WildcardShape::Exact(exact) => Ok(**exact == *text),
            WildcardShape::Prefix(prefix) => Ok(text.starts_with(&**prefix)),
            WildcardShape::Suffix(suffix) => Ok(text.ends_with(&**suffix)),
            WildcardShape::Contains(part) => Ok(text.contains(&**part)),
            WildcardShape::Any => Ok(true),
            WildcardShape::Some => Ok(!text.is_empty()),
            WildcardShape::Other(tokens) => match_tokens(tokens, text, budget),
        }
    }
}

/// Returns whether `pattern` fits the whole of `text`.
///
/// # Errors
/// As [`WildcardPattern::matches`].
pub fn matches_wildcard(pattern: &str, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    match has_wildcard(pattern) {
        true => WildcardPattern::parse(pattern).matches(text, budget),
        false => Ok(pattern == text),
    }
}

/// Returns whether there is a wildcard in `text`.
#[must_use]
#[inline]
pub fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn wildcard_shape(tokens: Vec<WildcardToken>) -> WildcardShape {
    let plain = |tokens: &[WildcardToken]| -> Option<Box<str>> {
        let text: Option<String> = tokens
            .iter()
            .map(|token| match token {
                WildcardToken::Char(character) => Some(*character),
                WildcardToken::One | WildcardToken::Any => None,
            })
            .collect();
        text.map(String::into_boxed_str)
    };
    let found = match tokens.as_slice() {
        [WildcardToken::Any] => Some(WildcardShape::Any),
        [WildcardToken::One, WildcardToken::Any] | [WildcardToken::Any, WildcardToken::One] => {
            Some(WildcardShape::Some)
        }
        [WildcardToken::Any, inner @ .., WildcardToken::Any] => plain(inner).map(WildcardShape::Contains),
        [WildcardToken::Any, rest @ ..] => plain(rest).map(WildcardShape::Suffix),
        [start @ .., WildcardToken::Any] => plain(start).map(WildcardShape::Prefix),
        all => plain(all).map(WildcardShape::Exact),
    };
    found.unwrap_or(WildcardShape::Other(tokens))
}

fn match_tokens(tokens: &[WildcardToken], text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    let mut rest = text;
    let mut want = 0;
    // Where to go on when a try fails: behind the last `*`, one character further.
    let mut retry: Option<(&str, usize)> = None;
    loop {
        budget.step(1)?;
        let mut characters = rest.chars();
        match (tokens.get(want), characters.next()) {
            (None, None) => return Ok(true),
            (Some(WildcardToken::Any), _) => {
                want += 1;
                retry = Some((rest, want));
                continue;
            }
            (Some(WildcardToken::One), Some(_)) => {}
            (Some(WildcardToken::Char(wanted)), Some(found)) if *wanted == found => {}
            _ => {
                let Some((from, behind)) = retry else { return Ok(false) };
                let mut further = from.chars();
                if further.next().is_none() {
                    return Ok(false);
                }
                rest = further.as_str();
                want = behind;
                retry = Some((rest, behind));
                continue;
            }
        }
        rest = characters.as_str();
        want += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        WildcardPattern::parse(pattern).matches(text, &mut Budget::default()).expect("a budget")
    }

    #[test]
    fn stars_stand_for_any_characters_and_question_marks_for_one() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "x"),
            ("a*", "a"),
            ("a*", "ab"),
            ("*a", "ba"),
            ("*a*", "bab"),
            ("?*", "x"),
            ("a?c", "abc"),
            ("a*c*e", "abcde"),
            ("a**e", "abcde"),
            ("*ab", "aab"),
            ("é?", "éé"),
            ("*?b", "aab"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "x"),
            ("a", ""),
            ("a*", "ba"),
            ("*a", "ab"),
            ("?*", ""),
            ("a?c", "ac"),
            ("a*c*e", "abde"),
            ("A", "a"),
            ("?", ""),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_part_without_wildcards_stands_for_itself() {
        let glob = WildcardPattern::of_parts([("x-", true), ("*", false), ("-*", true)]);
        let fits = |text: &str| glob.matches(text, &mut Budget::default()).expect("a budget");
        assert!(fits("x-*-y"));
        assert!(!fits("x-a-y"));
    }

    #[test]
    fn a_pattern_that_never_ends_is_stopped_by_the_budget() {
        let text = "a".repeat(10_000);
        let pattern = format!("{}b", "a*a*a*?".repeat(500));
        let mut budget = Budget::new(kubewright_value::Limits { steps: 1000, ..Default::default() });
        assert!(WildcardPattern::parse(&pattern).matches(&text, &mut budget).is_err());
    }
}
