//! Regular expressions as Go reads them (RE2 syntax), run by automata of the `regex-automata` crate.
//!
//! The two dialects look alike and differ in dozens of places: Go's `\d`, `\w`, `\s`
//! and `\b` are ASCII, `\s` leaves out the vertical tab, `a{,3}` is text, `a**` is an
//! error. So the pattern is read here by Go's rules and written out again in a form
//! that means the same to `regex-automata`; flags are resolved on the way. Both match
//! in linear time and prefer the leftmost-first match, so nothing else differs.
//!
//! Every search is charged for what it does, to a budget of whatever kind the language has.

mod absent;
mod backtrack;
mod class;
mod engine;
mod matches;
mod replace;
mod simulate;
mod translate;

use std::fmt;
use std::sync::{Arc, OnceLock};

use absent::LiteralPairs;
pub use absent::SearchedTexts;
use kubewright_value::StepMeter;
pub use matches::{MatchGroups, MatchIterator};
pub use replace::{quote_meta, replace_all, replace_all_literal};
use thiserror::Error;

use crate::compile_budget::{self, CompileExceeded};
use engine::{BuildFailure, RegexEngine};

/// The maximum size of the automata of an expression, in bytes.
const MAX_REGEX_BYTES: usize = 512 << 10;

/// The maximum length of a pattern.
const MAX_PATTERN_BYTES: usize = 64 << 10;

/// The maximum number of classes such as `\pL` in a pattern: reading one takes some kilobytes.
const MAX_UNICODE_CLASSES: u32 = 256;

/// The steps charged for an expression that turns out to be too large.
const FAILED_COMPILE_STEPS: u64 = MAX_REGEX_BYTES as u64 / 16;

/// A compiled expression. Cheap to clone, can be shared between threads.
#[derive(Clone)]
pub struct Regex(Arc<RegexInner>);

struct RegexInner {
    pattern: Box<str>,
    engine: RegexEngine,
    // INVARIANT: one entry for each group, group 0 first; `None` for a group without a name.
    names: Box<[Option<Box<str>>]>,
    /// Made when it is first asked whether texts lack the text that the expression is.
    literal_pairs: OnceLock<Option<LiteralPairs>>,
}

/// The reason why a pattern is not a Go regular expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct RegexError {
    /// The error in Go's words.
    pub message: String,
    /// The offset in the pattern, in bytes.
    pub offset: usize,
}

/// Compiles `pattern`, which is part of a rule, and charges the [`CompileBudget`](crate::compile_budget::CompileBudget) that is open.
///
/// # Errors
/// When Go would refuse it, when it is too large, or when the budget is used up.
pub fn compile_regex(pattern: &str) -> Result<Regex, RegexError> {
    if let Some(known) = compile_budget::cached_regex(pattern) {
        return Ok(known);
    }
    let exceeded = |error: CompileExceeded| RegexError { message: error.to_string(), offset: 0 };
    compile_budget::charge_compile_steps(1 + pattern.len() as u64).map_err(exceeded)?;
    let compiled = compile_shared(pattern);
    match &compiled {
        Ok(regex) => compile_budget::charge_regex(regex).map_err(exceeded)?,
        // It was compiled up to its limit.
        Err(RegexFailure::TooLarge) => {
            compile_budget::charge_compile_steps(FAILED_COMPILE_STEPS).map_err(exceeded)?;
        }
        Err(RegexFailure::Refused(_)) => {}
    }
    compiled.map_err(RegexError::from)
}

fn compile_shared(pattern: &str) -> Result<Regex, RegexFailure> {
    if let Some(known) = compile_budget::known_regex(pattern) {
        return Ok(known);
    }
    let compiled = compile_bounded(pattern, MAX_REGEX_BYTES)?;
    compile_budget::share_regex(&compiled);
    Ok(compiled)
}

/// Compiles `pattern` into at most about `max_bytes`, for patterns that are made while a rule runs.
///
/// # Errors
/// When Go would refuse it, or when it is too large.
pub fn compile_regex_within(pattern: &str, max_bytes: usize) -> Result<Regex, RegexError> {
    compile_bounded(pattern, max_bytes).map_err(RegexError::from)
}

/// The reason why a pattern was not compiled.
enum RegexFailure {
    TooLarge,
    Refused(RegexError),
}

impl From<RegexFailure> for RegexError {
    fn from(failure: RegexFailure) -> Self {
        match failure {
            RegexFailure::TooLarge => Self { message: "expression too large".to_owned(), offset: 0 },
            RegexFailure::Refused(error) => error,
        }
    }
}

fn compile_bounded(pattern: &str, max_bytes: usize) -> Result<Regex, RegexFailure> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(RegexFailure::TooLarge);
    }
    let translated = translate::translate_pattern(pattern).map_err(RegexFailure::Refused)?;
    if translated.unicode_classes > MAX_UNICODE_CLASSES {
        return Err(RegexFailure::TooLarge);
    }
    let literal = literal_text(pattern);
    let built = RegexEngine::build(&translated.text, literal.as_deref(), max_bytes);
    let engine = built.map_err(|failure| match failure {
        BuildFailure::TooLarge => RegexFailure::TooLarge,
        // A character class name that Go knows by another spelling, at most.
        BuildFailure::Unsupported => RegexFailure::Refused(RegexError {
            message: format!("unsupported expression: `{pattern}`"),
            offset: 0,
        }),
    })?;
    Ok(Regex(Arc::new(RegexInner {
        pattern: pattern.into(),
        engine,
        names: translated.names.into(),
        literal_pairs: OnceLock::new(),
    })))
}

/// Returns the text that `pattern` matches, where it has no operators.
fn literal_text(pattern: &str) -> Option<String> {
    let mut text = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.push(characters.next().filter(char::is_ascii_punctuation)?),
            '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => return None,
            character => text.push(character),
        }
    }
    Some(text)
}

impl Regex {
    /// Returns the pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.pattern
    }

    /// Returns whether the expression matches somewhere in `text`.
    ///
    /// # Errors
    /// When `meter` has too few steps left for the search.
    pub fn is_match<M: StepMeter>(&self, text: &str, meter: &mut M) -> Result<bool, M::Stopped> {
        self.0.engine.is_match(text, meter)
    }

    /// Returns the first match in `text`.
    ///
    /// # Errors
    /// When `meter` has too few steps left for the search.
    pub fn find<'t, M: StepMeter>(
        &self,
        text: &'t str,
        meter: &mut M,
    ) -> Result<Option<&'t str>, M::Stopped> {
        Ok(self.matches(text).without_groups().next(meter)?.map(|found| found.whole()))
    }

    /// Returns the groups of the first match, the whole match first.
    ///
    /// # Errors
    /// When `meter` has too few steps left for the search.
    pub fn groups<'t, M: StepMeter>(
        &self,
        text: &'t str,
        meter: &mut M,
    ) -> Result<Option<MatchGroups<'t>>, M::Stopped> {
        self.matches(text).next(meter)
    }

    /// Returns the matches in `text`, left to right, without overlap.
    #[must_use]
    pub fn matches<'r, 't>(&'r self, text: &'t str) -> MatchIterator<'r, 't> {
        MatchIterator::new(&self.0.engine, text)
    }

    /// Returns the parts of `text` between at most `limit` - 1 matches, as Go's `Split` does;
    /// `None` for no limit.
    ///
    /// # Errors
    /// When `meter` has too few steps left for the search.
    pub fn split<'t, M: StepMeter>(
        &self,
        text: &'t str,
        limit: Option<usize>,
        meter: &mut M,
    ) -> Result<Vec<&'t str>, M::Stopped> {
        replace::split_by_matches(self, text, limit, meter)
    }

    /// Returns how many groups there are, the whole match included.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.0.names.len()
    }

    /// Returns how many steps of a budget compiling this should cost, besides what any expression costs.
    #[must_use]
    pub fn compiling_cost(&self) -> u64 {
        self.0.engine.build_steps()
    }

    /// Returns how many bytes of heap the compiled expression takes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        size_of::<RegexInner>() + self.0.pattern.len() + self.0.engine.heap_bytes()
    }

    /// Returns the first group called `name` that took part; Go allows several of that name.
    fn group_named<'t>(&self, groups: &MatchGroups<'t>, name: &str) -> Option<&'t str> {
        let mut named = self.0.names.iter().enumerate().filter(|(_, known)| known.as_deref() == Some(name));
        named.find_map(|(number, _)| groups.get(number))
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.0.pattern == other.0.pattern
    }
}

impl Eq for Regex {}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.0.pattern)
    }
}

impl fmt::Display for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.pattern)
    }
}

#[cfg(test)]
mod tests;
