//! How bad a violation or a finding is: one scale for all rule languages.

use std::fmt;

use kubewright_patterns::Level;

/// How bad a violation or a finding is, as PolicyReports name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Minor.
    Low,
    /// Should be looked at.
    Medium,
    /// Must be looked at.
    High,
    /// Must be looked at first.
    Critical,
}

impl Severity {
    /// All severities, the mildest first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Returns the severity called `name`, as annotations of rules write it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }

    /// Returns its name in a PolicyReport.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Patterns have two more words: the first program that ran them knew only `INFO`, `WARNING` and `CRITICAL`.
impl From<Level> for Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Info => Self::Info,
            Level::Low => Self::Low,
            Level::Medium | Level::Warning => Self::Medium,
            Level::High => Self::High,
            Level::Critical => Self::Critical,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_names_are_read_back() {
        for severity in Severity::ALL {
            assert_eq!(Severity::named(severity.name()), Some(severity));
        }
        assert_eq!(Severity::named("MEDIUM"), None);
    }

    #[test]
    fn severity_of_a_pattern_level_keeps_the_order() {
        let levels = crate::PATTERN_LEVELS.map(Severity::from);
        assert!(levels.is_sorted());
    }
}
