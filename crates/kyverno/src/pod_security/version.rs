//! The Kubernetes version of the Pod Security checks.

use std::fmt;

/// A version of the standards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StandardsVersion {
    // The part after `1.`; the largest number is `latest`.
    minor: u32,
}

impl StandardsVersion {
    /// The newest there is, whatever it is.
    pub(crate) const LATEST: Self = Self { minor: u32::MAX };

    /// The newest that changed a check.
    pub(crate) const NEWEST_KNOWN: Self = Self::of(37);

    pub(super) const fn of(minor: u32) -> Self {
        Self { minor }
    }

    /// Reads `latest` or `v1.N`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::LATEST);
        }
        let minor = text.strip_prefix("v1.")?;
        let is_plain =
            minor.bytes().all(|byte| byte.is_ascii_digit()) && (minor == "0" || !minor.starts_with('0'));
        // A number too large to hold is newer than everything.
        (is_plain && !minor.is_empty()).then(|| minor.parse().map_or(Self::LATEST, Self::of))
    }
}

impl fmt::Display for StandardsVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LATEST => formatter.write_str("latest"),
            Self { minor } => write!(formatter, "v1.{minor}"),
        }
    }
}
