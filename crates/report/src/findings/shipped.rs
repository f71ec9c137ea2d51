//! Patterns that ship with the program: they have a page and no file.

use kubewright_patterns::Pattern;
use kubewright_patterns::shipped::{self, Shipped};

/// How the source name of a shipped pattern starts.
const SHIPPED_SOURCE_PREFIX: &str = "shipped pattern ";

/// Returns the page of a pattern, if it is one that ships.
#[must_use]
pub fn shipped_page(pattern: &Pattern) -> Option<&'static str> {
    shipped::shipped_pattern(&pattern.name).filter(|_| is_shipped(pattern)).map(Shipped::page)
}

/// Returns the source name of the shipped pattern `name`, where other patterns have a file.
#[must_use]
pub fn shipped_source(name: &str) -> String {
    format!("{SHIPPED_SOURCE_PREFIX}{name}")
}

/// Returns whether `pattern` is one that ships.
#[must_use]
pub fn is_shipped(pattern: &Pattern) -> bool {
    pattern.location.source.name.starts_with(SHIPPED_SOURCE_PREFIX)
}
