//! Ranges of versions: `>1.0.0 <2.0.0 || >=3.0.0`, `!=1.2.3`, `1.x`.
//!
//! Comparisons side by side must all hold; `||` separates alternatives. A
//! wildcard means every version that starts with the numbers before it.

use thiserror::Error;

use super::{Version, VersionError};

/// A set of versions.
#[derive(Debug, Clone)]
pub struct VersionRange {
    alternatives: Vec<Vec<VersionComparison>>,
}

/// The reason why a text is not a range.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RangeError {
    /// There is nothing, or nothing on one side of `||`.
    #[error("a range has a comparison on each side of `||`")]
    Empty,
    /// A comparison without a version.
    #[error("the comparison `{0}` has no version")]
    NoVersion(String),
    /// An operator that is not known.
    #[error("unknown operator `{0}` in a range, expected `=`, `!=`, `>`, `>=`, `<` or `<=`")]
    Operator(String),
    /// An invalid version.
    #[error("`{0}` in a range is no version: {1}")]
    Version(String, VersionError),
}

impl VersionRange {
    /// Reads `text`.
    ///
    /// # Errors
    /// When a comparison has no known operator or no version.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let mut alternatives = vec![Vec::new()];
        for word in split_version_words(text) {
            if word == "||" {
                alternatives.push(Vec::new());
            } else if let Some(comparisons) = alternatives.last_mut() {
                comparisons.push(VersionComparison::parse(&word)?);
            }
        }
        if alternatives.iter().any(Vec::is_empty) {
            return Err(RangeError::Empty);
        }
        Ok(Self { alternatives })
    }

    /// Returns whether `version` is in the range.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| all.iter().all(|comparison| comparison.holds(version)))
    }
}

/// Parts `text` at spaces, except for those between an operator and its version.
fn split_version_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        if character != ' ' {
            word.push(character);
        } else if !word.is_empty() && !word.ends_with(['>', '<', '=', '!']) {
            words.push(std::mem::take(&mut word));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A comparison of a version with the versions from `first` up to, but not including, `end`.
///
/// For a plain version only `first` is in between, and there is no `end`.
#[derive(Debug, Clone)]
struct VersionComparison {
    operator: VersionOperator,
    first: Version,
    end: Option<Version>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VersionOperator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl VersionComparison {
    fn parse(word: &str) -> Result<Self, RangeError> {
        let start =
            word.find(|c: char| c.is_ascii_digit()).ok_or_else(|| RangeError::NoVersion(word.to_owned()))?;
        let (operator, version) = word.split_at_checked(start).unwrap_or(("", word));
        // Line breaks and tabs do not separate comparisons, and are no part of an operator.
        let operator = match operator.trim() {
            "" | "=" | "==" => VersionOperator::Equal,
            "!" | "!=" => VersionOperator::NotEqual,
            ">" => VersionOperator::Greater,
            ">=" => VersionOperator::GreaterOrEqual,
            "<" => VersionOperator::Less,
            "<=" => VersionOperator::LessOrEqual,
            other => return Err(RangeError::Operator(other.to_owned())),
        };
        let (first, end) =
            version_bounds(version).map_err(|error| RangeError::Version(version.to_owned(), error))?;
        Ok(Self { operator, first, end })
    }

    fn holds(&self, version: &Version) -> bool {
        let is_before = *version < self.first;
        let is_after = self.end.as_ref().map_or(*version > self.first, |end| version >= end);
        match self.operator {
            VersionOperator::Equal => !is_before && !is_after,
            VersionOperator::NotEqual => is_before || is_after,
            VersionOperator::Greater => is_after,
            VersionOperator::GreaterOrEqual => !is_before,
            VersionOperator::Less => is_before,
            VersionOperator::LessOrEqual => !is_after,
        }
    }
}

/// Returns the version that `text` is, or the first one of a wildcard and the first one behind it.
fn version_bounds(text: &str) -> Result<(Version, Option<Version>), VersionError> {
    let next = |number: u64| number.checked_add(1).ok_or(VersionError::Number);
    let parts: Vec<&str> = text.split('.').collect();
    match *parts.as_slice() {
        [major, "x"] | [major, "x", "x"] => {
            let major = super::parse_version_number(major)?;
            Ok((Version::new(major, 0, 0), Some(Version::new(next(major)?, 0, 0))))
        }
        [major, minor, "x"] => {
            let (major, minor) = (super::parse_version_number(major)?, super::parse_version_number(minor)?);
            Ok((Version::new(major, minor, 0), Some(Version::new(major, next(minor)?, 0))))
        }
        _ => Version::parse(text).map(|version| (version, None)),
    }
}
