//! Wildcards: `*` stands for any characters, `?` for one; everything else for itself.
//!
//! There is no way to escape a wildcard in the text, but a glob can be made of parts of which only some
//! may have wildcards in them, so that what comes from elsewhere stands for itself.

use kubewright_value::{Budget, Exhausted};

/// A pattern of wildcards, ready to be compared with texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
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
    Other(Vec<Token>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Any,
}

impl Glob {
    /// Returns the pattern that `text` is.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::of_parts([(text, true)])
    }

    /// Returns the pattern that is made of `parts`, each with whether its wildcards count.
    #[must_use]
    pub fn of_parts<'t>(parts: impl IntoIterator<Item = (&'t str, bool)>) -> Self {
        let mut tokens = Vec::new();
        for (text, is_wild) in parts {
            for character in text.chars() {
                match character {
                    '*' if is_wild && tokens.last() == Some(&Token::Any) => {}
                    '*' if is_wild => tokens.push(Token::Any),
                    '?' if is_wild => tokens.push(Token::One),
                    _ => tokens.push(Token::Char(character)),
                }
            }
        }
        Self { shape: shape(tokens) }
    }

    /// Returns the only text that the pattern fits, if it has no wildcards.
    #[must_use]
    pub fn as_exact(&self) -> Option<&str> {
        match &self.shape {
            Shape::Exact(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the pattern fits every text.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.shape == Shape::Any
    }

    /// Returns whether the pattern fits the whole of `text`.
    ///
    /// # Errors
    /// When comparing takes more steps than are left.
    pub fn matches(&self, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
        budget.step(1 + text.len() as u64 / 16)?;
        match &self.shape {
            Shape::Exact(exact) => Ok(**exact == *text),
            Shape::Prefix(prefix) => Ok(text.starts_with(&**prefix)),
            Shape::Suffix(suffix) => Ok(text.ends_with(&**suffix)),
            Shape::Contains(part) => Ok(text.contains(&**part)),
            Shape::Any => Ok(true),
            Shape::Some => Ok(!text.is_empty()),
            Shape::Other(tokens) => walk(tokens, text, budget),
        }
    }
}

/// Returns whether `pattern` fits the whole of `text`.
///
/// # Errors
/// As [`Glob::matches`].
pub fn matches(pattern: &str, text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    match has_wildcard(pattern) {
        true => Glob::parse(pattern).matches(text, budget),
        false => Ok(pattern == text),
    }
}

/// Returns whether there is a wildcard in `text`.
#[must_use]
pub fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn shape(tokens: Vec<Token>) -> Shape {
    let plain = |tokens: &[Token]| -> Option<Box<str>> {
        let text: Option<String> = tokens
            .iter()
            .map(|token| match token {
                Token::Char(character) => Some(*character),
                Token::One | Token::Any => None,
            })
            .collect();
        text.map(String::into_boxed_str)
    };
    let found = match tokens.as_slice() {
        [Token::Any] => Some(Shape::Any),
        [Token::One, Token::Any] | [Token::Any, Token::One] => Some(Shape::Some),
        [Token::Any, inner @ .., Token::Any] => plain(inner).map(Shape::Contains),
        [Token::Any, rest @ ..] => plain(rest).map(Shape::Suffix),
        [start @ .., Token::Any] => plain(start).map(Shape::Prefix),
        all => plain(all).map(Shape::Exact),
    };
    found.unwrap_or(Shape::Other(tokens))
}

fn walk(tokens: &[Token], text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    let mut rest = text;
    let mut want = 0;
    // Where to go on when a try fails: behind the last `*`, one character further.
    let mut retry: Option<(&str, usize)> = None;
    loop {
        budget.step(1)?;
        let mut characters = rest.chars();
        match (tokens.get(want), characters.next()) {
            (None, None) => return Ok(true),
            (Some(Token::Any), _) => {
                want += 1;
                retry = Some((rest, want));
                continue;
            }
            (Some(Token::One), Some(_)) => {}
            (Some(Token::Char(wanted)), Some(found)) if *wanted == found => {}
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
        Glob::parse(pattern).matches(text, &mut Budget::default()).expect("a budget")
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
        let glob = Glob::of_parts([("x-", true), ("*", false), ("-*", true)]);
        let fits = |text: &str| glob.matches(text, &mut Budget::default()).expect("a budget");
        assert!(fits("x-*-y"));
        assert!(!fits("x-a-y"));
    }

    #[test]
    fn a_pattern_that_never_ends_is_stopped_by_the_budget() {
        let text = "a".repeat(10_000);
        let pattern = format!("{}b", "a*a*a*?".repeat(500));
        let mut budget = Budget::new(kubewright_value::Limits { steps: 1000, ..Default::default() });
        assert!(Glob::parse(&pattern).matches(&text, &mut budget).is_err());
    }
}
