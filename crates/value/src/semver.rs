//! Semantic versions, and ranges of them.

mod range;

use std::cmp::Ordering;
use std::fmt;

use thiserror::Error;

use crate::Text;

pub use range::{RangeError, VersionRange};

/// A semantic version. Two that differ only in build metadata are equal.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// The part between `-` and `+`; a version with any comes before the one without.
    pub pre_release: Vec<PrereleaseIdentifier>,
    /// The part after `+`.
    pub build: Vec<Text>,
}

/// One part of a pre-release. Numbers come before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrereleaseIdentifier {
    /// Only digits.
    Number(u64),
    /// Anything else.
    Word(Text),
}

/// The reason why a text is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VersionError {
    /// Not three numbers with dots between them.
    #[error("a version has three numbers, as in `1.2.3`")]
    Shape,
    /// A number that has other characters, or is too large.
    #[error("a number in a version has only digits and at most 64 bits")]
    Number,
    /// A number that starts with a zero.
    #[error("a number in a version has no leading zeros")]
    LeadingZero,
    /// A part of the pre-release that is empty or holds other characters.
    #[error("a pre-release has letters, digits and hyphens between its dots")]
    PreRelease,
    /// A part of the build metadata that is empty or holds other characters.
    #[error("build metadata has letters, digits and hyphens between its dots")]
    Build,
}

impl Version {
    /// Returns a version without pre-release and build metadata.
    #[must_use]
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, pre_release: Vec::new(), build: Vec::new() }
    }

    /// Reads `text` to the letter: three numbers, no leading `v`, no leading zeros.
    ///
    /// # Errors
    /// When it is not of that form.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let mut numbers = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (numbers.next(), numbers.next(), numbers.next()) else {
            return Err(VersionError::Shape);
        };
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre_release) =
            rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let build = build.map_or(Ok(Vec::new()), |build| build.split('.').map(build_part).collect())?;
        Ok(Self {
            major: parse_version_number(major)?,
            minor: parse_version_number(minor)?,
            patch: parse_version_number(patch)?,
            pre_release: pre_release
                .map_or(Ok(Vec::new()), |text| text.split('.').map(PrereleaseIdentifier::parse).collect())?,
            build,
        })
    }

    /// Reads `text` with good will: spaces around it, a leading `v`, leading zeros
    /// and missing numbers are allowed.
    ///
    /// # Errors
    /// When it is not a version all the same, or has a pre-release behind fewer than three numbers.
    pub fn parse_tolerant(text: &str) -> Result<Self, VersionError> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err(VersionError::Shape);
        }
        parts.resize(3, "0".to_owned());
        Self::parse(&parts.join("."))
    }
}

impl PrereleaseIdentifier {
    fn parse(text: &str) -> Result<Self, VersionError> {
        if !is_version_word(text) {
            Err(VersionError::PreRelease)
        } else if text.bytes().all(|b| b.is_ascii_digit()) {
            parse_version_number(text).map(Self::Number)
        } else {
            Ok(Self::Word(Text::new(text)))
        }
    }
}

fn build_part(text: &str) -> Result<Text, VersionError> {
    if is_version_word(text) { Ok(Text::new(text)) } else { Err(VersionError::Build) }
}

fn is_version_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn parse_version_number(text: &str) -> Result<u64, VersionError> {
    if text.len() > 1 && text.starts_with('0') {
        return Err(VersionError::LeadingZero);
    }
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(VersionError::Number);
    }
    text.parse().map_err(|_| VersionError::Number)
}

/// Returns `part` without zeros in front of its number, of which one digit stays.
fn without_leading_zeros(part: &str) -> String {
    let rest = part.trim_start_matches('0');
    let keeps_digit = rest.starts_with(|c: char| c.is_ascii_digit()) || part.len() < 2;
    if keeps_digit && !rest.is_empty() {
        rest.to_owned()
    } else if part.is_empty() {
        String::new()
    } else {
        format!("0{rest}")
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// By precedence; build metadata has none.
impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self)
            .cmp(&numbers(other))
            .then_with(|| self.pre_release.is_empty().cmp(&other.pre_release.is_empty()))
            .then_with(|| self.pre_release.cmp(&other.pre_release))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (place, identifier) in self.pre_release.iter().enumerate() {
            write!(f, "{}{identifier}", if place == 0 { '-' } else { '.' })?;
        }
        for (place, part) in self.build.iter().enumerate() {
            write!(f, "{}{part}", if place == 0 { '+' } else { '.' })?;
        }
        Ok(())
    }
}

impl fmt::Display for PrereleaseIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
