//! Regular expressions as Go reads them (RE2 syntax), run by the `regex` crate.
//!
//! The two dialects look alike and differ in dozens of places: Go's `\d`, `\w`, `\s`
//! and `\b` are ASCII, `\s` leaves out the vertical tab, `a{,3}` is text, `a**` is an
//! error. So the pattern is read here by Go's rules and written out again in a form
//! that means the same to `regex`; flags are resolved on the way. Both engines match
//! in linear time and prefer the leftmost-first match, so nothing else differs.

mod class;
mod replace;
mod translate;

use std::fmt;

pub use replace::{quote_meta, replace_all, replace_all_literal};
use thiserror::Error;

/// How large a compiled expression may be, in bytes.
pub(crate) const SIZE_LIMIT: usize = 10 << 20;

/// A compiled expression. Cheap to clone, can be shared between threads.
#[derive(Clone)]
pub struct Regex {
    pattern: Box<str>,
    compiled: regex::Regex,
    weight: u64,
    // INVARIANT: one entry for each group, group 0 first; `None` for a group without a name.
    names: Box<[Option<Box<str>>]>,
}

/// Why a pattern is not a Go regular expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RegexError {
    /// What is wrong, in Go's words.
    pub message: String,
    /// Where in the pattern, in bytes.
    pub offset: usize,
}

/// Compiles `pattern`.
///
/// # Errors
/// When Go would refuse it, or when it is too large.
pub fn compile(pattern: &str) -> Result<Regex, RegexError> {
    compile_within(pattern, SIZE_LIMIT)
}

/// Compiles `pattern` into at most about `size` bytes, for patterns that are made while a rule runs.
///
/// # Errors
/// When Go would refuse it, or when it is too large.
pub fn compile_within(pattern: &str, size: usize) -> Result<Regex, RegexError> {
    let translated = translate::translate(pattern)?;
    let compiled = regex::RegexBuilder::new(&translated.text)
        .size_limit(size)
        .nest_limit(translate::NEST_LIMIT)
        .build()
        .map_err(|error| RegexError {
            message: match error {
                regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
                // A character class name that Go knows by another spelling, at most.
                _ => format!("unsupported expression: `{pattern}`"),
            },
            offset: 0,
        })?;
    let weight = translated.weight;
    Ok(Regex { pattern: pattern.into(), compiled, weight, names: translated.names.into() })
}

impl Regex {
    /// Returns the pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Returns whether the expression matches somewhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled.is_match(text)
    }

    /// Returns the first match in `text`.
    #[must_use]
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.compiled.find(text).map(|found| found.as_str())
    }

    /// Returns the matches in `text`, left to right, without overlap.
    pub fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.matches(text).map(|groups| groups.get(0).map_or("", |found| found.as_str()))
    }

    /// Returns the parts of `text` between at most `limit` - 1 matches, as Go's `Split` does;
    /// `None` for no limit.
    #[must_use]
    pub fn split<'t>(&self, text: &'t str, limit: Option<usize>) -> Vec<&'t str> {
        replace::split(self, text, limit)
    }

    /// Returns the groups of the first match: `None` for a group that took no part.
    #[must_use]
    pub fn groups<'t>(&self, text: &'t str) -> Option<Vec<Option<&'t str>>> {
        let found = self.compiled.captures(text)?;
        // `regex` forgets a group that is repeated no times, so count by the names.
        Some((0..self.names.len()).map(|number| found.get(number).map(|group| group.as_str())).collect())
    }

    /// Returns how many steps of a budget searching `text` once should cost: in proportion
    /// to the text, and for an expression with large repeat counts to those too.
    #[must_use]
    pub fn cost(&self, text: &str) -> u64 {
        (text.len() as u64 / 8 + 1).saturating_mul(1 + self.weight / 128)
    }

    /// Returns how many steps of a budget compiling this should cost, besides what any expression costs.
    #[must_use]
    pub fn compiling_cost(&self) -> u64 {
        self.weight.saturating_mul(2)
    }

    /// Returns the expression as the `regex` crate knows it. Its groups have no names.
    #[must_use]
    pub fn as_regex(&self) -> &regex::Regex {
        &self.compiled
    }

    fn matches<'r, 't>(&'r self, text: &'t str) -> impl Iterator<Item = regex::Captures<'t>> + use<'r, 't> {
        self.compiled.captures_iter(text)
    }

    /// Returns the first group called `name` that took part; Go allows several of that name.
    fn group_named<'t>(&self, groups: &regex::Captures<'t>, name: &str) -> Option<regex::Match<'t>> {
        let mut named = self.names.iter().enumerate().filter(|(_, known)| known.as_deref() == Some(name));
        named.find_map(|(number, _)| groups.get(number))
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for Regex {}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.pattern)
    }
}

impl fmt::Display for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

#[cfg(test)]
mod tests;
